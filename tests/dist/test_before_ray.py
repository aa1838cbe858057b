"""Ray's processes start without a second of imports that nothing there uses."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

import sparsekit

BEFORE = str(Path(sparsekit.__file__).parent / "dist" / "before_ray")

LAZY = """
import os, sys
import rfc3987_syntax
from rfc3987_syntax import is_valid_syntax
assert "lark" not in sys.modules
assert os.environ["PYTHONPATH"] == "/elsewhere", os.environ["PYTHONPATH"]
assert not [place for place in sys.path if place.endswith("before_ray")]
assert is_valid_syntax("iri", "http://example.com/a") and not is_valid_syntax("iri", "a b")
assert "lark" in sys.modules
assert "before_ray" not in sys.modules["rfc3987_syntax"].__file__
assert rfc3987_syntax.is_valid_syntax_iri is sys.modules["rfc3987_syntax"].is_valid_syntax_iri
from rfc3987_syntax import is_valid_syntax
assert "before_ray" not in is_valid_syntax.__code__.co_filename
"""

MISSING = """
try:
    import rfc3987_syntax
except ModuleNotFoundError as error:
    assert error.name == "rfc3987_syntax"
else:
    raise AssertionError
"""


def run(program: str, *options: str) -> None:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([BEFORE, "/elsewhere"])}
    done = subprocess.run([sys.executable, *options, "-c", program], capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stderr


@pytest.mark.skipif(find_spec("rfc3987_syntax") is None, reason="the package is not installed")
def test_the_package_is_imported_when_it_is_called():
    run(LAZY)


def test_a_missing_package_is_missing_all_the_same():
    run(MISSING, "-S")
