"""Device functions compiled for the processor, which runs one thread after the other.

That checks what a thread computes and which items it takes; not what happens when threads run at once.  Sums of a team of
threads need that, so a row has one thread here.
"""

from __future__ import annotations

import ctypes
import shutil
import subprocess
from pathlib import Path

import device_library
import numpy as np
from capturing import done

COMPILER = shutil.which("g++") or shutil.which("clang++")

#: Threads that a launch is spread over: an odd number, so that an item that two take, or none, shows.
THREADS = 3

#: What NVIDIA's compiler knows without a header.  The headers of C++ would take most of the time of the many compilations.
WORDS = """
#define DEVICE static inline
#define METHOD inline
#define __global__
#define MATH(name) static inline float name(float x) { return __builtin_##name##f(x); } \\
    static inline double name(double x) { return __builtin_##name(x); }
MATH(exp) MATH(log) MATH(sqrt) MATH(erfc) MATH(tanh) MATH(fabs)
static long long host_thread = 0, host_threads = 1;
extern "C" void choose_thread(long long thread, long long threads) { host_thread = thread; host_threads = threads; }
static inline long long first_thread() { return host_thread; }
static inline long long all_threads() { return host_threads; }
template <class Sum> static inline Sum team_sum(Sum value, long long lanes) { return lanes == 1 ? value : __builtin_nan(""); }
static inline float float_of(unsigned short bits) { _Float16 value; __builtin_memcpy(&value, &bits, 2); return (float)value; }
static inline unsigned short half_of(float value) {
    _Float16 made = (_Float16)value; unsigned short bits; __builtin_memcpy(&bits, &made, 2); return bits;
}
"""


class Library:
    """The functions compiled so far; others are compiled one by one when asked for."""

    def __init__(self, folder: Path) -> None:
        self._folder, self._found, self._count = folder, {}, 0
        source, symbols = device_library.program(sorted(device_library.kernels()), ("float",))
        self._add(source, symbols)

    def _add(self, source, symbols):
        self._count += 1
        text, library = self._folder / f"device{self._count}.cpp", self._folder / f"device{self._count}.so"
        text.write_text(WORDS + source, encoding="utf-8")
        done = subprocess.run([COMPILER, "-std=c++17", "-O0", "-w", "-shared", "-fPIC", "-o", str(library), str(text)],
                              capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr[:4000]
        loaded = ctypes.CDLL(str(library))
        self._found.update({key: (getattr(loaded, symbol), loaded.choose_thread) for key, symbol in symbols.items()})

    def compiled(self, name, kinds):
        """What ``launch._compiled`` gives on a GPU: a function of blocks, threads and arguments."""
        key = (name, kinds)
        if key not in self._found:
            self._add(device_library.launch.library() + device_library.launch.entry_point(name, kinds, "run"), {key: "run"})
        function, choose = self._found[key]

        def run(_blocks, _threads, values):
            given = [_argument(value) for value in values]

            def work():
                for thread in range(THREADS):
                    choose(ctypes.c_longlong(thread), ctypes.c_longlong(THREADS))
                    function(*given)
                return values  # which lie in memory until then

            done(work)

        return run


def _argument(value):
    if isinstance(value, np.int64):
        return ctypes.c_longlong(int(value))
    if isinstance(value, np.float64):
        return ctypes.c_double(float(value))
    host = value._host
    assert host.flags.c_contiguous
    return ctypes.c_void_p(host.ctypes.data)
