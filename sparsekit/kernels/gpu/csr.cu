// Kernels whose first operand is a CSR matrix.

// A thread an element of the result; neighbours read what lies side by side in a row of right.
template <class Data, class Index, class Pointer, class Right, class Out>
DEVICE void dot_dense(const Data* data, const Index* indices, const Pointer* indptr, const Right* right, Out* out, whole rows,
                      whole width) {
    for (EACH(item, rows * width)) {
        whole row = over(item, width), column = rest(item, width);
        SUM(Out) total = 0;
        for (whole place = indptr[row]; place < (whole)indptr[row + 1]; place++)
            total += (SUM(Out))data[place] * (SUM(Out))right[indices[place] * width + column];
        out[item] = (Out)total;
    }
}

// A team a row; its threads share the stored values.
template <class Data, class Index, class Pointer, class Right, class Out>
DEVICE void dot_vector(const Data* data, const Index* indices, const Pointer* indptr, const Right* right, Out* out, whole rows,
                       whole lanes) {
    for (EACH(item, rows * lanes)) {
        whole row = over(item, lanes), lane = rest(item, lanes);
        SUM(Out) total = 0;
        for (whole place = indptr[row] + lane; place < (whole)indptr[row + 1]; place += lanes)
            total += (SUM(Out))data[place] * (SUM(Out))right[indices[place]];
        total = team_sum(total, lanes);
        if (lane == 0) out[row] = (Out)total;
    }
}

// Where each warp of a block adds up a span of a row.
enum { LANES = 32, SPAN = 256, WARPS = 8 };

template <class Sum> struct Spans { Sum lines[WARPS][SPAN]; };

[[maybe_unused]] DEVICE Spans<float>& shared_spans(float) { __shared__ Spans<float> memory; return memory; }
[[maybe_unused]] DEVICE Spans<double>& shared_spans(double) { __shared__ Spans<double> memory; return memory; }
[[maybe_unused]] DEVICE Spans<whole>& shared_spans(whole) { __shared__ Spans<whole> memory; return memory; }

// A warp a span of a row.  Its lanes look up 32 stored values of the row at once, and where the rows of right that belong to them
// lie; then they go through these rows one after the other, of which each stores a column once: a lane an entry.
template <class Data, class Index, class Pointer, class RightData, class RightIndex, class RightPointer, class Out>
DEVICE void dot_csr(const Data* data, const Index* indices, const Pointer* indptr, const RightData* right_data,
                    const RightIndex* right_indices, const RightPointer* right_indptr, Out* out, whole rows, whole width,
                    whole spans) {
    typedef SUM(Out) Sum;
    Sum* line = shared_spans((Sum)0).lines[threadIdx.x / LANES];
    whole lane = threadIdx.x % LANES;
    for (EACH(item, rows * spans * LANES)) {
        whole row = over(item / LANES, spans), begin = rest(item / LANES, spans) * SPAN;
        whole end = begin + SPAN < width ? begin + SPAN : width;
        for (whole column = begin + lane; column < end; column += LANES) line[column - begin] = 0;
        for (whole first = indptr[row], stop = indptr[row + 1]; first < stop; first += LANES) {
            whole low = 0, high = 0;
            Sum value = 0;
            if (first + lane < stop) {
                whole source = indices[first + lane];
                value = (Sum)data[first + lane], low = right_indptr[source], high = right_indptr[source + 1];
                if (spans > 1) low = bisect(right_indices, low, high, begin), high = bisect(right_indices, low, high, end);
            }
            for (int other = 0; other < LANES && first + other < stop; other++) {
                team_meets(LANES);
                whole last = __shfl_sync(team_mask(LANES), high, other, LANES);
                Sum factor = __shfl_sync(team_mask(LANES), value, other, LANES);
                for (whole place = __shfl_sync(team_mask(LANES), low, other, LANES) + lane; place < last; place += LANES)
                    line[right_indices[place] - begin] += factor * (Sum)right_data[place];
            }
        }
        team_meets(LANES);
        for (whole column = begin + lane; column < end; column += LANES) out[row * width + column] = (Out)line[column - begin];
    }
}

template <class Pointer, class Row> DEVICE void row_of_each(const Pointer* indptr, Row* out, whole stored, whole rows) {
    for (EACH(place, stored)) out[place] = (Row)row_of(indptr, rows, place);
}

template <class Data, class Pointer, class Out>
DEVICE void sum_rows(const Data* data, const Pointer* indptr, Out* out, whole rows, whole lanes) {
    for (EACH(item, rows * lanes)) {
        whole row = over(item, lanes), lane = rest(item, lanes);
        SUM(Out) total = 0;
        for (whole place = indptr[row] + lane; place < (whole)indptr[row + 1]; place += lanes) total += (SUM(Out))data[place];
        total = team_sum(total, lanes);
        if (lane == 0) out[row] = (Out)total;
    }
}

template <class Data, class Pointer, class Factor, class Out>
DEVICE void row_scale(const Data* data, const Pointer* indptr, const Factor* factor, Out* out, whole stored, whole rows) {
    for (EACH(place, stored)) out[place] = (Out)((SUM(Out))data[place] * (SUM(Out))factor[row_of(indptr, rows, place)]);
}

template <class Data, class Index, class Factor, class Out>
DEVICE void column_scale(const Data* data, const Index* indices, const Factor* factor, Out* out, whole stored) {
    for (EACH(place, stored)) out[place] = (Out)((SUM(Out))data[place] * (SUM(Out))factor[indices[place]]);
}

// One step of the walk along two rows of ascending columns.
#define WALK(left, left_end, right, right_end) \
    for (bool take_left, take_right; \
         take_left = left < left_end && (right >= right_end || (whole)indices[left] <= (whole)right_indices[right]), \
         take_right = right < right_end && (left >= left_end || (whole)right_indices[right] <= (whole)indices[left]), \
         take_left || take_right; \
         left += take_left, right += take_right)

// How many columns either row stores, or both.
template <class Index, class Pointer, class RightIndex, class RightPointer, class Count>
DEVICE void count_pairs(const Index* indices, const Pointer* indptr, const RightIndex* right_indices,
                        const RightPointer* right_indptr, Count* counts, whole rows, whole both) {
    for (EACH(row, rows)) {
        whole left = indptr[row], right = right_indptr[row], left_end = indptr[row + 1], right_end = right_indptr[row + 1], count = 0;
        WALK(left, left_end, right, right_end) count += both ? take_left && take_right : 1;
        counts[row] = (Count)count;
    }
}

template <class Data, class Index, class Pointer, class RightData, class RightIndex, class RightPointer, class Out,
          class OutIndex, class OutPointer>
DEVICE void add_pairs(const Data* data, const Index* indices, const Pointer* indptr, const RightData* right_data,
                      const RightIndex* right_indices, const RightPointer* right_indptr, Out* out, OutIndex* out_indices,
                      const OutPointer* out_indptr, whole rows, double factor) {
    for (EACH(row, rows)) {
        whole left = indptr[row], right = right_indptr[row], left_end = indptr[row + 1], right_end = right_indptr[row + 1];
        whole place = out_indptr[row];
        WALK(left, left_end, right, right_end) {
            SUM(Out) total = take_left ? (SUM(Out))data[left] : (SUM(Out))0;
            if (take_right) total += (SUM(Out))factor * (SUM(Out))right_data[right];
            out[place] = (Out)total;
            out_indices[place++] = take_left ? (OutIndex)indices[left] : (OutIndex)right_indices[right];
        }
    }
}

template <class Data, class Index, class Pointer, class RightData, class RightIndex, class RightPointer, class Out,
          class OutIndex, class OutPointer>
DEVICE void multiply_pairs(const Data* data, const Index* indices, const Pointer* indptr, const RightData* right_data,
                           const RightIndex* right_indices, const RightPointer* right_indptr, Out* out, OutIndex* out_indices,
                           const OutPointer* out_indptr, whole rows) {
    for (EACH(row, rows)) {
        whole left = indptr[row], right = right_indptr[row], left_end = indptr[row + 1], right_end = right_indptr[row + 1];
        whole place = out_indptr[row];
        WALK(left, left_end, right, right_end) {
            if (!take_left || !take_right) continue;
            out[place] = (Out)((SUM(Out))data[left] * (SUM(Out))right_data[right]);
            out_indices[place++] = (OutIndex)indices[left];
        }
    }
}

template <class Data, class Index, class Pointer, class Out>
DEVICE void add_to_dense(const Data* data, const Index* indices, const Pointer* indptr, Out* out, whole stored, whole rows,
                         whole width, double factor) {
    for (EACH(place, stored)) {
        whole target = row_of(indptr, rows, place) * width + indices[place];
        out[target] = (Out)((SUM(Out))out[target] + (SUM(Out))factor * (SUM(Out))data[place]);
    }
}
