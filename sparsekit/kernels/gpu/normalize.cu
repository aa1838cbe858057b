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
        if (at.lane == 0) parts[item / lanes] = total;
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

template <class Data, class Gamma, class Out, class Mean>
DEVICE void layer_norm(const Data* data, const Gamma* gamma, const Gamma* beta, Out* out, Mean* mean, Mean* deviation, whole rows,
                       whole width, whole lanes, double epsilon) {
    typedef SUM(Out) Sum;
    for (EACH(item, rows * lanes)) {
        whole row = item / lanes, lane = item % lanes;
        Sum total = 0, squares = 0;
        for (whole column = lane; column < width; column += lanes) total += (Sum)data[row * width + column];
        Sum centre = team_sum(total, lanes) / (Sum)width;
        for (whole column = lane; column < width; column += lanes) {
            Sum apart = (Sum)data[row * width + column] - centre;
            squares += apart * apart;
        }
        Sum spread = sqrt(team_sum(squares, lanes) / (Sum)width + (Sum)epsilon);
        if (lane == 0) mean[row] = (Mean)centre, deviation[row] = (Mean)spread;
        for (whole column = lane; column < width; column += lanes)
            out[row * width + column] = (Out)(((Sum)data[row * width + column] - centre) / spread * (Sum)gamma[column] + (Sum)beta[column]);
    }
}
