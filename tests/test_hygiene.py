"""What every committed file keeps to, whoever wrote it."""

from __future__ import annotations

import ast
import collections
import copy
import json
import re
import runpy
import shutil
import subprocess
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import nbformat
import pytest

ROOT = Path(__file__).resolve().parents[1]

LARGEST = 1_000_000  # bytes of any file

#: Folders of one machine, which no file for others should name; put together so that this file does not either.
FOLDERS = ("home", "Users", "root", "work", "opt", "mnt", "tmp")
MACHINE_PATH = re.compile(r"(?<![\w.:*~])/(?:" + "|".join(FOLDERS) + r")/\w")

UNFINISHED = re.compile(r"\b(?:" + "|".join(("TO" + "DO", "FIX" + "ME", "X" + "XX")) + r")\b")


def committed() -> list[Path]:
    """Files that are or could be committed; without git, every file outside hidden and generated folders."""
    if (ROOT / ".git").exists() and shutil.which("git"):
        command = ["git", "-c", "safe.directory=*", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
        listed = subprocess.run(command, cwd=ROOT, capture_output=True, check=True, text=True).stdout
        return sorted(path for name in listed.split("\0") if name and (path := ROOT / name).is_file())
    passed_by = re.compile(r"(^|/)(\.[^/]+|__pycache__|artefacts)(/|$)")
    return sorted(
        path
        for path in ROOT.rglob("*")
        if path.is_file() and not passed_by.search(path.relative_to(ROOT).as_posix())
    )


FILES = committed()
MODULES = [path for path in FILES if path.suffix == ".py" and ROOT / "sparsekit" in path.parents]
NOTEBOOKS = [path for path in FILES if path.suffix == ".ipynb"]


def named(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def texts() -> Iterator[tuple[Path, str]]:
    """Every committed text file; what is not UTF-8 is taken for binary."""
    for path in FILES:
        try:
            yield path, path.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue


def lines_with(pattern: re.Pattern[str]) -> list[str]:
    return [
        f"{named(path)}:{number}: {found.group()}"
        for path, text in texts()
        for number, line in enumerate(text.splitlines(), 1)
        if (found := pattern.search(line))
    ]


def test_there_is_something_to_check():
    assert len(MODULES) > 20
    assert ROOT / "README.md" in FILES


def test_no_file_names_a_folder_of_one_machine():
    assert lines_with(MACHINE_PATH) == []


def test_nothing_is_left_marked_as_unfinished():
    assert lines_with(UNFINISHED) == []


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("/".join(("", "home", "ann", "data")), True),
        ("see " + "/".join(("", "tmp", "x.json")), True),
        ("https://example.org/home/page", False),
        ("network/work/flow", False),
        ("/usr/bin/chromium", False),
    ],
)
def test_folders_of_one_machine_are_recognised(text, found):
    assert bool(MACHINE_PATH.search(text)) == found


def test_no_two_modules_beside_tests_share_a_name():
    """Folders of tests that are no packages put themselves on the path: the module of one would be imported for the other's."""
    names = collections.Counter(path.name for path in (ROOT / "tests").rglob("*.py")
                                if not path.name.startswith("test_") and path.name != "conftest.py"
                                and not path.with_name("__init__.py").exists())
    assert [name for name, count in names.items() if count > 1] == []


def test_files_stay_small():
    large = {named(path): size for path in FILES if (size := path.stat().st_size) > LARGEST}
    assert large == {}


@pytest.fixture(scope="module")
def parsed() -> dict[Path, list[ast.AST]]:
    """The nodes of every module, itself first; read once for all rules."""
    return {path: list(ast.walk(ast.parse(path.read_text(encoding="utf-8")))) for path in MODULES}


def raises_bare_not_implemented(node: ast.AST) -> bool:
    raised = node.exc if isinstance(node, ast.Raise) else None
    raised = raised.func if isinstance(raised, ast.Call) else raised
    return isinstance(raised, ast.Name) and raised.id == "NotImplementedError"


def imports_pickle(node: ast.AST) -> bool:
    names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
    names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
    return any(name.partition(".")[0] in ("pickle", "cloudpickle", "dill", "marshal", "shelve") for name in names)


def allows_pickle(node: ast.AST) -> bool:
    return isinstance(node, ast.keyword) and node.arg == "allow_pickle" and getattr(node.value, "value", None) is True


#: The modules that may unpickle.  One reads compiled code, which is run in any case, from folders of kernels.  To the other come
#: messages from processes of its own job, of which Ray unpickles all else; neither reads what a user could have from elsewhere.
READS_CODE = {imports_pickle: {"sparsekit/kernels/cpu/kept.py", "sparsekit/dist/ray_cluster.py"}}


@pytest.mark.parametrize("unwanted", [raises_bare_not_implemented, imports_pickle, allows_pickle])
def test_modules_do_not_hold(parsed, unwanted):
    found = [f"{named(path)}:{node.lineno}" for path, nodes in parsed.items() for node in nodes
             if unwanted(node) and named(path) not in READS_CODE.get(unwanted, ())]
    assert found == []


def texts_of_errors(node: ast.AST) -> str:
    """The literal text of an error, its hint included; each value that is put in stands as ``{}``."""
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, str) else ""
    if isinstance(node, ast.JoinedStr):
        return "".join(texts_of_errors(part) or "{}" for part in node.values)
    return "\n".join(filter(None, map(texts_of_errors, ast.iter_child_nodes(node))))


#: "2.5 is no number of rows", "A layer of 0 units cannot be.": riddles, where "rows must be an integer, got 2.5" is a claim.
RIDDLE = re.compile(r"(?<!here )\b(?:is|are|was|were) (?:no|none)\b(?! longer\b| more\b)|\bcannot be\.", re.IGNORECASE)


def makes_error(node: ast.AST) -> bool:
    """Whether an error is raised, or made to be raised elsewhere."""
    name = getattr(node.func, "id", getattr(node.func, "attr", "")) if isinstance(node, ast.Call) else ""
    return (isinstance(node, ast.Raise) and node.exc is not None) or name.endswith("Error")


def riddles(nodes: Iterable[ast.AST]) -> list[str]:
    errors = filter(makes_error, nodes)
    return sorted({f"{node.lineno}: {found.group()}" for node in errors if (found := RIDDLE.search(texts_of_errors(node)))})


def test_messages_of_errors_say_what_was_expected(parsed):
    assert {named(path): found for path, nodes in parsed.items() if (found := riddles(nodes))} == {}


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("raise E(f'{rows!r} is no number of rows.')", True),
        ("raise E(f'{what} are ' f'no texts.')", True),
        ("raise E('fine', hint=f'{name} is none of them.')", True),
        ("raise self.wrong('it is no object', place) from None", True),
        ("return base.RowIndexError(f'{what}: {value} is no position.')", True),
        ("raise E('A layer of 0 units cannot be.')", True),
        ("raise E(expected('rows', 'an integer', rows), hint='there is no default.')", False),
        ("raise E('There are no rows.')", False),
        ("raise E('rows cannot be negative')", False),
        ("text = 'this is no error'", False),
    ],
)
def test_riddles_are_recognised(source, found):
    assert bool(riddles(ast.walk(ast.parse(source)))) == found


def test_every_module_says_what_it_is(parsed):
    assert [named(path) for path, nodes in parsed.items() if path.stat().st_size and not ast.get_docstring(nodes[0])] == []


def code_cells(path: Path) -> list[dict[str, Any]]:
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    return [cell for cell in cells if cell["cell_type"] == "code" and "".join(cell["source"]).strip()]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=named)
def test_notebooks_are_committed_as_run_from_top_to_bottom(path):
    counts = [cell["execution_count"] for cell in code_cells(path)]
    assert counts == list(range(1, len(counts) + 1))
    assert any(cell["outputs"] for cell in code_cells(path))


@pytest.mark.parametrize("path", NOTEBOOKS, ids=named)
def test_notebooks_hold_no_unexpected_error(path):
    for cell in code_cells(path):
        if "raises-exception" not in cell["metadata"].get("tags", ()):
            assert not [output["ename"] for output in cell["outputs"] if output["output_type"] == "error"]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=named)
def test_notebooks_hold_nothing_of_one_run(path):
    tool = runpy.run_path(str(ROOT / "tests" / "refresh_notebooks.py"))
    saved = nbformat.read(path, as_version=4)
    assert tool["normalise"](copy.deepcopy(saved)) == saved, "run `python tests/refresh_notebooks.py`"


def test_a_refreshed_notebook_keeps_its_outputs_and_tags_and_loses_the_rest(tmp_path):
    tool = runpy.run_path(str(ROOT / "tests" / "refresh_notebooks.py"))
    live = {tool["LIVE"]: {"model_id": "1"}, "text/html": "<p>picture</p>", "text/plain": "view"}
    source = "import warnings\nfrom IPython.display import display\nwarnings.warn('careful')\n"
    source += f"display({live!r}, raw=True)"
    cell = nbformat.v4.new_code_cell(source, metadata={"tags": ["kept"], "collapsed": True})
    path = tmp_path / "made.ipynb"
    nbformat.write(nbformat.v4.new_notebook(cells=[cell], metadata={"widgets": {}}), path)
    tool["refresh"](path)
    made = nbformat.read(path, as_version=4)
    warning, shown = made.cells[0].outputs
    assert warning.text.startswith("cell:3: UserWarning: careful")
    assert shown.data == {"text/html": "<p>picture</p>", "text/plain": "view"}
    assert made.cells[0].metadata == {"tags": ["kept"]}
    assert "widgets" not in made.metadata
    assert [file.name for file in tmp_path.iterdir()] == ["made.ipynb"]


def test_a_refreshed_notebook_has_each_stream_in_one_piece():
    tool = runpy.run_path(str(ROOT / "tests" / "refresh_notebooks.py"))

    def stream(name, text):
        return nbformat.v4.new_output("stream", name=name, text=text)

    shown = nbformat.v4.new_output("display_data", data={"text/plain": "shown"})
    cell = nbformat.v4.new_code_cell("", outputs=[stream("stdout", "1\n"), stream("stderr", "x"), stream("stdout", "2\n"),
                                                  shown, stream("stdout", "3\n")])
    made = tool["normalise"](nbformat.v4.new_notebook(cells=[cell])).cells[0].outputs
    assert [output.get("text", "") for output in made] == ["1\n2\n3\n", "x", ""]
