"""The tools around notebooks: their text form, and the measuring of what they take."""

from __future__ import annotations

import configparser
import os
import re
import runpy
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest

pytestmark = pytest.mark.thorough

ROOT = Path(__file__).resolve().parents[1]
COSTS = runpy.run_path(str(ROOT / "tests" / "notebook_costs.py"))
TEXT = runpy.run_path(str(ROOT / "tests" / "notebook_text.py"))


def test_the_text_form_holds_what_people_wrote_and_what_it_printed(tmp_path):
    picture = nbformat.v4.new_output("display_data", data={"text/plain": "finding", "text/html": "<img src='data:…'>"})
    cells = [nbformat.v4.new_markdown_cell("# Title"), nbformat.v4.new_code_cell("1 + 1", outputs=[picture]),
             nbformat.v4.new_code_cell("time()", outputs=[picture], metadata={"tags": ["nbval-ignore-output"]})]
    path = tmp_path / "made.ipynb"
    nbformat.write(nbformat.v4.new_notebook(cells=cells), path)
    assert TEXT["text_of"](path).splitlines() == [
        "# --- 00 markdown", "# Title", "", "# --- 01 code", "1 + 1", "#> finding", "",
        "# --- 02 code nbval-ignore-output", "time()", ""]


def test_sanitizers_take_long_pictures():
    """A regular expression that begins anywhere in a run of letters took 40 s for 100 kB of a picture: for 1 MB, an hour."""
    found = configparser.RawConfigParser()
    found.read(ROOT / "tests" / "nbval_sanitize.cfg")
    patterns = {name: found[name]["regex"] for name in found.sections()}
    assert len(patterns) > 5
    picture = f'<img src="data:image/svg+xml;charset=utf-8,{"%3Crect%20x=%22aB3/12%22/%3E" * 40_000}">'
    for name, pattern in patterns.items():
        assert len(re.sub(pattern, "", picture)) > 0, name
    place = re.compile(patterns["the temporary file that a cell is compiled as"])
    assert place.sub("CELL", 'File "there/ipykernel_12/34.py", line 1') == 'File "CELL", line 1'


def test_git_compares_notebooks_as_text():
    assert "*.ipynb diff=notebook" in (ROOT / ".gitattributes").read_text(encoding="utf-8")
    done = subprocess.run([sys.executable, "tests/notebook_text.py", "notebooks/01_csr.ipynb"], cwd=ROOT, text=True,
                          capture_output=True, check=True)
    assert done.stdout.startswith("# --- 00 markdown\n# CSR")
    assert "svg+xml" not in done.stdout


def test_the_memory_of_a_process_is_found(tmp_path):
    (tmp_path / "7").mkdir()
    (tmp_path / "7" / "status").write_text("Name:\tpython\nVmHWM:\t    2000 kB\n", encoding="ascii")
    assert COSTS["peak_bytes"](7, tmp_path) == 2_048_000
    assert COSTS["peak_bytes"](8, tmp_path) is None
    if sys.platform == "linux":
        assert COSTS["peak_bytes"](os.getpid()) > 10_000_000


def test_the_processor_time_of_a_process_is_found(tmp_path):
    """Its own, in user code and the kernel, and its children's; the name may hold spaces and parentheses."""
    (tmp_path / "7").mkdir()
    fields = ["S", *"12345678", "9", "10", "100", "20", "300", "5000", "99"]
    (tmp_path / "7" / "stat").write_text(f"7 (a) b (c)) {' '.join(fields)}\n", encoding="ascii")
    assert COSTS["processor_seconds"](7, tmp_path) == 5420 / os.sysconf("SC_CLK_TCK")
    assert COSTS["processor_seconds"](8, tmp_path) is None


@pytest.mark.parametrize(
    ("seconds", "size", "said"),
    [(10, 10**9, ""), (61, 10**9, "61 s of processor time, at most 60 s"), (10, 1_600_000_000, "1.60 GB, at most 1.50 GB"),
     (10, None, ""), (None, None, "")],
)
def test_limits(seconds, size, said):
    assert COSTS["too_much"](COSTS["Cost"](seconds, size)) == said


PROGRAM = "sum(range(10**7))\nkept = bytearray(200_000_000)"


@pytest.mark.parametrize(("limit", "failed"), [("BYTES = 100_000_000", 1), ("BYTES = 2_000_000_000", 0), ("SECONDS = 0.1", 1)])
def test_a_notebook_that_takes_too_much_fails_at_its_last_cell(tmp_path, limit, failed):
    cells = [nbformat.v4.new_code_cell(source) for source in (PROGRAM, "1 + 1")]
    for number, cell in enumerate(cells, 1):
        cell.execution_count = number
    cells[1].outputs = [nbformat.v4.new_output("execute_result", data={"text/plain": "2"}, execution_count=2)]
    notebook = nbformat.v4.new_notebook(cells=cells)
    notebook.metadata.kernelspec = {"name": "python3", "display_name": "Python 3", "language": "python"}
    nbformat.write(notebook, tmp_path / "made.ipynb")
    (tmp_path / "conftest.py").write_text(
        f"import sys\nsys.path.insert(0, {str(ROOT / 'tests')!r})\nimport notebook_costs\n"
        f"notebook_costs.{limit}\n\n\ndef pytest_configure(config):\n    config.pluginmanager.register(notebook_costs.Costs())\n",
        encoding="utf-8")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--nbval", "--nbval-current-env", "made.ipynb"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=400)
    assert done.returncode == failed, done.stdout + done.stderr
    assert ("takes too much" in done.stdout) == bool(failed)
    assert "made.ipynb" in done.stdout.partition("notebooks: at most")[2]
