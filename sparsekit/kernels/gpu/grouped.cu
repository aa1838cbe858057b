// Sums over groups of entries: group i is places[starts[i]] to places[starts[i + 1] - 1], and none is empty.
//
// A value that is in most rows makes a group as long as the batch, which one thread would still add up when all others
// are done.  So a group of more than CHUNK entries is left to threads that add up CHUNK entries each, where the group
// begins in their chunk or comes into it; join_groups adds these parts.  Which entries are added to which does not depend
// on the device: a result is the same on every run.

enum { CHUNK = 32 };

template <class Place> DEVICE bool in_chunks(const Place* starts, whole group, whole chunks) {
    return chunks && (whole)starts[group + 1] - (whole)starts[group] > CHUNK;
}

// The end of a chunk of so many entries.
[[maybe_unused]] DEVICE whole end_of(whole chunk, whole entries) { return (chunk + 1) * CHUNK < entries ? (chunk + 1) * CHUNK : entries; }

template <class Sum, class Place, class Term>
DEVICE Sum add_entries(Sum total, const Place* places, whole low, whole high, whole column, Term term) {
    for (; low < high; low++) total += term((whole)places[low], column);
    return total;
}

// Which rows of the result are sums: 0, 1, 2 and so on; those that targets name; the first again, with a list of the targets.
enum { IN_ORDER, AT_TARGETS, LISTING };

// The row of the result that a group is added up in.
template <class Place> DEVICE whole target_of(const Place* targets, whole group, whole order) {
    return order == AT_TARGETS ? (whole)targets[group] : group;
}

// Adds up term(place, column) for each group and column; element (i, j) of the result lies at row_step i + column_step j.
// The chunk c has two rows of parts: of the group that comes into it, and of the one that begins in it.
template <class Place, class Target, class Out, class Part, class List, class Term>
DEVICE void add_groups(const Place* starts, const Place* places, const Target* targets, Out* out, Part* parts, List* list,
                       whole groups, whole chunks, whole width, whole row_step, whole column_step, whole order, whole add,
                       Term term) {
    for (EACH(item, (groups + chunks) * width)) {
        whole group = over(item, width), column = rest(item, width);
        if (group < groups) {
            if (order == LISTING && column == 0) list[group] = (List)targets[group];
            if (in_chunks(starts, group, chunks)) continue;
            Out* target = out + target_of(targets, group, order) * row_step + column * column_step;
            Part before = add ? (Part)*target : (Part)0;
            *target = (Out)add_entries(before, places, starts[group], starts[group + 1], column, term);
            continue;
        }
        whole chunk = group - groups, low = chunk * CHUNK, high = end_of(chunk, starts[groups]);
        whole first = row_of(starts, groups, low), last = row_of(starts, groups, high - 1), end = starts[first + 1];
        Part* part = parts + 2 * chunk * width + column;
        if ((whole)starts[first] < low && in_chunks(starts, first, chunks))
            part[0] = add_entries((Part)0, places, low, end < high ? end : high, column, term);
        if ((whole)starts[last] >= low && in_chunks(starts, last, chunks))
            part[width] = add_entries((Part)0, places, starts[last], high, column, term);
    }
}

// Sums of stored values times the rows of right that they belong to; a negative row counts nothing.
template <class Data, class Row, class Right, class Place, class Target, class Out, class Part, class List>
DEVICE void dot_grouped(const Data* data, const Row* rows, const Right* right, const Place* starts, const Place* places,
                        const Target* targets, Out* out, Part* parts, List* list, whole groups, whole chunks, whole width,
                        whole row_step, whole column_step, whole order, whole add) {
    auto term = [=](whole place, whole column) {
        whole row = rows[place];
        return row < 0 ? (Part)0 : (Part)data[place] * (Part)right[row * width + column];
    };
    add_groups(starts, places, targets, out, parts, list, groups, chunks, width, row_step, column_step, order, add, term);
}

// Sums of factor times the rows of data.
template <class Data, class Place, class Target, class Out, class Part, class List>
DEVICE void sum_grouped(const Data* data, const Place* starts, const Place* places, const Target* targets, Out* out, Part* parts,
                        List* list, whole groups, whole chunks, whole width, whole row_step, whole column_step, whole order,
                        whole add, double factor) {
    auto term = [=](whole place, whole column) { return (Part)factor * (Part)data[place * width + column]; };
    add_groups(starts, places, targets, out, parts, list, groups, chunks, width, row_step, column_step, order, add, term);
}

// A team for each chunk that a long group begins in, and each column.
template <class Part, class Place, class Target, class Out>
DEVICE void join_groups(const Part* parts, const Place* starts, const Target* targets, Out* out, whole groups, whole chunks,
                        whole width, whole row_step, whole column_step, whole order, whole add, whole lanes) {
    for (EACH(item, chunks * width * lanes)) {
        whole lane = rest(item, lanes), chunk = over(over(item, lanes), width), column = rest(over(item, lanes), width);
        whole group = row_of(starts, groups, end_of(chunk, starts[groups]) - 1);
        if ((whole)starts[group] < chunk * CHUNK || !in_chunks(starts, group, chunks)) continue;
        Part total = lane == 0 ? parts[(2 * chunk + 1) * width + column] : (Part)0;
        for (whole next = chunk + 1 + lane; next <= ((whole)starts[group + 1] - 1) / CHUNK; next += lanes)
            total += parts[2 * next * width + column];
        total = team_sum(total, lanes);
        Out* target = out + target_of(targets, group, order) * row_step + column * column_step;
        if (lane == 0) *target = (Out)((add ? (Part)*target : (Part)0) + total);
    }
}
