// Conversions between storage types.

template <class Data, class Index, class Pointer, class Out>
DEVICE void fill_dense(const Data* data, const Index* indices, const Pointer* indptr, Out* out, whole stored, whole rows, whole width) {
    for (EACH(place, stored)) out[row_of(indptr, rows, place) * width + indices[place]] = (Out)data[place];
}

// Every row that stores a value is among the ascending row numbers.
template <class Data, class Index, class Pointer, class Row, class Out>
DEVICE void fill_rows(const Data* data, const Index* indices, const Pointer* indptr, const Row* occupied, Out* out, whole stored,
                      whole rows, whole kept, whole width) {
    for (EACH(place, stored)) {
        whole row = row_of(indptr, rows, place), rank = bisect(occupied, (whole)0, kept, row);
        if (rank < kept && (whole)occupied[rank] == row) out[rank * width + indices[place]] = (Out)data[place];
    }
}
