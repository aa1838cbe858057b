"""Annotations say more from change to change: what stands for anything at all is counted, and the counts only fall."""

from __future__ import annotations

import collections
import io
import json
import subprocess
import sys
import tokenize
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parents[1] / "sparsekit"

#: Parameters and results that are ``Any``, by package, as ruff's ANN401 counts them.  To be lowered only; the sum is at most 300.
ANY = {
    "base": 16, "bench": 1, "compat": 26, "core": 41, "course": 4, "datasets": 3, "dist": 1, "docs": 2, "figures": 4, "fixes": 5,
    "gluon": 40, "initializer": 1, "io": 10, "kernels": 14, "metric": 2, "module": 5, "modules": 4, "ndarray": 53, "ops": 11,
    "optimizer": 16, "profiler": 20, "symbol": 15,
}

#: Lines of the packages that are to be strict where ``Any``, a bare ``object`` annotation, a cast or an ignored error has no
#: comment beside or above it that says why.  To be lowered only.
UNEXPLAINED = {
    "base": 0, "core": 0, "kernels": 0, "ops": 0, "optimizer": 0, "profiler": 0, "storage": 0,
}


def package_of(path: Path) -> str:
    parts = path.relative_to(PACKAGE).parts
    return parts[0] if len(parts) > 1 else "modules"


def counted() -> dict[str, int]:
    """Parameters and results that are ``Any``, by package."""
    done = subprocess.run([sys.executable, "-m", "ruff", "check", "--isolated", "--select", "ANN401", "--output-format", "json",
                           "--no-cache", "--exit-zero", "--exclude", ".git", str(PACKAGE)],  # not "dist", as by default
                          capture_output=True, text=True, timeout=400)
    assert done.returncode == 0, done.stderr
    return dict(collections.Counter(package_of(Path(found["filename"])) for found in json.loads(done.stdout)))


def unexplained(source: str) -> list[int]:
    """Lines of a module where something stands for anything, and no comment beside or above says why."""
    found, comments, imports = set(), set(), set()
    previous = ""
    tokens = list(tokenize.generate_tokens(io.StringIO(source).readline))
    for token, following in zip(tokens, [*tokens[1:], tokens[-1]], strict=True):
        line = token.start[0]
        if token.type == tokenize.COMMENT:
            if "type: ignore" in token.string and token.string.count("#") == 1:
                found.add(line)
            else:
                comments.add(line)
        elif token.type == tokenize.NAME:
            called = following.string == "("
            if token.line.lstrip().startswith(("from typing", "import typing")):
                imports.add(line)
            elif (token.string == "Any" or (token.string == "cast" and called and previous != ".")
                  or (token.string == "object" and not called and previous in (":", "->", "|", "[", ","))):
                found.add(line)
        previous = token.string
    return sorted(line for line in found - imports if not {line, line - 1} & comments)


@pytest.mark.parametrize("package", sorted(UNEXPLAINED))
def test_what_stands_for_anything_has_a_reason_more_often(package):
    found = {str(path.relative_to(PACKAGE)): len(unexplained(path.read_text(encoding="utf-8")))
             for path in sorted((PACKAGE / package).rglob("*.py"))}
    assert sum(found.values()) <= UNEXPLAINED[package], found


def test_no_package_has_more_parameters_that_are_anything():
    more = {package: (count, ANY.get(package, 0)) for package, count in counted().items() if count > ANY.get(package, 0)}
    assert not more, f"found and allowed, by package: {more}"


def test_what_is_unexplained_is_found():
    assert unexplained("x: Any = 1\n") == [1]
    assert unexplained("x: Any = 1  # Any: the user's own\n") == []
    assert unexplained("# Any: the user's own\nx: Any = 1\n") == []
    assert unexplained("def f(x: object) -> object:\n    return cast('int', x)  # type: ignore[no-any-return]\n") == [1, 2]
    assert unexplained("from typing import Any\nclass A(object):\n    pass\nx = 1, object()\n") == []
    assert unexplained("def f(self, cast: str) -> str:\n    return cast or self.cast('int8')\n") == []
