// Kernels whose first operand is a dense array.

// An element of the result a thread: group by group the entries of one column; rows says where each entry lies.
template <class Left, class Data, class Place, class Row, class Target, class Out>
DEVICE void dot_columns(const Left* left, const Data* data, const Place* starts, const Place* places, const Row* rows,
                        const Target* targets, Out* out, whole height, whole groups, whole inner, whole width) {
    for (EACH(item, height * groups)) {
        whole row = item / groups, group = item % groups, target = row * width + targets[group];
        SUM(Out) total = (SUM(Out))out[target];
        for (whole order = starts[group]; order < (whole)starts[group + 1]; order++) {
            whole place = places[order];
            total += (SUM(Out))left[row * inner + rows[place]] * (SUM(Out))data[place];
        }
        out[target] = (Out)total;
    }
}

template <class Left, class Data, class Index, class Pointer, class Out>
DEVICE void dot_rows(const Left* left, const Data* data, const Index* indices, const Pointer* indptr, Out* out, whole height,
                     whole rows, whole inner, whole lanes) {
    for (EACH(item, height * rows * lanes)) {
        whole element = item / lanes, lane = item % lanes, row = element / rows, target = element % rows;
        SUM(Out) total = 0;
        for (whole place = indptr[target] + lane; place < (whole)indptr[target + 1]; place += lanes)
            total += (SUM(Out))left[row * inner + indices[place]] * (SUM(Out))data[place];
        total = team_sum(total, lanes);
        if (lane == 0) out[element] = (Out)total;
    }
}
