"""The command ``sparsekit doctor``: what is installed, what is missing, and the remedy for each."""

from __future__ import annotations

import argparse
import importlib.metadata
import importlib.util
import os
import platform
import shutil
import subprocess
import sys
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from .base.environment import is_installed, kernels_asked, thread_count
from .base.machine import available_memory
from .base.version import __version__
from .kernels.cpu.kept import folders
from .lab import COPY, FIRST_NOTEBOOK, find_course

#: Executable names of Chromium, the preferred first.
BROWSERS = ("chromium", "chromium-browser", "google-chrome-stable", "google-chrome")

#: The one command that lets the browser tests run.
INSTALL_CHROMIUM = "apt-get install --yes chromium"

#: The packages of each extra that are reported.
EXTRAS = {
    "lab": ("jupyterlab", "ipykernel", "ipywidgets", "anywidget", "matplotlib", "tqdm"),
    "test": ("pytest", "nbval", "hypothesis", "playwright", "codespell", "jupyter-repo2docker"),
    "docs": ("sphinx", "numpydoc", "myst-parser", "furo"),
}

LOW_MEMORY = 2 << 30  # bytes; below this the dense variants of the course do not fit


class Finding(NamedTuple):
    """One line of the report.

    Attributes
    ----------
    name : str
    value : str
        What was found, or what is wrong.
    remedy : str
        Command or advice; empty if nothing is wrong.
    needed : bool
        Whether sparsekit requires it.
    """

    name: str
    value: str
    remedy: str = ""
    needed: bool = False


def main(argv: Sequence[str] | None = None) -> int:
    """Print the report and return the exit status: 1 if a requirement of sparsekit is missing, else 0."""
    argparse.ArgumentParser(prog="sparsekit doctor", description=(
        "Report what is installed, what is missing, and how to install it. The exit status is 1 if sparsekit cannot work here."
    )).parse_args(argv)
    findings = []
    for finding in examine():
        findings.append(finding)
        print(line(finding), flush=True)
    return int(any(finding.remedy and finding.needed for finding in findings))


def line(finding: Finding) -> str:
    """Format a finding: ``+`` means found, ``!`` a missing requirement, ``-`` something optional that is missing."""
    mark = "+" if not finding.remedy else "!" if finding.needed else "-"
    text = f"{mark} {finding.name:<22}{finding.value}"
    return f"{text}\n  {'':<22}{finding.remedy}" if finding.remedy else text


def examine() -> Iterator[Finding]:
    """Yield the findings one by one, since some take seconds."""
    yield Finding("sparsekit", __version__)
    yield Finding("python", f"{platform.python_version()} on {platform.system()} {platform.machine()}")
    for package in ("numpy", "scipy"):
        yield package_finding(package, "python -m pip install --upgrade sparsekit", needed=True)
    yield package_finding("numba", "python -m pip install numba, for compiled kernels, which are faster")
    kernels = kernels_finding()
    yield kernels
    if kernels.value.startswith(IN_NUMPY):
        yield Finding("threads", "1 for kernels in numpy")
    else:
        yield cache_finding()
        yield threads_finding()
        yield kernel_threads_finding()
        yield steps_finding()
    yield memory_finding()
    yield gpu_finding()
    for extra, packages in EXTRAS.items():
        for package in packages:
            yield package_finding(package, f"python -m pip install 'sparsekit[{extra}]'")
    yield kernelspec_finding()
    yield course_finding()
    yield chromium_finding()


def package_finding(name: str, remedy: str, needed: bool = False) -> Finding:
    """Look up the version of an installed package without importing it."""
    try:
        return Finding(name, importlib.metadata.version(name), needed=needed)
    except importlib.metadata.PackageNotFoundError:
        return Finding(name, "not installed", remedy, needed)


def ask(program: str, seconds: float = 120) -> tuple[bool, str]:
    """Run a program in a subprocess, which a broken driver may crash; return whether it succeeded and its last line."""
    try:
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=seconds)
    except subprocess.TimeoutExpired:
        return False, f"no answer in {seconds:g} s"
    said = (done.stdout if done.returncode == 0 else done.stderr).strip().splitlines()
    return done.returncode == 0, said[-1] if said else f"exit status {done.returncode}"


#: What is found where kernels are those in numpy, and where numba compiles them.
IN_NUMPY, COMPILED = "in numpy", "numba's compile and run"

RUN_KERNEL = f"""
import numpy, warnings
warnings.simplefilter("ignore")
from sparsekit.kernels import for_device, why_numpy
distinct, rank = for_device("cpu").unique_with_rank(numpy.array([5, 3, 5]))
assert distinct.tolist() == [3, 5] and rank.tolist() == [1, 0, 1]
print("{IN_NUMPY}, since " + why_numpy() if why_numpy() else "{COMPILED}")
"""


def kernels_finding() -> Finding:
    """Test that a kernel of sparsekit runs here and computes the right result: which kernels are used, and why."""
    well, said = ask(RUN_KERNEL)
    reinstall = "python -m pip install --upgrade --force-reinstall"
    if not well and kernels_asked() == "numpy":
        return Finding("kernels", said, f"{reinstall} numpy scipy", needed=True)
    if not well:
        return Finding("kernels", said, f"{reinstall} numba; NUMBA_CACHE_DIR must name a writable folder; "
                       "SPARSEKIT_KERNELS=numpy works without numba", needed=True)
    broken = said.startswith(IN_NUMPY) and not kernels_asked() and is_installed("numba")
    return Finding("kernels", said, f"{reinstall} numba" if broken else "")


def cache_finding() -> Finding:
    """Test whether compiled kernels can be cached on disk; else every process compiles them again."""
    asked, beside = os.environ.get("NUMBA_CACHE_DIR"), Path(__file__).parent
    for folder in folders():
        existing = folder
        while not existing.exists() and existing.parent != existing:
            existing = existing.parent  # missing folders are created when a kernel is saved
        if os.access(existing, os.W_OK):
            where = "NUMBA_CACHE_DIR" if asked and folder == Path(asked) else folder
            return Finding("compiled kernels", "kept beside the source" if beside in folder.parents else f"kept in {where}")
    return Finding("compiled kernels", "compiled again in every process", "set NUMBA_CACHE_DIR to a writable folder")


LAYER = """
import numba, numpy
@numba.njit(parallel=True)
def total(values):
    out = 0.0
    for place in numba.prange(values.size):
        out += values[place]
    return out
total(numpy.ones(1000))
print(numba.threading_layer())
"""


def threads_finding() -> Finding:
    """Find numba's threading layer; sparsekit's own kernels use plain threads and do not depend on it."""
    well, said = ask(LAYER)
    return Finding("numba threading layer", said, "" if well else "only your own parallel numba code needs it")


def kernel_threads_finding() -> Finding:
    """Find the number of threads of large kernels, and whether ``SPARSEKIT_NUM_THREADS`` is valid."""
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        count = thread_count()
    return Finding("threads", f"{count} for large kernels (SPARSEKIT_NUM_THREADS changes it)",
                   "; ".join(str(message.message) for message in said))


STEPS = """
from sparsekit.base.layout import checked_versions
from sparsekit.core.table.machine import reason_against_tables
reason = reason_against_tables()
print(f"in Python, which is slower: {reason}\\tuse {checked_versions()}" if reason else "in tables of compiled calls")
"""


def steps_finding() -> Finding:
    """Find whether compiled steps run without Python between operators, as they do where the memory layout was checked."""
    _, said = ask(STEPS)
    value, _, remedy = said.partition("\t")
    return Finding("compiled steps", value, remedy)


def memory_finding(free: int | None = None) -> Finding:
    """Find the free memory of this machine, within the limit of its container; ``free`` (bytes) replaces it in tests."""
    free = available_memory() if free is None else free
    if free is None:
        return Finding("memory", "unknown on this system")
    remedy = "close other programs; the course's dense variants choose smaller sizes automatically"
    return Finding("memory", f"{free / 2**30:.1f} GiB free", remedy if free < LOW_MEMORY else "")


GPU = """
import cupy
runtime = cupy.cuda.runtime
if int(cupy.__version__.partition(".")[0]) < 14:
    raise SystemExit(f"cupy {cupy.__version__} is older than 14")
count = runtime.getDeviceCount()
name = runtime.getDeviceProperties(0)["name"].decode()
cupy.arange(8).sum().item()
cupy.RawKernel('extern "C" __global__ void nothing() {}', "nothing")((1,), (1,), ())
cupy.argsort(cupy.arange(8)).get()
cupy.ones((2, 2)).dot(cupy.ones((2, 2))).get()
print(f"{count} x {name}, CUDA {runtime.runtimeGetVersion() // 1000}, cupy {cupy.__version__}")
"""


def gpu_finding() -> Finding:
    """Test whether cupy can compute on a GPU here: the driver, CUDA's libraries, and its compiler."""
    hardware = shutil.which("nvidia-smi") is not None
    if importlib.util.find_spec("cupy") is None:
        remedy = "python -m pip install 'sparsekit[cuda13]' (or cuda12, to match the driver)" if hardware else ""
        seen = "NVIDIA driver found, but cupy is not installed" if hardware else "none; everything runs on the CPU"
        return Finding("gpu", seen, remedy)
    well, said = ask(GPU)
    remedy = ("check `nvidia-smi`, and `python -m pip install 'sparsekit[cuda13]'` (or cuda12, to match the driver): it brings "
              "cupy of version 14 or newer with CUDA's libraries, cupy-cuda13x[ctk], which a driver alone lacks")
    return Finding("gpu", said, "" if well else remedy)


def kernelspec_finding() -> Finding:
    """Test whether Jupyter finds a Python kernel to run notebooks with."""
    if importlib.util.find_spec("jupyter_client") is None:
        return Finding("notebook kernel", "not installed", "python -m pip install 'sparsekit[lab]'")
    well, said = ask("from jupyter_client.kernelspec import KernelSpecManager\n"
                     "print(KernelSpecManager().get_kernel_spec('python3').display_name)")
    return Finding("notebook kernel", said if well else "no kernel named python3",
                   "" if well else "python -m ipykernel install --user")


def course_finding() -> Finding:
    """Find the course's notebooks, and which one ``sparsekit lab`` opens."""
    course = find_course()
    if course is None:
        return Finding("course", "not in this package, which was installed from a checkout",
                       "run `sparsekit lab` in the checkout, or pass --dir CHECKOUT/notebooks")
    folder, copied = course
    count = len(list(folder.glob("*.ipynb")))
    return Finding("course", f"{count} notebooks; `sparsekit lab` copies them to {COPY}" if copied else
                   f"{count} notebooks in {folder}; `sparsekit lab` opens {FIRST_NOTEBOOK}")


def find_chromium() -> str | None:
    """Find the Chromium for the browser tests: ``SPARSEKIT_CHROMIUM`` if set, else the first of ``BROWSERS`` on PATH."""
    asked = os.environ.get("SPARSEKIT_CHROMIUM")
    if asked:
        return shutil.which(asked)
    return next(filter(None, map(shutil.which, BROWSERS)), None)


def chromium_finding() -> Finding:
    """Test whether the browser tests can run."""
    path = find_chromium()
    return Finding("chromium", path or "not found; only the browser tests need it", "" if path else INSTALL_CHROMIUM)
