// Reductions over runs of an array.

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
        SUM(Out) total = (SUM(Out))data[starts[run]];
        for (whole place = starts[run] + 1; place < (whole)starts[run + 1]; place++) total = joined(total, (SUM(Out))data[place], way);
        out[run] = (Out)total;
    }
}
