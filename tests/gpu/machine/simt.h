// CUDA's words for a host compiler: what the text of a kernel uses without a header, done by the machine of simt.cpp.
//
// Code compiled behind this header with -fsanitize=thread tells the machine every access to memory.  The machine is the
// run-time library of that option; the compiler's own is not linked.
#pragma once

#define __CUDACC__ 1
#define __device__
#define __host__
#define __global__
#define __restrict__
#define __forceinline__ inline __attribute__((always_inline))
#define SIMT_UNSEEN static __attribute__((no_sanitize("thread"), unused))

struct simt_place { unsigned x, y, z; };

extern "C" {
simt_place simt_thread(), simt_block(), simt_threads(), simt_blocks();
unsigned long long simt_exchange(unsigned mask, unsigned long long bits, int way, int operand, int width);
void simt_meet_warp(unsigned mask);
void simt_meet_block();
void simt_atomic(void* place, int bytes);
void simt_unknown(const char* what);
}

#define threadIdx (simt_thread())
#define blockIdx (simt_block())
#define blockDim (simt_threads())
#define gridDim (simt_blocks())

// One copy for each block: the machine changes them when it turns from block to block.
#define __shared__ static __attribute__((section("simt_shared")))
extern "C" {
extern char __start_simt_shared[] __attribute__((weak, visibility("hidden")));
extern char __stop_simt_shared[] __attribute__((weak, visibility("hidden")));
__attribute__((used, weak)) void simt_shared_memory(char** low, char** high) {
    *low = __start_simt_shared;
    *high = __stop_simt_shared;
}
}

#define SIMT_MATH(name) \
    SIMT_UNSEEN inline float name(float value) { return __builtin_##name##f(value); } \
    SIMT_UNSEEN inline double name(double value) { return __builtin_##name(value); }
SIMT_MATH(exp) SIMT_MATH(log) SIMT_MATH(sqrt) SIMT_MATH(erfc) SIMT_MATH(tanh) SIMT_MATH(fabs) SIMT_MATH(log1p)

enum { SIMT_XOR, SIMT_DOWN, SIMT_UP, SIMT_FROM, SIMT_BALLOT };

template <class Value> SIMT_UNSEEN Value simt_shuffle(unsigned mask, Value value, int way, int operand, int width) {
    unsigned long long bits = 0;
    __builtin_memcpy(&bits, &value, sizeof(Value));
    bits = simt_exchange(mask, bits, way, operand, width);
    __builtin_memcpy(&value, &bits, sizeof(Value));
    return value;
}

#define SIMT_SHUFFLE(name, way) \
    template <class Value> SIMT_UNSEEN Value name(unsigned mask, Value value, int operand, int width = 32) { \
        return simt_shuffle(mask, value, way, operand, width); \
    }
SIMT_SHUFFLE(__shfl_xor_sync, SIMT_XOR)
SIMT_SHUFFLE(__shfl_down_sync, SIMT_DOWN)
SIMT_SHUFFLE(__shfl_up_sync, SIMT_UP)
SIMT_SHUFFLE(__shfl_sync, SIMT_FROM)

SIMT_UNSEEN unsigned __ballot_sync(unsigned mask, int truth) {
    return (unsigned)simt_exchange(mask, truth != 0, SIMT_BALLOT, 0, 32);
}
SIMT_UNSEEN int __any_sync(unsigned mask, int truth) { return __ballot_sync(mask, truth) != 0; }
SIMT_UNSEEN int __all_sync(unsigned mask, int truth) { return __ballot_sync(mask, truth) == mask; }
SIMT_UNSEEN void __syncwarp(unsigned mask = 0xffffffffu) { simt_meet_warp(mask); }
#define __syncthreads() simt_meet_block()

#define SIMT_ATOMIC(name, made) \
    template <class Value> SIMT_UNSEEN Value name(Value* place, Value value) { \
        simt_atomic(place, (int)sizeof(Value)); \
        Value old = *place; \
        *place = made; \
        return old; \
    }
SIMT_ATOMIC(atomicAdd, old + value)
SIMT_ATOMIC(atomicMax, old < value ? value : old)
SIMT_ATOMIC(atomicMin, value < old ? value : old)
SIMT_ATOMIC(atomicExch, value)
template <class Value> SIMT_UNSEEN Value atomicCAS(Value* place, Value expected, Value value) {
    simt_atomic(place, (int)sizeof(Value));
    Value old = *place;
    if (old == expected) *place = value;
    return old;
}

// The instructions of prelude.cu; another one stops the launch.
SIMT_UNSEEN void simt_instruction(const char* text, float* value, unsigned short* bits) {
    _Float16 half;
    if (__builtin_strstr(text, "cvt.f32.f16 ")) {
        __builtin_memcpy(&half, bits, 2);
        *value = (float)half;
    } else if (__builtin_strstr(text, "cvt.rn.f16.f32 ")) {
        half = (_Float16)*value;
        __builtin_memcpy(bits, &half, 2);
    } else {
        simt_unknown(text);
    }
}
#define asm(...) simt_instruction(#__VA_ARGS__, &value, &bits)
