// Kernels that read or rearrange a CSR matrix.

template <class Data, class Index, class Pointer, class Row, class Column, class Out>
DEVICE void values_at(const Data* data, const Index* indices, const Pointer* indptr, const Row* rows, const Column* columns,
                      Out* out, whole asked) {
    for (EACH(place, asked)) {
        whole row = rows[place], end = indptr[row + 1], column = columns[place];
        whole found = bisect(indices, (whole)indptr[row], end, column);
        if (found < end && (whole)indices[found] == column) out[place] = (Out)data[found];
    }
}

template <class Data, class Index, class Pointer, class RightData, class RightIndex, class RightPointer, class Out,
          class RightOut, class OutIndex, class OutPointer>
DEVICE void spread_pairs(const Data* data, const Index* indices, const Pointer* indptr, const RightData* right_data,
                         const RightIndex* right_indices, const RightPointer* right_indptr, Out* out, RightOut* right_out,
                         OutIndex* out_indices, const OutPointer* out_indptr, whole rows) {
    for (EACH(row, rows)) {
        whole left = indptr[row], right = right_indptr[row], left_end = indptr[row + 1], right_end = right_indptr[row + 1];
        whole place = out_indptr[row];
        WALK(left, left_end, right, right_end) {
            out[place] = take_left ? (Out)data[left] : (Out)0;
            right_out[place] = take_right ? (RightOut)right_data[right] : (RightOut)0;
            out_indices[place++] = take_left ? (OutIndex)indices[left] : (OutIndex)right_indices[right];
        }
    }
}

// Row i of the result is what lies from starts[i] on.
template <class Data, class Index, class Start, class Pointer, class Out, class OutIndex>
DEVICE void copy_rows_of(const Data* data, const Index* indices, const Start* starts, const Pointer* out_indptr, Out* out,
                         OutIndex* out_indices, whole stored, whole rows, whole shift) {
    for (EACH(place, stored)) {
        whole row = row_of(out_indptr, rows, place), source = starts[row] + place - out_indptr[row];
        out[place] = (Out)data[source];
        out_indices[place] = (OutIndex)(indices[source] + shift);
    }
}

// Row i goes to targets[i] and the places behind.
template <class Data, class Index, class Pointer, class Target, class Out, class OutIndex>
DEVICE void put_rows_of(const Data* data, const Index* indices, const Pointer* indptr, const Target* targets, Out* out,
                        OutIndex* out_indices, whole stored, whole rows, whole shift) {
    for (EACH(place, stored)) {
        whole row = row_of(indptr, rows, place), target = targets[row] + place - indptr[row];
        out[target] = (Out)data[place];
        out_indices[target] = (OutIndex)(indices[place] + shift);
    }
}

template <class Index, class Pointer, class Start, class End>
DEVICE void column_bounds(const Index* indices, const Pointer* indptr, Start* starts, End* ends, whole rows, whole low, whole high) {
    for (EACH(row, rows)) {
        starts[row] = (Start)bisect(indices, (whole)indptr[row], (whole)indptr[row + 1], low);
        ends[row] = (End)bisect(indices, (whole)indptr[row], (whole)indptr[row + 1], high);
    }
}

template <class Index, class Start, class End, class Count>
DEVICE void count_steps(const Index* indices, const Start* starts, const End* ends, Count* counts, whole rows, whole low, whole step) {
    for (EACH(row, rows)) {
        whole count = 0;
        for (whole place = starts[row]; place < (whole)ends[row]; place++) count += (indices[place] - low) % step == 0;
        counts[row] = (Count)count;
    }
}

template <class Data, class Index, class Start, class End, class Pointer, class Out, class OutIndex>
DEVICE void take_steps(const Data* data, const Index* indices, const Start* starts, const End* ends, const Pointer* out_indptr,
                       Out* out, OutIndex* out_indices, whole rows, whole low, whole step) {
    for (EACH(row, rows)) {
        whole target = out_indptr[row];
        for (whole place = starts[row]; place < (whole)ends[row]; place++) {
            whole moved = indices[place] - low;
            if (moved % step) continue;
            out[target] = (Out)data[place];
            out_indices[target++] = (OutIndex)(moved / step);
        }
    }
}

template <class Data, class Index, class Pointer, class Out>
DEVICE void largest_column(const Data* data, const Index* indices, const Pointer* indptr, Out* out, whole rows, whole columns,
                           whole largest) {
    typedef typename order_of<Data>::type Value;
    for (EACH(row, rows)) {
        whole found = -1, absent = 0;
        Value best = 0, zero = 0;
        for (whole place = indptr[row]; place < (whole)indptr[row + 1]; place++) {
            Value value = (Value)data[place];
            whole column = indices[place];
            absent += absent == column;
            bool undefined = value != value;
            if (undefined || found < 0 || (largest ? value > best : value < best)) found = column, best = value;
            if (undefined) break;
        }
        bool better = found < 0 || (largest ? best < zero : best > zero) || (best == zero && absent < found);
        out[row] = (Out)(best == best && absent < columns && better ? absent : found);
    }
}
