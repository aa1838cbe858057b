"""The machine that runs device functions: what it computes, and that it notices what a GPU would not forgive."""

from __future__ import annotations

import numpy as np
import pytest
import simt
from simt import Fault, Schedule

pytestmark = pytest.mark.thorough

RANDOM = [Schedule(None, 64, 2, seed, 3) for seed in range(1, 6)]

TEXT = r"""
#define KERNEL extern "C" __global__ void

KERNEL add_up(const float* data, float* out, long long count) {
    __shared__ float part[64];
    unsigned place = threadIdx.x;
    float total = 0;
    for (long long at = blockIdx.x * 64 + place; at < count; at += gridDim.x * 64) total += data[at];
    part[place] = total;
    for (unsigned step = 32; step > 0; step /= 2) {
        __syncthreads();
        if (place < step) part[place] += part[place + step];
    }
    if (place == 0) out[blockIdx.x] = part[0];
}

KERNEL without_barrier(float* out) {
    __shared__ float part[64];
    part[threadIdx.x] = 1;
    out[blockIdx.x * 64 + threadIdx.x] = part[63 - threadIdx.x];
}

KERNEL barrier_passed_by(float* out) {
    if (threadIdx.x > 40) return;
    __syncthreads();
    out[blockIdx.x * 64 + threadIdx.x] = 1;
}

KERNEL handed_over(float* out, long long meets) {
    __shared__ float part[64];
    part[threadIdx.x] = threadIdx.x;
    if (meets == 1) __syncwarp();
    if (meets == 2) __shfl_sync(0xffffffffu, 1, 0);
    out[blockIdx.x * 64 + threadIdx.x] = part[threadIdx.x ^ 1];
}

KERNEL half_of_a_warp(int* out, long long mask) {
    if (threadIdx.x % 32 < 16) out[blockIdx.x * 64 + threadIdx.x] = __shfl_xor_sync((unsigned)mask, (int)threadIdx.x, 1);
}

KERNEL outside_the_mask(int* out) {
    if (threadIdx.x % 32 < 16) out[blockIdx.x * 64 + threadIdx.x] = __shfl_down_sync(0xffffu, (int)threadIdx.x, 1);
}

KERNEL count_all(int* out, long long atomic) {
    if (atomic == 1) atomicAdd(out, 1);
    else if (atomic == 0) *out += 1;
    else if (threadIdx.x || blockIdx.x) atomicAdd(out, 1);
    else *out = 5;
}

KERNEL copy_shifted(const float* data, float* out, long long count, long long from, long long to) {
    for (long long at = blockIdx.x * 64 + threadIdx.x; at < count; at += gridDim.x * 64) out[at + to] = data[at + from];
}

KERNEL wait_for_each_other(int* out) {
    if (threadIdx.x == 0 || threadIdx.x >= 32) __syncthreads();
    else __shfl_sync(0xffffffffu, 1, 0);
    out[blockIdx.x * 64 + threadIdx.x] = 1;
}

KERNEL unknown_instruction(float value, unsigned short bits) { asm("mul.f32 %0, %1;" : "=f"(value) : "h"(bits)); }
"""

KINDS = {"add_up": "const float* float* long_long", "without_barrier": "float*", "barrier_passed_by": "float*",
         "handed_over": "float* long_long", "half_of_a_warp": "int* long_long", "outside_the_mask": "int*",
         "count_all": "int* long_long", "copy_shifted": "const float* float* long_long long_long long_long",
         "wait_for_each_other": "int*", "unknown_instruction": "float unsigned_short"}


@pytest.fixture(scope="module")
def kernels(machine):
    words = {name: kinds.replace("const ", "const_").split() for name, kinds in KINDS.items()}
    return machine.program(TEXT, {name: tuple(kind.replace("_", " ") for kind in kinds) for name, kinds in words.items()})


def room(count, dtype=np.float32):
    return np.zeros(count, dtype)


@pytest.mark.parametrize(("name", "arguments", "said"), [
    ("without_barrier", [room(128)], "a race|holds nothing yet"),
    ("barrier_passed_by", [room(128)], "passed by|leaves, while others wait at __syncthreads"),
    ("handed_over", [room(128), np.int64(0)], "a race|holds nothing yet"),
    ("handed_over", [room(128), np.int64(2)], "a race"),  # CUDA promises no order of memory for a shuffle
    ("half_of_a_warp", [room(128, np.int32), np.int64(0xffffffff)], "has left|leaves, while lane"),
    ("half_of_a_warp", [room(128, np.int32), np.int64(0xff)], "not in its own mask"),
    ("outside_the_mask", [room(128, np.int32)], "reads lane 16, which is not in mask"),
    ("count_all", [room(1, np.int32), np.int64(0)], "a race"),
    ("count_all", [room(1, np.int32), np.int64(2)], "a race"),  # of an atomic and an ordinary access
    ("copy_shifted", [room(100), room(100), np.int64(100), np.int64(1), np.int64(0)], "reads 4 bytes outside"),
    ("copy_shifted", [room(100), room(100), np.int64(100), np.int64(-1), np.int64(0)], "reads 4 bytes outside"),
    ("copy_shifted", [room(100), room(100), np.int64(100), np.int64(0), np.int64(1)], "writes 4 bytes outside"),
    ("copy_shifted", [room(100), room(100), np.int64(100), np.int64(1 << 30), np.int64(0)], "reads 4 bytes outside"),
    ("wait_for_each_other", [room(128, np.int32)], "64 threads wait for each other"),
    ("unknown_instruction", [np.float32(1), np.uint16(1)], "does not know: .*mul.f32"),
])
def test_faults_are_noticed_under_every_schedule(kernels, name, arguments, said):
    for schedule in [Schedule(None, 64), *RANDOM]:
        with pytest.raises(Fault, match=said):
            kernels[name].run(2, arguments, schedule)


def test_what_holds_nothing_is_not_read(kernels):
    data, out = room(100), room(100)
    values = [data, out, np.int64(100), np.int64(0), np.int64(0)]
    kernels["copy_shifted"].run(2, values, RANDOM[0], blank=(1,))
    both = room(200)
    with pytest.raises(Fault, match="holds nothing yet"):
        kernels["copy_shifted"].run(2, [both, both, *values[2:4], np.int64(100)], RANDOM[0], blank=(0,))


def test_fibers_of_other_processors(machine, tmp_path, monkeypatch, kernels):
    """Where switching is not written in assembler, the C library does it."""
    monkeypatch.setattr(simt, "OPTIONS", (*simt.OPTIONS, "-DSIMT_PORTABLE"))
    portable, out = simt.Machine(tmp_path).program(TEXT, {"add_up": ("const float*", "float*", "long long")}), room(4)
    portable["add_up"].run(4, [np.ones(1000, np.float32), out, np.int64(1000)], RANDOM[0])
    assert out.sum() == 1000
