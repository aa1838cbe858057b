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
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import nbformat
import pytest

ROOT = Path(__file__).resolve().parents[1]

LARGEST = 1_000_000  # bytes of any file
#: Bytes of files that may be larger: the data set of the course.
LARGER = {"sparsekit/datasets/books.tsv": 2_000_000}

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


def test_there_is_something_to_check():
    assert len(MODULES) > 20
    assert ROOT / "README.md" in FILES


def test_no_file_names_a_folder_of_one_machine_or_is_marked_as_unfinished():
    found = [f"{named(path)}: {one.group()}" for path, text in texts() for pattern in (MACHINE_PATH, UNFINISHED)
             for one in pattern.finditer(text)]
    assert found == []


def test_no_two_modules_beside_tests_share_a_name():
    """Folders of tests that are no packages put themselves on the path: the module of one would be imported for the other's."""
    names = collections.Counter(path.name for path in (ROOT / "tests").rglob("*.py")
                                if not path.name.startswith("test_") and path.name != "conftest.py"
                                and not path.with_name("__init__.py").exists())
    assert [name for name, count in names.items() if count > 1] == []


def test_files_stay_small():
    large = {named(path): size for path in FILES if (size := path.stat().st_size) > LARGER.get(named(path), LARGEST)}
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


def swaps_a_class(node: ast.AST) -> bool:
    targets = node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AugAssign) else []
    return any(isinstance(part, ast.Attribute) and part.attr == "__class__" for target in targets for part in ast.walk(target))


def of_the_standard_library(modules: dict[str, str], node: ast.AST) -> bool:
    """Whether a private attribute of a module is asked for."""
    inner = node
    while isinstance(inner, ast.Attribute):
        inner = inner.value
    return (isinstance(node, ast.Attribute) and node.attr.startswith("_") and not node.attr.startswith("__")
            and isinstance(inner, ast.Name) and inner.id in modules and f"{modules[inner.id]}.{node.attr}" not in DOCUMENTED)


#: Names with an underscore in front that Python documents.
DOCUMENTED = {"os._exit", "sys._getframe", "sys._current_frames", "ssl._create_unverified_context"}
#: Where private names are used, each behind a list of versions that were checked, or only by type checkers.
BEHIND_A_LIST = {"sparsekit/base/signal_safe.py", "sparsekit/base/layout.py", "sparsekit/core/table/numpy_calls.py",
                 "sparsekit/cli.py", "sparsekit/core/function.py"}


def test_private_names_of_python_and_numpy_stay_behind_lists_of_versions(parsed):
    found = set()
    for path, nodes in parsed.items():
        imports = [node for node in nodes if isinstance(node, ast.Import)]
        imported = [node for node in nodes if isinstance(node, ast.ImportFrom) and not node.level and node.module != "__future__"]
        outside = sys.stdlib_module_names | {"numpy", "ray"}
        modules = {(alias.asname or alias.name).partition(".")[0]: alias.name for node in imports for alias in node.names
                   if alias.name.partition(".")[0] in outside}
        private = any(of_the_standard_library(modules, node) for node in nodes) or any(
            alias.name.startswith("_") and alias.name != "_thread" for node in imports for alias in node.names) or any(
            alias.name.startswith("_") for node in imported if (node.module or "").partition(".")[0] in outside
            for alias in node.names)
        if private and named(path).startswith("sparsekit/"):
            found.add(named(path))
    assert found <= BEHIND_A_LIST


#: The modules that may unpickle.  One reads compiled code, which is run in any case, from folders of kernels.  To the others come
#: messages from processes of their own job, of which Ray unpickles all else, or that ``try_fixes`` has started; none reads what a
#: user could have from elsewhere.
READS_CODE = {imports_pickle: {"sparsekit/kernels/cpu/kept.py", "sparsekit/dist/ray_cluster.py", "sparsekit/fixes/processes.py",
                               "sparsekit/fixes/runner.py", "sparsekit/fixes/send.py"}}


@pytest.mark.parametrize("unwanted", [raises_bare_not_implemented, imports_pickle, allows_pickle, swaps_a_class])
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


def test_rules_find_what_they_forbid():
    for text in ("/".join(("", "home", "ann", "data")), "see " + "/".join(("", "tmp", "x.json"))):
        assert MACHINE_PATH.search(text)
    for text in ("https://example.org/home/page", "network/work/flow", "/usr/bin/chromium"):
        assert not MACHINE_PATH.search(text)
    wrong = ("raise E(f'{rows!r} is no number of rows.')", "raise E(f'{what} are ' f'no texts.')",
             "raise E('fine', hint=f'{name} is none of them.')", "return base.RowIndexError(f'{what} is no position.')",
             "raise E('A layer of 0 units cannot be.')")
    right = ("raise E(expected('rows', 'an integer', rows), hint='there is no default.')", "raise E('rows cannot be negative')",
             "text = 'this is no error'")
    assert [source for source in wrong if not riddles(ast.walk(ast.parse(source)))] == []
    assert [source for source in right if riddles(ast.walk(ast.parse(source)))] == []


def test_every_module_says_what_it_is(parsed):
    assert [named(path) for path, nodes in parsed.items() if path.stat().st_size and not ast.get_docstring(nodes[0])] == []


def code_cells(path: Path) -> list[dict[str, Any]]:
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    return [cell for cell in cells if cell["cell_type"] == "code" and "".join(cell["source"]).strip()]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=named)
def test_notebooks_are_committed_as_run_from_top_to_bottom(path):
    cells = code_cells(path)
    assert [cell["execution_count"] for cell in cells] == list(range(1, len(cells) + 1))
    assert any(cell["outputs"] for cell in cells)
    for cell in cells:
        if "raises-exception" not in cell["metadata"].get("tags", ()):
            assert not [output["ename"] for output in cell["outputs"] if output["output_type"] == "error"]
    tool = runpy.run_path(str(ROOT / "tests" / "refresh_notebooks.py"))
    saved = nbformat.read(path, as_version=4)
    assert tool["normalise"](copy.deepcopy(saved)) == saved, "run `python tests/refresh_notebooks.py`"
