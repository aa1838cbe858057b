"""NVIDIA's own compiler takes every device function, for narrow values and indices, and with ``--all`` for every type and two
kinds of GPUs; that needs no GPU.

``nvidia-cuda-nvrtc``, which the ``test`` extra brings on Linux, holds the compiler.
"""

from __future__ import annotations

import ctypes
import ctypes.util
import importlib.util
from pathlib import Path
from types import SimpleNamespace

import device_library
import pytest

from sparsekit.kernels.gpu import launch, step_source

GROUPS = 12  # how many programs the functions are spread over


def library_path():
    """Where the compiler is, in the wheels of NVIDIA or on the system."""
    spec = importlib.util.find_spec("nvidia")
    for folder in spec.submodule_search_locations or () if spec else ():
        for path in sorted(Path(folder).rglob("libnvrtc.so.*")):
            if "alt" not in path.name:
                return str(path)
    return ctypes.util.find_library("nvrtc")


@pytest.fixture(scope="module")
def nvrtc():
    path = library_path()
    if path is None:
        pytest.skip("NVRTC is not here: python -m pip install nvidia-cuda-nvrtc")
    return ctypes.CDLL(path)


def compile_for(nvrtc, source, architecture):
    """The machine code of a source, and what the compiler said."""
    program = ctypes.c_void_p()
    assert nvrtc.nvrtcCreateProgram(ctypes.byref(program), source.encode(), b"kernels.cu", 0, None, None) == 0
    options = [f"-arch={architecture}".encode(), *(option.encode() for option in launch.OPTIONS)]
    status = nvrtc.nvrtcCompileProgram(program, len(options), (ctypes.c_char_p * len(options))(*options))
    said = text_of(nvrtc.nvrtcGetProgramLogSize, nvrtc.nvrtcGetProgramLog, program)
    code = b"" if status else text_of(nvrtc.nvrtcGetCUBINSize, nvrtc.nvrtcGetCUBIN, program)
    nvrtc.nvrtcDestroyProgram(ctypes.byref(program))
    return code, said.rstrip(b"\0").decode()


def text_of(size_of, read, program):
    size = ctypes.c_size_t()
    assert size_of(program, ctypes.byref(size)) == 0
    room = ctypes.create_string_buffer(size.value)
    assert read(program, room) == 0
    return room.raw


@pytest.mark.parametrize(("architecture", "values"), [
    pytest.param("sm_80", ("Half",), id="sm_80-Half"),
    *(pytest.param(one, device_library.VALUES, id=one, marks=pytest.mark.thorough) for one in ("sm_80", "sm_90"))])
@pytest.mark.parametrize("group", range(GROUPS))
def test_every_device_function_compiles(nvrtc, architecture, values, group):
    """In half precision with wide indices, where a function takes it, and in single precision with narrow ones."""
    source, symbols = device_library.program(sorted(device_library.kernels())[group::GROUPS], values)
    code, said = compile_for(nvrtc, source, architecture)
    assert said == ""  # not even a warning
    assert all(symbol.encode() + b"\0" in code for symbol in symbols.values())


def test_types_come_from_the_arguments_of_a_call(monkeypatch):
    made = {}

    class RawKernel:
        def __init__(self, source, name, options):
            made.update(source=source, name=name, options=options)

    monkeypatch.setattr(launch, "xp", lambda: type("Module", (), {"RawKernel": RawKernel}))
    launch._compiled.__wrapped__("copy", ("const float*", "int*", "numbers"))
    assert made["name"] == "run_copy"
    assert made["options"] == launch.OPTIONS
    assert 'extern "C" __global__ void run_copy(const float* a0, int* a1, double a2_0' in made["source"]


def test_every_declared_kernel_has_a_device_function():
    assert set(device_library.kernels()) == set(launch.KERNELS)
    assert all(f" {name}(" in launch.library() or f"STEP({name}," in launch.library() for name in launch.KERNELS)


def floored(gradient, n, weight):
    """A formula with an operator that begins a comment in C++."""
    return weight - gradient // 2


def test_a_formula_that_cuda_would_read_otherwise_is_refused():
    with pytest.raises(AssertionError, match="gradient // 2"):
        step_source.device_function(SimpleNamespace(formula=floored))
