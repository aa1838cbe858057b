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

// Run i goes from starts[i] to starts[i + 1]; none is empty.
template <class Data, class Place, class Out>
DEVICE void reduce_runs(const Data* data, const Place* starts, Out* out, whole runs, whole way) {
    for (EACH(run, runs)) {
        typedef typename order_of<Out>::type Value;
        Value total = (Value)data[starts[run]];
        for (whole place = starts[run] + 1; place < (whole)starts[run + 1]; place++) total = joined(total, (Value)data[place], way);
        out[run] = (Out)total;
    }
}

// A team an element of the result; matrices lie as their steps from row to row and from column to column say.
template <class Left, class Right, class Out>
DEVICE void dot_small(const Left* left, const Right* right, Out* out, whole height, whole inner, whole width, whole left_row,
                      whole left_column, whole right_row, whole right_column, whole lanes) {
    for (EACH(item, height * width * lanes)) {
        whole element = item / lanes, lane = item % lanes, row = element / width, column = element % width;
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
        whole top = tile / across * TILE, first = tile % across * TILE;
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
