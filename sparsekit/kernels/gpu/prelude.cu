// What every kernel file builds on.  No header is included, so that NVRTC needs no CUDA toolkit.
//
// Kernels are loops that any number of threads share: EACH gives a thread its items.  Rows may be shared by a team of
// 1, 2, 4 … 32 neighbouring threads of one warp, whose sums team_sum adds up in a fixed order.  Nothing is added by
// atomics, so a result is the same on every run.
//
// Elsewhere than under CUDA (a host compiler that checks the logic) the marked words are given from outside.

typedef long long whole;

#ifdef __CUDACC__
#define DEVICE static __device__ __forceinline__
#define METHOD __device__ __forceinline__

DEVICE whole first_thread() { return (whole)blockIdx.x * blockDim.x + threadIdx.x; }
DEVICE whole all_threads() { return (whole)gridDim.x * blockDim.x; }

DEVICE float float_of(unsigned short bits) {
    float value;
    asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(bits));
    return value;
}

DEVICE unsigned short half_of(float value) {
    unsigned short bits;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(value));
    return bits;
}

// The lanes of the team that this thread belongs to.
DEVICE unsigned team_mask(whole lanes) {
    return lanes == 32 ? 0xffffffffu : ((1u << lanes) - 1) << (threadIdx.x % 32 / lanes * lanes);
}

// Sum over the team; every member gets it.  This orders no other memory: see team_meets.
template <class Sum> DEVICE Sum team_sum(Sum value, whole lanes) {
    if (lanes == 1) return value;
    for (int step = (int)lanes / 2; step > 0; step /= 2) value += __shfl_xor_sync(team_mask(lanes), value, step, 32);
    return value;
}

// What members of the team did to memory before comes before what any of them does to it afterwards.
[[maybe_unused]] DEVICE void team_meets(whole lanes) {
    if (lanes > 1) __syncwarp(team_mask(lanes));
}
#endif

// Quotient and rest of numbers that are not negative.  A GPU divides whole numbers of 64 bits by some hundred instructions, and
// those of 32 by a few, which nearly all are.
[[maybe_unused]] DEVICE bool is_short(whole number, whole by) { return !((unsigned long long)(number | by) >> 32); }
[[maybe_unused]] DEVICE whole over(whole number, whole by) {
    return is_short(number, by) ? (whole)((unsigned)number / (unsigned)by) : number / by;
}
[[maybe_unused]] DEVICE whole rest(whole number, whole by) {
    return is_short(number, by) ? (whole)((unsigned)number % (unsigned)by) : number % by;
}

#define EACH(item, count) whole item = first_thread(); item < (whole)(count); item += all_threads()

// float16, computed with as float32.
struct Half {
    unsigned short bits;
    Half() = default;
    METHOD Half(float value) : bits(half_of(value)) {}
    METHOD operator float() const { return float_of(bits); }
};

// The type in which values of a type are added up.
template <class Value> struct sum_of { typedef whole type; };
template <> struct sum_of<Half> { typedef float type; };
template <> struct sum_of<float> { typedef float type; };
template <> struct sum_of<double> { typedef double type; };
#define SUM(Value) typename sum_of<Value>::type

// The type in which they are compared: sums may wrap around, but half of the unsigned numbers would be negative.
template <class Value> struct order_of { typedef SUM(Value) type; };
template <> struct order_of<unsigned long long> { typedef unsigned long long type; };

// The row that a stored value lies in: the last one that starts at or before it and is not empty.
template <class Pointer> DEVICE whole row_of(const Pointer* indptr, whole rows, whole place) {
    whole low = 0, high = rows;
    while (low < high) {
        whole middle = (low + high) / 2;
        if ((whole)indptr[middle + 1] <= place) low = middle + 1;
        else high = middle;
    }
    return low;
}

// The first of the ascending places low to high whose index is not below the value.
template <class Index> DEVICE whole bisect(const Index* indices, whole low, whole high, whole value) {
    while (low < high) {
        whole middle = (low + high) / 2;
        if ((whole)indices[middle] < value) low = middle + 1;
        else high = middle;
    }
    return low;
}

// Few and long rows would keep few threads busy, so rows of more than PIECE columns are cut into pieces, a team each.  The sum of
// a row is that of its pieces, which are added up in one order.
enum { PIECE = 1024 };

// What an item of the grid is: a lane of the team of one piece of a row.
struct Piece {
    whole row, lane, low, high;

    METHOD Piece(whole item, whole width, whole pieces, whole lanes)
        : row(over(over(item, lanes), pieces)), lane(rest(item, lanes)), low(rest(over(item, lanes), pieces) * PIECE),
          high(pieces == 1 || low + PIECE > width ? width : low + PIECE) {}
};

// The sum of a row's parts, which every member of the team gets.
template <class Part> DEVICE Part sum_parts(const Part* parts, whole pieces, whole lane, whole lanes) {
    Part total = 0;
    for (whole piece = lane; piece < pieces; piece += lanes) total += parts[piece];
    return team_sum(total, lanes);
}
