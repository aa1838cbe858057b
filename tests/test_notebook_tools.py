"""The tools around notebooks: their text form, and the measuring of what they take."""

from __future__ import annotations

import configparser
import re
import runpy
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest

pytestmark = pytest.mark.thorough

ROOT = Path(__file__).resolve().parents[1]
TEXT = runpy.run_path(str(ROOT / "tests" / "notebook_text.py"))
REFRESH = runpy.run_path(str(ROOT / "tests" / "refresh_notebooks.py"))


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


def test_a_refreshed_notebook_keeps_its_outputs_and_tags_and_loses_the_rest(tmp_path):
    live = {REFRESH["LIVE"]: {"model_id": "1"}, "text/html": "<p>picture</p>", "text/plain": "view"}
    source = "import warnings\nfrom IPython.display import display\nwarnings.warn('careful')\n"
    source += f"print(1, flush=True)\ndisplay({live!r}, raw=True)\nprint(2)"
    cell = nbformat.v4.new_code_cell(source, metadata={"tags": ["kept"], "collapsed": True})
    path = tmp_path / "made.ipynb"
    nbformat.write(nbformat.v4.new_notebook(cells=[cell], metadata={"widgets": {}}), path)
    REFRESH["refresh"](path)
    made = nbformat.read(path, as_version=4)
    found = {output.get("name", "shown"): output for output in made.cells[0].outputs}
    assert len(made.cells[0].outputs) == 3
    assert found["stderr"].text.startswith("cell:3: UserWarning: careful")
    assert found["stdout"].text == "1\n2\n"  # each stream is in one piece
    assert found["shown"].data == {"text/html": "<p>picture</p>", "text/plain": "view"}
    assert made.cells[0].metadata == {"tags": ["kept"]}
    assert "widgets" not in made.metadata
    assert [file.name for file in tmp_path.iterdir()] == ["made.ipynb"]


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
