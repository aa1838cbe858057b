"""What Binder does with ``binder/``, done here: a new environment, as a user without privileges, the server, the first notebook.

repo2docker puts a Python of conda's below the same steps; here the Python that runs the tests takes its place.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
#: What mybinder.org lets one user have.
MEMORY = 2 * 1024**3
ASKED = os.environ.get("SPARSEKIT_REQUIRE_BINDER") == "1"

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(900),
    pytest.mark.skipif(not ASKED, reason="installs everything anew, in minutes: SPARSEKIT_REQUIRE_BINDER=1 asks for it"),
]


class Place:
    """A checkout and a home of a user's own, and how that user runs commands."""

    def __init__(self, folder: Path) -> None:
        self.home = folder / "home"
        self.checkout = self.home / "sparsekit"
        listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
        for name in listed.split("\0"):
            if name and (ROOT / name).is_file():
                (self.checkout / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(ROOT / name, self.checkout / name)
        self.user = 1000 if os.getuid() == 0 else os.getuid()   # 1000, as on Binder
        if os.getuid() == 0:
            self._hand_over(folder)
        self.environment = {
            "HOME": str(self.home), "LANG": "C.UTF-8", "PATH": f"{self.home}/environment/bin:/usr/local/bin:/usr/bin:/bin",
            "NB_USER": "jovyan", "PIP_DISABLE_PIP_VERSION_CHECK": "1", "PIP_PROGRESS_BAR": "off",
        }
        for name in ("PIP_INDEX_URL", "PIP_CONFIG_FILE", "SSL_CERT_FILE", "HTTPS_PROXY", "https_proxy", "NO_PROXY", "no_proxy"):
            if name in os.environ:
                self.environment[name] = os.environ[name]

    def _hand_over(self, folder: Path) -> None:
        folder.chmod(0o755)
        for path in (self.home, *self.home.rglob("*")):
            os.chown(path, self.user, self.user)

    def start(self, *command: str, **options: object) -> subprocess.Popen[str]:   # object: options of Popen
        account = {"user": self.user, "group": self.user, "extra_groups": []} if os.getuid() == 0 else {}
        return subprocess.Popen(command, cwd=self.checkout, env=self.environment, text=True, stdout=subprocess.PIPE,
                                stderr=subprocess.STDOUT, start_new_session=True, **account, **options)

    def python(self) -> str:
        """The Python that runs the tests, or a copy of it where it lies in a folder that is closed to other users."""
        python = os.path.realpath(sys.executable)
        with contextlib.suppress(PermissionError):
            self.start(python, "-c", "").communicate()
            return python
        copied = self.home / "python"
        shutil.copytree(sys.base_prefix, copied, symlinks=True, ignore=shutil.ignore_patterns("test", "*.a", "site-packages"))
        (copied / os.path.relpath(os.__file__, sys.base_prefix)).with_name("site-packages").mkdir()
        self.environment["LD_LIBRARY_PATH"] = str(copied / "lib")   # where its own libpython is, if it has one
        return str(copied / os.path.relpath(python, sys.base_prefix))

    def run(self, *command: str) -> str:
        process = self.start(*command)
        said, _ = process.communicate(timeout=600)
        assert process.returncode == 0, f"{' '.join(command)}\n{said[-4000:]}"
        return said


@pytest.fixture(scope="module")
def folder() -> Iterator[Path]:
    """A folder that another user may enter, unlike those that pytest makes."""
    with tempfile.TemporaryDirectory() as made:
        yield Path(made)


@pytest.fixture(scope="module")
def place(folder: Path) -> Place:
    """The environment that Binder would build: requirements.txt, then postBuild."""
    place = Place(folder)
    place.run(place.python(), "-m", "venv", f"{place.home}/environment")
    place.run("python", "-m", "pip", "install", "--requirement", "binder/requirements.txt")
    place.said = place.run("binder/postBuild")
    return place


class Memory(threading.Thread):
    """The most memory that some processes and those below them took at one time, shared pages counted once."""

    def __init__(self, *processes: int) -> None:
        super().__init__(daemon=True)
        self.processes, self.most, self.ended = list(processes), 0, threading.Event()

    def run(self) -> None:
        while not self.ended.wait(0.1):
            self.most = max(self.most, sum(map(self._of, self._family())))

    def _family(self) -> list[int]:
        parents: dict[int, list[int]] = {}
        for path in Path("/proc").glob("[0-9]*/stat"):
            with contextlib.suppress(OSError):
                state = path.read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
                parents.setdefault(int(state[1]), []).append(int(path.parent.name))
        found = list(self.processes)
        for process in found:   # which grows
            found += parents.get(process, [])
        return found

    @staticmethod
    def _of(process: int) -> int:
        try:
            text = Path(f"/proc/{process}/smaps_rollup").read_text(encoding="utf-8")
        except OSError:
            return 0
        return 1024 * sum(map(int, re.findall(r"^Pss:\s+(\d+) kB", text, re.MULTILINE)))


@pytest.fixture
def server(place: Place) -> Iterator[tuple[str, Memory]]:
    """JupyterLab, by the script ``start``; its address."""
    process = place.start("binder/start", "jupyter", "lab", "--ip=127.0.0.1", "--port=0", "--no-browser",
                          "--ServerApp.base_url=/user/me/", "--IdentityProvider.token=abc")
    memory = Memory(process.pid)
    memory.start()
    try:
        address, reader = _address(process)
        yield address, memory
    finally:
        memory.ended.set()
        os.killpg(process.pid, signal.SIGKILL)
        process.wait(timeout=400)
    reader.join(timeout=400)
    process.stdout.close()


def _address(process: subprocess.Popen[str]) -> tuple[str, threading.Thread]:
    said = ""
    for line in process.stdout:
        said += line
        if found := re.search(r"(http://127\.0\.0\.1:\d+/user/me/)", line):
            reader = threading.Thread(target=process.stdout.read, daemon=True)   # or a full pipe stops it
            reader.start()
            return found.group(1), reader
    raise AssertionError(said)


def _get(address: str, path: str) -> tuple[str, str]:
    request = urllib.request.Request(address + path, headers={"Authorization": "token abc"})
    for _ in range(100):
        try:
            with urllib.request.urlopen(request, timeout=30) as answer:
                return answer.geturl(), answer.read().decode()
        except urllib.error.URLError:
            time.sleep(0.1)
    raise AssertionError(f"{address}{path} does not answer")


def test_it_is_built_by_a_user_without_privileges(place):
    assert place.user != 0
    assert re.search(r"^[1-9]\d* kernels compiled$", place.said, re.MULTILINE)
    compiled = list((place.checkout / ".numba_cache").rglob("*.nbc"))
    assert {path.stat().st_uid for path in compiled} == {place.user}


def test_the_start_page_answers_and_runs_within_the_memory(place, server):
    address, memory = server
    at, page = _get(address, "")
    assert at.endswith("/lab/tree/notebooks/00_start_here.ipynb"), at
    assert "<title>JupyterLab</title>" in page
    contents = json.loads(_get(address, "api/contents/notebooks/00_start_here.ipynb")[1])
    assert contents["type"] == "notebook"
    running = place.start("binder/start", "jupyter", "nbconvert", "--to", "notebook", "--execute",
                          "--output-dir", str(place.home / "ran"), "notebooks/00_start_here.ipynb")
    memory.processes.append(running.pid)
    said, _ = running.communicate(timeout=400)
    assert running.returncode == 0, said[-4000:]
    ran = json.loads((place.home / "ran" / "00_start_here.ipynb").read_text(encoding="utf-8"))
    outputs = [output for cell in ran["cells"] for output in cell.get("outputs", ())]
    assert outputs
    assert not any(output["output_type"] == "error" for output in outputs)
    print(f"JupyterLab and the notebook take {memory.most / 1e6:.0f} MB")
    assert 2e8 < memory.most < MEMORY   # less was not measured
