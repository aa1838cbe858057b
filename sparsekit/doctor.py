"""``sparsekit doctor``: what is installed, what is missing, and the remedy for each."""

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

from .base.environment import thread_count
from .base.machine import available_memory
from .base.version import __version__
from .kernels.cpu.kept import folders
from .lab import COPY, FIRST, find_course

__all__ = ["INSTALL_CHROMIUM", "Finding", "examine", "find_chromium", "main"]

#: Names that Chromium goes by, the preferred first.
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
        What was found, or why there is nothing.
    remedy : str
        Command or advice; empty when nothing is missing.
    needed : bool
        Whether sparsekit cannot work without it.
    """

    name: str
    value: str
    remedy: str = ""
    needed: bool = False


def main(argv: Sequence[str] | None = None) -> int:
    """Print the report; the status is 1 when something that sparsekit cannot do without is missing."""
    parser = argparse.ArgumentParser(prog="sparsekit doctor", description=__doc__)
    parser.parse_args(argv)
    findings = []
    for finding in examine():
        findings.append(finding)
        print(line(finding), flush=True)
    return int(any(finding.remedy and finding.needed for finding in findings))


def line(finding: Finding) -> str:
    """One finding as text; what is missing starts with ``!`` if needed, else with ``-``."""
    mark = "+" if not finding.remedy else "!" if finding.needed else "-"
    text = f"{mark} {finding.name:<22}{finding.value}"
    return f"{text}\n  {'':<22}{finding.remedy}" if finding.remedy else text


def examine() -> Iterator[Finding]:
    """Every finding, one at a time because some take seconds."""
    yield Finding("sparsekit", __version__)
    yield Finding("python", f"{platform.python_version()} on {platform.system()} {platform.machine()}")
    for package in ("numpy", "scipy", "numba"):
        yield package_finding(package, "python -m pip install --upgrade sparsekit", needed=True)
    yield kernels_finding()
    yield cache_finding()
    yield threads_finding()
    yield kernel_threads_finding()
    yield memory_finding()
    yield gpu_finding()
    for extra, packages in EXTRAS.items():
        for package in packages:
            yield package_finding(package, f"python -m pip install 'sparsekit[{extra}]'")
    yield kernelspec_finding()
    yield course_finding()
    yield chromium_finding()


def package_finding(name: str, remedy: str, needed: bool = False) -> Finding:
    """The version of an installed package, without importing it."""
    try:
        return Finding(name, importlib.metadata.version(name), needed=needed)
    except importlib.metadata.PackageNotFoundError:
        return Finding(name, "not installed", remedy, needed)


def ask(program: str, seconds: float = 120) -> tuple[bool, str]:
    """Run a few lines in a process of their own, which a broken driver may crash; (whether well, last line)."""
    try:
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=seconds)
    except subprocess.TimeoutExpired:
        return False, f"no answer in {seconds:g} s"
    said = (done.stdout if done.returncode == 0 else done.stderr).strip().splitlines()
    return done.returncode == 0, said[-1] if said else f"exit status {done.returncode}"


COMPILE = """
from sparsekit.kernels.cpu.group import unique_with_rank
import numpy
distinct, rank = unique_with_rank(numpy.array([5, 3, 5]))
print("compile and run" if distinct.tolist() == [3, 5] and rank.tolist() == [1, 0, 1] else 1 / 0)
"""


def kernels_finding() -> Finding:
    """Whether numba compiles one of our kernels here, and it computes the right thing."""
    well, said = ask(COMPILE)
    remedy = "python -m pip install --upgrade --force-reinstall numba; NUMBA_CACHE_DIR must name a writable folder"
    return Finding("kernels", said, "" if well else remedy, needed=True)


def cache_finding() -> Finding:
    """Whether compiled kernels can be kept, so that they are compiled once and not in every process."""
    asked, beside = os.environ.get("NUMBA_CACHE_DIR"), Path(__file__).parent
    for folder in folders():
        made = folder
        while not made.exists() and made.parent != made:
            made = made.parent  # what is missing is made when it is needed
        if os.access(made, os.W_OK):
            given = "NUMBA_CACHE_DIR" if asked and folder == Path(asked) else folder
            return Finding("compiled kernels", "kept beside the source" if beside in folder.parents else f"kept in {given}")
    return Finding("compiled kernels", "compiled again in every process", "set NUMBA_CACHE_DIR to a folder that you may write to")


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
    """numba's threading layer; sparsekit's own kernels use plain threads and do not depend on it."""
    well, said = ask(LAYER)
    return Finding("numba threading layer", said, "" if well else "only your own parallel numba code needs it")


def kernel_threads_finding() -> Finding:
    """The number of threads of large kernels, and whether the requested number is valid."""
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        count = thread_count()
    return Finding("threads", f"{count} for large kernels (SPARSEKIT_NUM_THREADS changes it)",
                   "; ".join(str(one.message) for one in said))


def memory_finding(free: int | None = None) -> Finding:
    """Memory that is free for use, in this machine and in the container around it."""
    free = available_memory() if free is None else free
    if free is None:
        return Finding("memory", "unknown on this system")
    few = "close something; the course's dense variants choose smaller sizes by themselves"
    return Finding("memory", f"{free / 2**30:.1f} GiB free", few if free < LOW_MEMORY else "")


GPU = """
import cupy
runtime = cupy.cuda.runtime
count = runtime.getDeviceCount()
name = runtime.getDeviceProperties(0)["name"].decode()
cupy.arange(8).sum().item()
print(f"{count} x {name}, CUDA {runtime.runtimeGetVersion() // 1000}, cupy {cupy.__version__}")
"""


def gpu_finding() -> Finding:
    """Whether cupy can compute on a GPU here."""
    hardware = shutil.which("nvidia-smi") is not None
    if importlib.util.find_spec("cupy") is None:
        remedy = "python -m pip install 'sparsekit[cuda13]' (or cuda12, as your driver has it)" if hardware else ""
        seen = "an NVIDIA driver is here, cupy is not" if hardware else "none; everything runs on the CPU"
        return Finding("gpu", seen, remedy)
    well, said = ask(GPU)
    remedy = "check `nvidia-smi`, and that the extra (cuda12, cuda13) fits the driver"
    return Finding("gpu", said, "" if well else remedy)


def kernelspec_finding() -> Finding:
    """Whether Jupyter finds a Python kernel to run notebooks with."""
    if importlib.util.find_spec("jupyter_client") is None:
        return Finding("notebook kernel", "not installed", "python -m pip install 'sparsekit[lab]'")
    well, said = ask("from jupyter_client.kernelspec import KernelSpecManager\n"
                     "print(KernelSpecManager().get_kernel_spec('python3').display_name)")
    return Finding("notebook kernel", said if well else "no kernel named python3",
                   "" if well else "python -m ipykernel install --user")


def course_finding() -> Finding:
    """Whether the course's notebooks are here, and which one ``sparsekit lab`` opens."""
    found = find_course()
    if found is None:
        return Finding("course", "this package was installed from a checkout, and does not bring it",
                       "run `sparsekit lab` in the checkout, or give --dir CHECKOUT/notebooks")
    folder, copied = found
    count = len(list(folder.glob("*.ipynb")))
    return Finding("course", f"{count} notebooks; `sparsekit lab` copies them to {COPY}" if copied else
                   f"{count} notebooks in {folder}; `sparsekit lab` opens {FIRST}")


def find_chromium() -> str | None:
    """Path of the Chromium that the browser tests drive: ``SPARSEKIT_CHROMIUM`` if set, else the first on PATH."""
    asked = os.environ.get("SPARSEKIT_CHROMIUM")
    if asked:
        return shutil.which(asked)
    return next(filter(None, map(shutil.which, BROWSERS)), None)


def chromium_finding() -> Finding:
    """Whether the browser tests can run."""
    found = find_chromium()
    return Finding("chromium", found or "not found; only the browser tests need it", "" if found else INSTALL_CHROMIUM)
