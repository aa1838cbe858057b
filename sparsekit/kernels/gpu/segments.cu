// Reductions over runs of an array, and products of small matrices.

enum { ADD, MULTIPLY, MAXIMUM, MINIMUM };

// nan wins, as in numpy.
template <class Value> DEVICE Value joined(Value left, Value right, whole way) {
    if (way == ADD) return left + right;
    if (way == MULTIPLY) return left * right;
    if (left != left) return left;
    if (right != right) return right;
    return way == MAXIMUM ? (left < right ? right : left) : (right < left ? right : left);
}

// What the entries low to high - 1 amount to; there is one at least.
template <class Value, class Data> DEVICE Value reduced(const Data* data, whole low, whole high, whole way) {
    Value total = (Value)data[low];
    while (++low < high) total = joined(total, (Value)data[low], way);
    return total;
}

// Run i goes from starts[i] to starts[i + 1] - 1; none is empty.  As in grouped.cu, a run of more than CHUNK entries is left to
// threads that reduce CHUNK entries each: chunk c has two parts, of the run that comes into it, and of the one that begins in it.
template <class Data, class Place, class Out, class Part>
DEVICE void reduce_runs(const Data* data, const Place* starts, Out* out, Part* parts, whole runs, whole chunks, whole way) {
    for (EACH(item, runs + chunks)) {
        if (item < runs) {
            if (!in_chunks(starts, item, chunks)) out[item] = (Out)reduced<Part>(data, starts[item], starts[item + 1], way);
            continue;
        }
        whole chunk = item - runs, low = (whole)starts[0] + chunk * CHUNK, high = low + CHUNK, stop = starts[runs];
        if (high > stop) high = stop;
        if (low >= high) continue;
        whole first = row_of(starts, runs, low), last = row_of(starts, runs, high - 1), end = starts[first + 1];
        if ((whole)starts[first] < low && in_chunks(starts, first, chunks))
            parts[2 * chunk] = reduced<Part>(data, low, end < high ? end : high, way);
        if ((whole)starts[last] >= low && in_chunks(starts, last, chunks))
            parts[2 * chunk + 1] = reduced<Part>(data, starts[last], high, way);
    }
}

// A team a run, for those whose parts are to be put together.
template <class Part, class Place, class Out>
DEVICE void join_runs(const Part* parts, const Place* starts, Out* out, whole runs, whole chunks, whole way, whole lanes) {
    for (EACH(item, runs * lanes)) {
        whole run = over(item, lanes), lane = rest(item, lanes);
        if (!in_chunks(starts, run, chunks)) continue;
        whole origin = starts[0];
        whole begin = ((whole)starts[run] - origin) / CHUNK, end = ((whole)starts[run + 1] - 1 - origin) / CHUNK;
        Part first = parts[2 * begin + 1], total = lane == 0 || way == MAXIMUM || way == MINIMUM ? first : (Part)(way == MULTIPLY);
        for (whole chunk = begin + 1 + lane; chunk <= end; chunk += lanes) total = joined(total, parts[2 * chunk], way);
        for (int step = (int)lanes / 2; step > 0; step /= 2)
            total = joined(total, __shfl_xor_sync(team_mask(lanes), total, step, 32), way);
        if (lane == 0) out[run] = (Out)total;
    }
}

// A team an element of the result; matrices lie as their steps from row to row and from column to column say.
template <class Left, class Right, class Out>
DEVICE void dot_small(const Left* left, const Right* right, Out* out, whole height, whole inner, whole width, whole left_row,
                      whole left_column, whole right_row, whole right_column, whole lanes) {
    for (EACH(item, height * width * lanes)) {
        whole element = over(item, lanes), lane = rest(item, lanes), row = over(element, width), column = rest(element, width);
        SUM(Out) total = 0;
        for (whole place = lane; place < inner; place += lanes)
            total += (SUM(Out))left[row * left_row + place * left_column] * (SUM(Out))right[place * right_row + column * right_column];
        total = team_sum(total, lanes);
        if (lane == 0) out[element] = (Out)total;
    }
}

// A block a tile of the result: it reads tiles of both matrices once for all its threads.
enum { TILE = 16, LEAST_THREADS = 32 };

template <class Sum> struct Tiles { Sum left[TILE][TILE + 1], right[TILE][TILE + 1]; };

[[maybe_unused]] DEVICE Tiles<float>& shared_tiles(float) { __shared__ Tiles<float> memory; return memory; }
[[maybe_unused]] DEVICE Tiles<double>& shared_tiles(double) { __shared__ Tiles<double> memory; return memory; }

template <class Left, class Right, class Out>
DEVICE void dot_tiles(const Left* left, const Right* right, Out* out, whole height, whole inner, whole width, whole left_row,
                      whole left_column, whole right_row, whole right_column) {
    typedef SUM(Out) Sum;
    Tiles<Sum>& tiles = shared_tiles((Sum)0);
    whole across = (width + TILE - 1) / TILE, all = (height + TILE - 1) / TILE * across;
    for (whole tile = blockIdx.x; tile < all; tile += gridDim.x) {
        whole top = over(tile, across) * TILE, first = rest(tile, across) * TILE;
        Sum totals[TILE * TILE / LEAST_THREADS] = {};
        for (whole depth = 0; depth < inner; depth += TILE) {
            for (int place = threadIdx.x; place < TILE * TILE; place += blockDim.x) {
                whole row = place / TILE, column = place % TILE;
                bool there = top + row < height && depth + column < inner, here = depth + row < inner && first + column < width;
                tiles.left[row][column] = there ? (Sum)left[(top + row) * left_row + (depth + column) * left_column] : (Sum)0;
                tiles.right[row][column] = here ? (Sum)right[(depth + row) * right_row + (first + column) * right_column] : (Sum)0;
            }
            __syncthreads();
            for (int turn = 0, place = threadIdx.x; place < TILE * TILE; place += blockDim.x, turn++)
                for (int step = 0; step < TILE; step++)
                    totals[turn] += tiles.left[place / TILE][step] * tiles.right[step][place % TILE];
            __syncthreads();
        }
        for (int turn = 0, place = threadIdx.x; place < TILE * TILE; place += blockDim.x, turn++) {
            whole row = top + place / TILE, column = first + place % TILE;
            if (row < height && column < width) out[row * width + column] = (Out)totals[turn];
        }
    }
}
