// Entries grouped by their index, which is not negative.  What is found:
//   distinct  the indices that occur, ascending
//   starts    where the entries of each begin among the sorted ones, and how many there are
//   places    the entry at each place of the sorted ones; those of one index in the order in which they come
//   ranks     for each entry, the place of its index in distinct
//   found     how many indices are distinct

enum { FEW_ENTRIES = 2048, MOST_THREADS = 1024 };

// What a block shares while it sorts.
struct Sorting {
    whole keys[FEW_ENTRIES];
    int order[FEW_ENTRIES], ends[MOST_THREADS];

    METHOD bool comes_later(whole one, whole other) const {
        return keys[one] > keys[other] || (keys[one] == keys[other] && order[one] > order[other]);
    }

    METHOD bool is_first(whole item) const { return !item || keys[item] != keys[item - 1]; }
};

[[maybe_unused]] DEVICE Sorting& shared_sorting() {
    __shared__ Sorting memory;
    return memory;
}

// All of it by one block, which sorts in shared memory: a bitonic sort, with the entry's place as the second key.
template <class Index, class Place>
DEVICE void group_few(const Index* indices, Place* distinct, Place* starts, Place* places, Place* ranks, Place* found,
                      whole entries) {
    Sorting& sorting = shared_sorting();
    whole* keys = sorting.keys;
    int *order = sorting.order, *ends = sorting.ends;
    if (blockIdx.x) return;
    whole size = 1, thread = threadIdx.x, threads = blockDim.x;
    while (size < entries) size *= 2;
    for (whole item = thread; item < size; item += threads) {
        keys[item] = item < entries ? (whole)indices[item] : 0x7fffffffffffffff;
        order[item] = (int)item;
    }
    __syncthreads();
    for (whole run = 2; run <= size; run *= 2)
        for (whole step = run / 2; step > 0; step /= 2) {
            for (whole item = thread; item < size / 2; item += threads) {
                whole low = over(item, step) * 2 * step + rest(item, step), high = low + step;
                if (sorting.comes_later(low, high) != !(low & run)) continue;
                whole key = keys[low];
                int entry = order[low];
                keys[low] = keys[high], order[low] = order[high];
                keys[high] = key, order[high] = entry;
            }
            __syncthreads();
        }
    whole share = (entries + threads - 1) / threads, low = thread * share, high = low + share < entries ? low + share : entries;
    int own = 0;
    for (whole item = low; item < high; item++) own += sorting.is_first(item);
    ends[thread] = own;
    __syncthreads();
    for (whole step = 1; step < threads; step *= 2) {
        int before = thread >= step ? ends[thread - step] : 0;
        __syncthreads();
        ends[thread] += before;
        __syncthreads();
    }
    whole rank = ends[thread] - own;
    for (whole item = low; item < high; item++) {
        if (sorting.is_first(item)) {
            distinct[rank] = (Place)keys[item];
            starts[rank++] = (Place)item;
        }
        places[item] = (Place)order[item];
        ranks[order[item]] = (Place)(rank - 1);
    }
    if (thread == threads - 1) {
        starts[ends[thread]] = (Place)entries;
        found[0] = (Place)ends[thread];
    }
}

// 1 for each place of the sorted entries that is the first of its index.
template <class Index, class Place>
DEVICE void mark_firsts(const Index* indices, const Place* places, Place* firsts, whole entries) {
    for (EACH(item, entries)) firsts[item] = (Place)(!item || indices[places[item]] != indices[places[item - 1]]);
}

// The rest, from the running sum of these marks.
template <class Index, class Place>
DEVICE void put_groups(const Index* indices, const Place* places, const Place* ends, Place* distinct, Place* starts, Place* ranks,
                       whole entries) {
    for (EACH(item, entries)) {
        whole rank = (whole)ends[item] - 1;
        ranks[places[item]] = (Place)rank;
        if (!item || (whole)ends[item - 1] == rank) {
            distinct[rank] = (Place)indices[places[item]];
            starts[rank] = (Place)item;
        }
        if (item == entries - 1) starts[rank + 1] = (Place)entries;
    }
}

// Place of each row among the ascending ones, -1 where it is absent.
template <class Row, class Index, class Place>
DEVICE void rank_rows(const Row* rows, const Index* ascending, Place* ranks, whole count, whole kept) {
    for (EACH(item, count)) {
        whole place = bisect(ascending, 0, kept, (whole)rows[item]);
        ranks[item] = (Place)(place < kept && (whole)ascending[place] == (whole)rows[item] ? place : -1);
    }
}
