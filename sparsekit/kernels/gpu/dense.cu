// Kernels whose first operand is a dense array.

template <class Left, class Data, class Index, class Pointer, class Out>
DEVICE void dot_rows(const Left* left, const Data* data, const Index* indices, const Pointer* indptr, Out* out, whole height,
                     whole rows, whole inner, whole lanes) {
    for (EACH(item, height * rows * lanes)) {
        whole element = over(item, lanes), lane = rest(item, lanes), row = over(element, rows), target = rest(element, rows);
        SUM(Out) total = 0;
        for (whole place = indptr[target] + lane; place < (whole)indptr[target + 1]; place += lanes)
            total += (SUM(Out))left[row * inner + indices[place]] * (SUM(Out))data[place];
        total = team_sum(total, lanes);
        if (lane == 0) out[element] = (Out)total;
    }
}
