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
