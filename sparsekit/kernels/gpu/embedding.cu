// The kernel of an embedding's gradient.

template <class Data, class Place, class Target, class Out>
DEVICE void sum_grouped(const Data* data, const Place* starts, const Place* places, const Target* targets, Out* out, whole groups,
                        whole width) {
    for (EACH(item, groups * width)) {
        whole group = item / width, column = item % width;
        SUM(Out) total = 0;
        for (whole order = starts[group]; order < (whole)starts[group + 1]; order++)
            total += (SUM(Out))data[places[order] * width + column];
        out[targets[group] * width + column] = (Out)total;
    }
}
