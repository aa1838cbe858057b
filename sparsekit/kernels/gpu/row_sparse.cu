// Kernels over row-sparse arrays.

// Row i of the result is row left[i] of data, if that is not negative, plus factor times row right[i] of right_data.
template <class Data, class RightData, class Rank, class Out>
DEVICE void merge(const Data* data, const RightData* right_data, const Rank* left, const Rank* right, Out* out, whole rows,
                  whole width, double factor) {
    for (EACH(item, rows * width)) {
        whole row = over(item, width), column = rest(item, width);
        SUM(Out) total = 0;
        if ((whole)left[row] >= 0) total += (SUM(Out))data[left[row] * width + column];
        if (right[row] >= 0) total += (SUM(Out))factor * (SUM(Out))right_data[right[row] * width + column];
        out[item] = (Out)total;
    }
}

template <class Data, class Index, class Out>
DEVICE void put_rows(const Data* data, const Index* indices, Out* out, whole rows, whole width) {
    for (EACH(item, rows * width)) out[indices[over(item, width)] * width + rest(item, width)] = (Out)data[item];
}
