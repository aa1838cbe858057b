// Kernels that normalize each row of a dense matrix: a team of threads a row, or a piece of one.

// Sums of the powers of each piece of rows.
template <class Data, class Largest, class Part>
DEVICE void sum_powers(const Data* data, const Largest* largest, Part* parts, whole rows, whole width, whole pieces, whole lanes) {
    for (EACH(item, rows * pieces * lanes)) {
        Piece at(item, width, pieces, lanes);
        Part total = 0;
        for (whole column = at.low + at.lane; column < at.high; column += lanes)
            total += exp((Part)data[at.row * width + column] - (Part)largest[at.row]);
        total = team_sum(total, lanes);
        if (at.lane == 0) parts[over(item, lanes)] = total;
    }
}

template <class Data, class Largest, class Part, class Out>
DEVICE void softmax(const Data* data, const Largest* largest, const Part* parts, Out* out, whole rows, whole width, whole pieces,
                    whole lanes, whole logarithm) {
    typedef SUM(Out) Sum;
    for (EACH(item, rows * pieces * lanes)) {
        Piece at(item, width, pieces, lanes);
        Sum top = (Sum)largest[at.row], total = 0;
        if (pieces > 1) {
            total = (Sum)sum_parts(parts + at.row * pieces, pieces, at.lane, lanes);
        } else {
            for (whole column = at.lane; column < width; column += lanes) total += exp((Sum)data[at.row * width + column] - top);
            total = team_sum(total, lanes);
        }
        Sum shift = logarithm ? (Sum)log(total) : (Sum)0;
        for (whole column = at.low + at.lane; column < at.high; column += lanes) {
            Sum moved = (Sum)data[at.row * width + column] - top;
            out[at.row * width + column] = (Out)(logarithm ? moved - shift : exp(moved) / total);
        }
    }
}

// The sum of a piece of a row, and the sum of the squares of what its values are away from the mean of the piece.
template <class Sum> struct Moments { Sum total, squares; };

template <class Sum, class Data> DEVICE Moments<Sum> moments_of(const Data* line, const Piece& at, whole lanes) {
    Moments<Sum> found = {0, 0};
    for (whole column = at.low + at.lane; column < at.high; column += lanes) found.total += (Sum)line[column];
    found.total = team_sum(found.total, lanes);
    Sum centre = found.total / (Sum)(at.high - at.low);
    for (whole column = at.low + at.lane; column < at.high; column += lanes) {
        Sum apart = (Sum)line[column] - centre;
        found.squares += apart * apart;
    }
    found.squares = team_sum(found.squares, lanes);
    return found;
}

// The same of a row, from those of its pieces: https://doi.org/10.2307/2683386.
template <class Sum, class Part>
DEVICE Moments<Sum> join_moments(const Part* totals, const Part* squares, whole width, whole pieces, whole lane, whole lanes) {
    Sum total = (Sum)sum_parts(totals, pieces, lane, lanes), apart = 0;
    for (whole piece = lane; piece < pieces; piece += lanes) {
        Sum count = (Sum)(piece == pieces - 1 ? width - piece * PIECE : (whole)PIECE);
        Sum shift = (Sum)totals[piece] / count - total / (Sum)width;
        apart += (Sum)squares[piece] + count * shift * shift;
    }
    return {total, team_sum(apart, lanes)};
}

template <class Data, class Part>
DEVICE void piece_moments(const Data* data, Part* totals, Part* squares, whole rows, whole width, whole pieces, whole lanes) {
    for (EACH(item, rows * pieces * lanes)) {
        Piece at(item, width, pieces, lanes);
        Moments<Part> found = moments_of<Part>(data + at.row * width, at, lanes);
        if (at.lane == 0) totals[over(item, lanes)] = found.total, squares[over(item, lanes)] = found.squares;
    }
}

template <class Data, class Part, class Gamma, class Out, class Mean>
DEVICE void layer_norm(const Data* data, const Part* totals, const Part* squares, const Gamma* gamma, const Gamma* beta, Out* out,
                       Mean* mean, Mean* deviation, whole rows, whole width, whole pieces, whole lanes, double epsilon) {
    typedef SUM(Out) Sum;
    for (EACH(item, rows * pieces * lanes)) {
        Piece at(item, width, pieces, lanes);
        const Data* line = data + at.row * width;
        whole first = at.row * pieces;
        Moments<Sum> found = pieces > 1 ? join_moments<Sum>(totals + first, squares + first, width, pieces, at.lane, lanes)
                                        : moments_of<Sum>(line, at, lanes);
        Sum centre = found.total / (Sum)width, spread = sqrt(found.squares / (Sum)width + (Sum)epsilon);
        if (at.lane == 0 && at.low == 0) mean[at.row] = (Mean)centre, deviation[at.row] = (Mean)spread;
        for (whole column = at.low + at.lane; column < at.high; column += lanes)
            out[at.row * width + column] = (Out)(((Sum)line[column] - centre) / spread * (Sum)gamma[column] + (Sum)beta[column]);
    }
}
