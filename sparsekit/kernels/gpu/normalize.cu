// Kernels that normalize each row of a dense matrix: a team of threads a row.

template <class Data, class Largest, class Out>
DEVICE void softmax(const Data* data, const Largest* largest, Out* out, whole rows, whole width, whole lanes, whole logarithm) {
    typedef SUM(Out) Sum;
    for (EACH(item, rows * lanes)) {
        whole row = item / lanes, lane = item % lanes;
        Sum top = (Sum)largest[row], total = 0;
        for (whole column = lane; column < width; column += lanes) total += exp((Sum)data[row * width + column] - top);
        total = team_sum(total, lanes);
        Sum shift = logarithm ? (Sum)log(total) : (Sum)0;
        for (whole column = lane; column < width; column += lanes) {
            Sum moved = (Sum)data[row * width + column] - top;
            out[row * width + column] = (Out)(logarithm ? moved - shift : exp(moved) / total);
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
