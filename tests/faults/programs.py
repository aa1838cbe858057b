"""Running a program in an interpreter of its own: a crash, an exhausted memory or a hang there is a result here."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import textwrap
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import sparsekit as mx

MIB = 1 << 20

#: Runs ``program.py`` of the folder given, under a limit of addresses, and leaves its peak of memory in ``peak``.
#: The peak is the kernel's VmHWM of this process: ``ru_maxrss`` would include the process that started it.
LAUNCHER = """
import atexit, resource, runpy, sys

def leave_peak(place=sys.argv[1] + "/peak"):
    with open("/proc/self/status") as status, open(place, "w") as file:
        file.write(next(line.split()[1] for line in status if line.startswith("VmHWM")))

folder, memory = sys.argv[1], int(sys.argv[2])
del sys.argv[1:3]
atexit.register(leave_peak)
if memory:
    resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
runpy.run_path(folder + "/program.py", run_name="__main__")
"""


class Done(NamedTuple):
    """What a program left.

    Attributes
    ----------
    returncode : int or None
        Negative for the signal that ended it, None if it ran out of time and was killed.
    stdout, stderr : str
    peak : int
        Most bytes of memory it held at a time; -1 if it did not end by itself.
    """

    returncode: int | None
    stdout: str
    stderr: str
    peak: int

    def check(self) -> str:
        """What was printed, if the program ended well; the error shows the ends of both streams."""
        assert self.returncode == 0, f"ended with {self.returncode}\n{self.stdout[-4000:]}\n{self.stderr[-4000:]}"
        return self.stdout


def run(text: str, *arguments: str, memory: int | None = None, env: Mapping[str, str | None] | None = None,
        timeout: float = 400, cwd: str | Path | None = None) -> Done:
    """Run the text of a program in a new interpreter.

    Parameters
    ----------
    text : str
        Python; indented as a whole if that reads better.
    *arguments : str
        ``sys.argv[1:]`` of the program.
    memory : int, optional
        Limit of its address space, in bytes.
    env : mapping, optional
        Changes of the environment; None takes a name out.
    timeout : float
        Seconds after which it is killed.
    cwd : path, optional
        Where it runs; a folder of its own by default.
    """
    package = str(Path(mx.__file__).parents[1])
    changed = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, [package, os.environ.get("PYTHONPATH")])), **(env or {})}
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        (place / "program.py").write_text(textwrap.dedent(text), encoding="utf-8")
        (place / "here").mkdir()
        try:
            done = subprocess.run([sys.executable, "-c", LAUNCHER, folder, str(memory or 0), *arguments], capture_output=True,
                                  text=True, errors="replace", timeout=timeout, check=False, cwd=cwd or place / "here",
                                  env={name: value for name, value in changed.items() if value is not None})
        except subprocess.TimeoutExpired as error:
            out, err = (part.decode("utf-8", "replace") if isinstance(part, bytes) else part or ""
                        for part in (error.stdout, error.stderr))
            return Done(None, out, err, -1)
        peak = place / "peak"
        size = int(peak.read_text(encoding="ascii")) * 1024 if peak.exists() else -1
        return Done(done.returncode, done.stdout, done.stderr, size)
