// GELU and the gradients of softmax and layer normalization.

// The normal distribution function.
template <class Real> DEVICE Real normal(Real value) { return (Real)0.5 * erfc(value * (Real)-0.7071067811865476); }

template <class Data, class Out> DEVICE void gelu(const Data* data, Out* out, whole count) {
    for (EACH(place, count)) {
        SUM(Out) value = (SUM(Out))data[place];
        out[place] = (Out)(value * normal(value));
    }
}

template <class Above, class Data, class Out>
DEVICE void gelu_backward(const Above* above, const Data* data, Out* out, whole count) {
    typedef SUM(Out) Sum;
    for (EACH(place, count)) {
        Sum value = (Sum)data[place], bell = (Sum)0.3989422804014327 * exp((Sum)-0.5 * value * value);
        out[place] = (Out)((Sum)above[place] * (normal(value) + value * bell));
    }
}

// What a team adds up of its piece of a row for the gradient of a softmax, or of its logarithm.
template <class Sum, class Above, class Result>
DEVICE Sum sum_slope(const Above* above, const Result* result, const Piece& at, whole start, whole lanes, whole logarithm) {
    Sum total = 0;
    for (whole column = at.low + at.lane; column < at.high; column += lanes)
        total += (Sum)above[start + column] * (logarithm ? (Sum)1 : (Sum)result[start + column]);
    return team_sum(total, lanes);
}

template <class Above, class Result, class Part>
DEVICE void sum_slopes(const Above* above, const Result* result, Part* parts, whole rows, whole width, whole pieces, whole lanes,
                       whole logarithm) {
    for (EACH(item, rows * pieces * lanes)) {
        Piece at(item, width, pieces, lanes);
        Part total = sum_slope<Part>(above, result, at, at.row * width, lanes, logarithm);
        if (at.lane == 0) parts[over(item, lanes)] = total;
    }
}

template <class Above, class Result, class Part, class Out>
DEVICE void softmax_backward(const Above* above, const Result* result, const Part* parts, Out* out, whole rows, whole width,
                             whole pieces, whole lanes, whole logarithm) {
    typedef SUM(Out) Sum;
    for (EACH(item, rows * pieces * lanes)) {
        Piece at(item, width, pieces, lanes);
        whole start = at.row * width;
        Sum total = pieces > 1 ? (Sum)sum_parts(parts + at.row * pieces, pieces, at.lane, lanes)
                               : sum_slope<Sum>(above, result, at, start, lanes, logarithm);
        for (whole column = at.low + at.lane; column < at.high; column += lanes) {
            Sum slope = (Sum)above[start + column], value = (Sum)result[start + column];
            out[start + column] = (Out)(logarithm ? slope - exp(value) * total : value * (slope - total));
        }
    }
}

// What a team adds up of its piece of a row for the gradient of layer normalization: the weighted gradients, and these times the
// normalized values.
template <class Sum> struct Slopes { Sum plain, standard; };

template <class Sum, class Above, class Data, class Gamma>
DEVICE Slopes<Sum> slopes_of(const Above* above, const Data* data, const Gamma* gamma, Sum centre, Sum factor, const Piece& at,
                             whole start, whole lanes) {
    Slopes<Sum> found = {0, 0};
    for (whole column = at.low + at.lane; column < at.high; column += lanes) {
        Sum weighted = (Sum)above[start + column] * (Sum)gamma[column];
        found.plain += weighted;
        found.standard += weighted * ((Sum)data[start + column] - centre) * factor;
    }
    return {team_sum(found.plain, lanes), team_sum(found.standard, lanes)};
}

template <class Above, class Data, class Gamma, class Mean, class Part>
DEVICE void piece_slopes(const Above* above, const Data* data, const Gamma* gamma, const Mean* mean, const Mean* share,
                         Part* plain, Part* standard, whole rows, whole width, whole pieces, whole lanes) {
    for (EACH(item, rows * pieces * lanes)) {
        Piece at(item, width, pieces, lanes);
        Part centre = (Part)mean[at.row], factor = (Part)share[at.row];
        Slopes<Part> found = slopes_of<Part>(above, data, gamma, centre, factor, at, at.row * width, lanes);
        if (at.lane == 0) plain[over(item, lanes)] = found.plain, standard[over(item, lanes)] = found.standard;
    }
}

// The gradient of the data; share is one over the deviation.
template <class Above, class Data, class Gamma, class Mean, class Part, class Out>
DEVICE void layer_norm_backward(const Above* above, const Data* data, const Gamma* gamma, const Mean* mean, const Mean* share,
                                const Part* plain, const Part* standard, Out* out, whole rows, whole width, whole pieces,
                                whole lanes) {
    typedef SUM(Out) Sum;
    for (EACH(item, rows * pieces * lanes)) {
        Piece at(item, width, pieces, lanes);
        whole start = at.row * width, part = at.row * pieces;
        Sum centre = (Sum)mean[at.row], factor = (Sum)share[at.row];
        Slopes<Sum> found = {0, 0};
        if (pieces > 1) {
            found.plain = (Sum)sum_parts(plain + part, pieces, at.lane, lanes);
            found.standard = (Sum)sum_parts(standard + part, pieces, at.lane, lanes);
        } else {
            found = slopes_of<Sum>(above, data, gamma, centre, factor, at, start, lanes);
        }
        for (whole column = at.low + at.lane; column < at.high; column += lanes) {
            Sum value = ((Sum)data[start + column] - centre) * factor, slope = (Sum)above[start + column] * (Sum)gamma[column];
            out[start + column] = (Out)((slope - (found.plain + value * found.standard) / (Sum)width) * factor);
        }
    }
}
