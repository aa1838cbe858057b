"""Type checkers know what the library gives: stubs agree with the registry, and a user's program passes all checkers."""

from __future__ import annotations

import json
import keyword
import os
import re
import runpy
import subprocess
import sys
import types
from pathlib import Path
from typing import Any

import pytest

import sparsekit as mx
from sparsekit.core.op import registry

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
PROGRAM = HERE / "program.py"

#: Wrong lines, and what each checker says of them.
WRONG = {
    "mx.nd.dott(mx.nd.ones((2, 2)), mx.nd.ones((2, 2)))": "an operator that there is not",
    "mx.nd.dot(mx.nd.ones((2, 2)), mx.nd.ones((2, 2)), transpose_c=True)": "a parameter that there is not",
    "mx.nd.FullyConnected(mx.nd.ones((2, 2)), 'weight')": "text for an array",
    "mx.sym.FullyConnected(mx.nd.ones((2, 2)))": "an array for a symbol",
    "mx.nd.dot(mx.nd.ones((2, 2)), mx.nd.ones((2, 2))).indptr": "a member of csr arrays of a dense one",
    "mx.Profilr()": "a name that the library has not",
    "mx.gluon.loss.L3Loss()": "a loss that there is not",
    "mx.kv.create('local').pushes(1)": "a method that a store has not",
}


def checked(folder: Path, *command: str) -> str:
    """What a checker prints of a folder; it finds the library here."""
    places = {"PYTHONPATH": str(ROOT), "MYPYPATH": str(ROOT)}
    done = subprocess.run([sys.executable, "-m", *command], cwd=folder, env={**os.environ, **places}, capture_output=True,
                          text=True, timeout=400)
    assert done.returncode in (0, 1), done.stdout + done.stderr
    return done.stdout


#: The programs of the folder.
FILES = ("right.py", "wrong.py", "names.py")
#: The lines of the wrong one that are wrong: all but the first.
LINES = set(range(2, 2 + len(WRONG)))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a right program, a wrong one, and one that asks what each name of the library is."""
    place = tmp_path_factory.mktemp("typing")
    (place / "right.py").write_text(PROGRAM.read_text(encoding="utf-8"), encoding="utf-8")
    (place / "wrong.py").write_text("\n".join(["import sparsekit as mx", *WRONG]) + "\n", encoding="utf-8")
    (place / "names.py").write_text("import sparsekit as mx\n" + "".join(f"reveal_type({name})\n" for name in all_names()))
    return place


@pytest.fixture(scope="module")
def mypy(folder: Path) -> str:
    """What mypy says, strictly, of the three; errors of the library itself are left to the check of the library.

    Other packages than numpy are not read: no type of theirs is asked for.
    """
    (folder / "mypy.ini").write_text("[mypy]\nstrict = true\nfollow_imports = skip\nignore_missing_imports = true\n"
                                     "[mypy-sparsekit.*,numpy.*]\nfollow_imports = silent\n")
    return checked(folder, "mypy", "--config-file", "mypy.ini", "--no-error-summary", "--python-version", "3.11", *FILES)


def lines_of(said: str, name: str) -> set[int]:
    """Lines of a file that mypy or ty refuses."""
    return {int(line) for line in re.findall(rf"^{re.escape(name)}:(\d+):(?:\d+:)? error", said, re.MULTILINE)}


def test_the_stubs_are_what_the_registry_gives() -> None:
    """``python tests/stubs.py`` would change nothing."""
    program = runpy.run_path(str(ROOT / "tests" / "stubs.py"), run_name="stubs")
    for path, text in program["stubs"]().items():
        assert (ROOT / "sparsekit" / path).read_text(encoding="utf-8") == text, f"run `python tests/stubs.py`: {path} has changed"


@pytest.mark.parametrize("front", ["ndarray", "symbol"])
def test_every_operator_has_a_stub(front: str) -> None:
    """Every name of the registry is declared, with its parameters: in ``op`` and the front end, or in ``_internal``."""
    folder = ROOT / "sparsekit" / front
    found = {stem: set(re.findall(r"^def (\w+)\(", (folder / f"{stem}.pyi").read_text(encoding="utf-8"), re.MULTILINE))
             for stem in ("operators", "op", "_internal")}
    names = {one for one in registry if not keyword.iskeyword(one)}
    assert found["_internal"] == {one for one in names if one.startswith("_")}, "run `python tests/stubs.py`"
    assert found["operators"] | found["op"] >= {one for one in names if not one.startswith("_")}, "run `python tests/stubs.py`"


def test_the_program_runs(capsys: pytest.CaptureFixture[str]) -> None:
    """What the checkers are shown is right."""
    runpy.run_path(str(PROGRAM))
    assert "csr" in capsys.readouterr().out


def test_mypy_takes_the_program_and_refuses_wrong_lines(mypy: str) -> None:
    """Names are not taken for whatever they may be."""
    assert (lines_of(mypy, "right.py"), lines_of(mypy, "wrong.py")) == (set(), LINES)


def test_pyright_takes_the_program_and_refuses_wrong_lines(folder: Path) -> None:
    """As mypy does."""
    (folder / "pyrightconfig.json").write_text(json.dumps({"typeCheckingMode": "standard", "extraPaths": [str(ROOT)]}))
    said = json.loads(checked(folder, "basedpyright", "--outputjson", "--pythonpath", sys.executable, *FILES[:2]))
    found = [(Path(one["file"]).name, one["range"]["start"]["line"] + 1) for one in said["generalDiagnostics"]
             if one["severity"] == "error"]
    assert set(found) == {("wrong.py", line) for line in LINES}


def test_ty_takes_the_program_and_refuses_wrong_lines(folder: Path) -> None:
    """As mypy does."""
    said = checked(folder, "ty", "check", "--output-format", "concise", "--python", sys.prefix, "--extra-search-path", str(ROOT),
                   *FILES[:2])
    assert (lines_of(said, "right.py"), lines_of(said, "wrong.py")) == (set(), LINES)


#: Every name of these is tried: of some each that ``dir`` lists, as they make names on first use, of others those they export.
MODULES = ("mx", "mx.nd", "mx.nd.sparse", "mx.nd.linalg", "mx.nd.random", "mx.nd.contrib", "mx.nd.op", "mx.sym", "mx.sym.linalg",
           "mx.sym.contrib", "mx.sym.op", "mx.sym.sparse", "mx.gluon", "mx.gluon.nn", "mx.gluon.loss", "mx.module", "mx.model",
           "mx.dist", "mx.profiler", "mx.autograd", "mx.kv", "mx.metric", "mx.io")
EXPORTED = ("mx.sym.random", "mx.random", "mx.init", "mx.optimizer", "mx.lr_scheduler", "mx.callback", "mx.figures", "mx.course",
            "mx.figures.kit",
            "mx.gluon.rnn", "mx.gluon.data", "mx.gluon.utils", "mx.gluon.contrib.nn", "mx.gluon.contrib.rnn",
            "mx.gluon.contrib.estimator", "mx.test_utils", "mx.operator", "mx.engine", "mx.viz", "mx.context")

#: Members of these, by what gives an object of the class.
MEMBERS = ("mx.nd.ones((2, 2))", "mx.nd.sparse.csr_matrix((2, 2))", "mx.nd.sparse.zeros('row_sparse', (2, 2))", "mx.sym.var('a')")

#: What may be anything: a gradient is None or an array of any storage type, packages stand for themselves.
ANYTHING = {f"{one}.grad" for one in MEMBERS} | {"mx.test_utils.mx"}


def own_names(module: Any) -> list[str]:  # Any: a module, whose names are attributes
    """Public names of a module, without modules that others have loaded, and ``F``, which is for rules of gradients."""
    listed = getattr(module, "__all__", ())
    return [name for name in sorted(dir(module)) if not name.startswith("_") and name != "F" and (
        name in listed or not isinstance(getattr(module, name), types.ModuleType))]


def members(value: Any) -> list[str]:  # Any: an array or a symbol
    """Public members of an object's class, without those that only say that symbols lack them."""
    cls = type(value)
    return [name for name in own_names(cls) if getattr(cls, name).__doc__ != "Only arrays have it."]


def all_names() -> list[str]:
    """The names of the library as a program writes them, but for those that may be anything."""
    here = {"mx": mx}
    found = [f"{module}.{name}" for module in MODULES for name in own_names(eval(module, here))]
    found += [f"{module}.{name}" for module in EXPORTED for name in eval(module, here).__all__]
    found += [f"{one}.{name}" for one in MEMBERS for name in members(eval(one, here))]
    found += [f"mx.{front}._internal.{name}" for front in ("nd", "sym") for name in registry if name.startswith("_")]
    return [name for name in found if name not in ANYTHING]


def test_no_name_of_the_library_may_be_anything(mypy: str) -> None:
    """mypy knows a type for each name that a module or an array has, also for those that load when they are first used."""
    pattern = re.compile(r'^names\.py:(\d+): (?:note: Revealed type is|error:) "?(.*?)"?$', re.MULTILINE)
    said = dict(pattern.findall(mypy))
    unknown = [name for number, name in enumerate(all_names(), 2)
               if said.get(str(number)) in (None, "Any", "def (*Any, **Any) -> Any")
               or "no attribute" in said[str(number)] or "explicitly export" in said[str(number)]]
    assert unknown == []
