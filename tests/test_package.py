"""What is built and installed: the wheel, the source archive, the metadata, the first commands of the README."""

from __future__ import annotations

import email
import itertools
import os
import re
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest

from sparsekit.base.version import __version__

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "sparsekit"

USE = "python -m pip install -e \".[lab]\" && sparsekit demo"
TEST = "python -m pip install -e \".[lab,test]\" && python -m pytest"


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """Folder with a wheel and a source archive, built without network."""
    folder = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-m", "hatchling", "build", "--directory", str(folder)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


@pytest.fixture(scope="module")
def wheel(built):
    return next(built.glob("*.whl"))


def test_the_wheel_holds_the_package_and_only_it(wheel):
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
    assert {name.partition("/")[0] for name in names} == {"sparsekit", f"sparsekit-{__version__}.dist-info"}
    shipped = {"py.typed", *(f"widgets/static/{path.name}" for path in (PACKAGE / "widgets" / "static").iterdir())}
    assert len(shipped) > 3
    assert {f"sparsekit/{name}" for name in shipped} <= names
    modules = {path.relative_to(ROOT).as_posix() for path in PACKAGE.rglob("*.py")}
    assert modules <= names


def test_the_wheel_says_what_it_needs(wheel):
    with zipfile.ZipFile(wheel) as archive:
        told = email.message_from_bytes(archive.read(f"sparsekit-{__version__}.dist-info/METADATA"))
        scripts = archive.read(f"sparsekit-{__version__}.dist-info/entry_points.txt").decode()
    always = {re.match(r"[\w-]+", line).group() for line in told.get_all("Requires-Dist") if "extra ==" not in line}
    assert always == {"numpy", "scipy", "numba"}
    assert set(told.get_all("Provides-Extra")) == {"lab", "docs", "test", "cuda12", "cuda13"}
    assert told["Requires-Python"] == ">=3.11"
    assert told["License-Expression"] == "Apache-2.0"
    assert "sparsekit = sparsekit.cli:main" in scripts


def test_the_installed_wheel_works_away_from_the_checkout(wheel, tmp_path):
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index", "--no-compile",
               "--disable-pip-version-check", "--target", str(tmp_path / "site"), str(wheel)]
    subprocess.run(command, check=True, capture_output=True, timeout=120)
    program = (
        "import sparsekit as mx, pathlib, sparsekit.widgets\n"
        "print(pathlib.Path(mx.__file__).parents[1].name, mx.__version__, mx.nd.ones((2, 2)).asnumpy().sum())\n"
        "assert (pathlib.Path(mx.__file__).parent / 'widgets' / 'static').is_dir()"
    )
    environment = {**os.environ, "PYTHONPATH": str(tmp_path / "site"), "PYTHONSAFEPATH": "1"}
    done = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, env=environment, capture_output=True,
                          text=True, timeout=120)
    assert done.stdout == f"site {__version__} 4.0\n", done.stderr


def test_the_source_archive_is_small_and_can_run_the_tests(built):
    path = next(built.glob("*.tar.gz"))
    assert path.stat().st_size < 3_000_000
    with tarfile.open(path) as archive:
        names = {name.removeprefix(f"sparsekit-{__version__}/") for name in archive.getnames()}
    assert {"pyproject.toml", "README.md", "LICENSE", "conftest.py", "tests/nbval_sanitize.cfg"} <= names
    assert "tests/test_package.py" in names


def test_the_version_is_one():
    import sparsekit

    assert sparsekit.__version__ == __version__
    changes = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert f"## [{__version__}]" in changes or "## [Unreleased]" in changes


def test_readme_and_ci_give_the_commands_as_they_are():
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert USE in readme
    assert TEST in readme
    ci = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    assert TEST in ci
    assert os.access(ROOT / ".ci" / "run", os.X_OK)


def test_every_link_of_the_readmes_leads_somewhere():
    for readme in (ROOT / "README.md", PACKAGE / "README.md"):
        links = re.findall(r"\]\(([^)#]+)[^)]*\)|<img[^>]* src=\"([^\"]+)\"", readme.read_text(encoding="utf-8"))
        local = [link for pair in links for link in pair if link and not link.startswith(("http", "mailto"))]
        assert local
        for link in local:
            assert (readme.parent / link).exists(), f"{readme.name}: {link}"


def test_warnings_are_errors_and_exceptions_are_explained():
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    options = tomllib.loads(text)["tool"]["pytest"]["ini_options"]
    assert options["filterwarnings"][0] == "error"
    assert options["xfail_strict"] is True
    assert "--strict-markers" in options["addopts"]
    block = text[text.index("filterwarnings = [") :].splitlines()
    for before, line in itertools.pairwise(block):
        if line.strip().startswith('"ignore'):
            assert before.strip().startswith("#"), f"say why: {line.strip()}"
