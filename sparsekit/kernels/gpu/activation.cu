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
template <class Sum, class Above, class Made>
DEVICE Sum sum_slope(const Above* above, const Made* made, const Piece& at, whole start, whole lanes, whole logarithm) {
    Sum total = 0;
    for (whole column = at.low + at.lane; column < at.high; column += lanes)
        total += (Sum)above[start + column] * (logarithm ? (Sum)1 : (Sum)made[start + column]);
    return team_sum(total, lanes);
}

template <class Above, class Made, class Part>
DEVICE void sum_slopes(const Above* above, const Made* made, Part* parts, whole rows, whole width, whole pieces, whole lanes,
                       whole logarithm) {
    for (EACH(item, rows * pieces * lanes)) {
        Piece at(item, width, pieces, lanes);
        Part total = sum_slope<Part>(above, made, at, at.row * width, lanes, logarithm);
        if (at.lane == 0) parts[item / lanes] = total;
    }
}

template <class Above, class Made, class Part, class Out>
DEVICE void softmax_backward(const Above* above, const Made* made, const Part* parts, Out* out, whole rows, whole width,
                             whole pieces, whole lanes, whole logarithm) {
    typedef SUM(Out) Sum;
    for (EACH(item, rows * pieces * lanes)) {
        Piece at(item, width, pieces, lanes);
        whole start = at.row * width;
        Sum total = pieces > 1 ? (Sum)sum_parts(parts + at.row * pieces, pieces, at.lane, lanes)
                               : sum_slope<Sum>(above, made, at, start, lanes, logarithm);
        for (whole column = at.low + at.lane; column < at.high; column += lanes) {
            Sum slope = (Sum)above[start + column], value = (Sum)made[start + column];
            out[start + column] = (Out)(logarithm ? slope - exp(value) * total : value * (slope - total));
        }
    }
}

// The gradient of the data; share is one over the deviation.
template <class Above, class Data, class Gamma, class Mean, class Out>
DEVICE void layer_norm_backward(const Above* above, const Data* data, const Gamma* gamma, const Mean* mean, const Mean* share,
                                Out* out, whole rows, whole width, whole lanes) {
    typedef SUM(Out) Sum;
    for (EACH(item, rows * lanes)) {
        whole row = item / lanes, start = row * width, lane = item % lanes;
        Sum centre = (Sum)mean[row], factor = (Sum)share[row], first = 0, second = 0;
        for (whole column = lane; column < width; column += lanes) {
            Sum weighted = (Sum)above[start + column] * (Sum)gamma[column];
            first += weighted;
            second += weighted * ((Sum)data[start + column] - centre) * factor;
        }
        first = team_sum(first, lanes) / (Sum)width;
        second = team_sum(second, lanes) / (Sum)width;
        for (whole column = lane; column < width; column += lanes) {
            Sum standard = ((Sum)data[start + column] - centre) * factor;
            out[start + column] = (Out)(((Sum)above[start + column] * (Sum)gamma[column] - first - standard * second) * factor);
        }
    }
}
