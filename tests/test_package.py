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
import venv
import zipfile
from pathlib import Path

import pytest

from sparsekit.base.version import __version__

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "sparsekit"

ALONE = "python3 -m venv .venv && . .venv/bin/activate && "
USE = ALONE + 'pip install -e ".[lab]" && sparsekit demo'
TEST = ALONE + 'pip install -e ".[lab,test]" && python -m pytest -n 2'


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """Folder with a wheel and a source archive, built without network."""
    folder = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-m", "hatchling", "build", "--directory", str(folder)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=400)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


@pytest.fixture(scope="module")
def wheel(built):
    return next(built.glob("*.whl"))


def read(wheel, name):
    with zipfile.ZipFile(wheel) as archive:
        return archive.read(f"sparsekit-{__version__}.dist-info/{name}").decode()


def test_the_wheel_is_small_and_holds_the_package_and_only_it(wheel):
    assert wheel.stat().st_size < 3_500_000
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
    assert {name.partition("/")[0] for name in names} == {
        "sparsekit", "pytest_sparsekit.py", f"sparsekit-{__version__}.dist-info"}
    front = [path for kind in ("js", "css") for path in PACKAGE.rglob(f"*.{kind}")]
    shipped = {"py.typed", "datasets/books.tsv", *(path.relative_to(PACKAGE).as_posix() for path in front)}
    shipped |= {path.relative_to(PACKAGE).as_posix() for path in (PACKAGE / "course" / "questions").iterdir()}
    shipped.add("course/jupyter/labconfig/default_setting_overrides.json")
    assert len(shipped) > 15
    assert {f"sparsekit/{name}" for name in shipped} <= names
    assert {path.relative_to(ROOT).as_posix() for path in PACKAGE.rglob("*.py") if path.parent.name != "plugin"} <= names


def test_the_wheel_says_what_it_needs(wheel):
    told = email.message_from_string(read(wheel, "METADATA"))
    always = [line for line in told.get_all("Requires-Dist") if "extra ==" not in line]
    assert {re.match(r"[\w-]+", line).group() for line in always} == {"filelock", "numpy", "scipy", "numba"}
    numba, = [line for line in always if line.startswith("numba")]
    assert re.fullmatch(r"numba>=[\d.]+; sys_platform != ['\"]emscripten['\"]", numba), "wherever it installs"
    assert set(told.get_all("Provides-Extra")) == {
        "lab", "sklearn", "dist", "docs", "test", "torch", "tensorboard", "cuda12", "cuda13"}
    assert (told["Requires-Python"], told["License-Expression"]) == (">=3.11", "Apache-2.0")
    assert "sparsekit = sparsekit.cli:main" in read(wheel, "entry_points.txt")


@pytest.fixture(scope="module")
def installed(wheel, tmp_path_factory):
    """The folder with the commands of an environment that has the wheel, and nothing of the checkout."""
    place = tmp_path_factory.mktemp("installed") / "venv"
    venv.create(place, with_pip=False)
    site = next((place / "lib").glob("python3*")) / "site-packages"
    subprocess.run([sys.executable, "-m", "pip", "--python", str(place / "bin" / "python"), "install", "--quiet", "--no-deps",
                    "--no-index", "--disable-pip-version-check", str(wheel)], check=True, capture_output=True, timeout=400)
    # What it needs is there already.  Paths in .pth files bring no .pth files of their own, such as the checkout's.
    (site / "others.pth").write_text("\n".join(path for path in sys.path if path.endswith("-packages")))
    return place / "bin"


@pytest.fixture
def at_home(installed, tmp_path):
    """``run(command, *words)`` in an empty folder, without the checkout and without what was compiled there."""
    environment = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "VIRTUAL_ENV")}
    environment |= {"HOME": str(tmp_path), "PATH": f"{installed}{os.pathsep}{os.environ['PATH']}"}

    def run(*words, status=0):
        done = subprocess.run(words, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=400)
        assert done.returncode == status, done.stdout + done.stderr
        return done.stdout + done.stderr

    return run


def test_the_installed_wheel_is_what_runs(at_home, installed):
    said = at_home("python", "-c", "import sparsekit as mx; print(mx.__file__, mx.__version__, mx.nd.ones(4).sum().asscalar())")
    assert said.startswith(str(installed.parent))
    assert said.endswith(f"{__version__} 4.0\n")
    assert at_home("sparsekit", "--version") == f"sparsekit {__version__}\n"


@pytest.mark.thorough
def test_the_installed_wheel_profiles_views_and_compares(at_home, tmp_path):
    (tmp_path / "train.py").write_text(
        "import sparsekit as mx\nmx.nd.sparse.dot(mx.nd.ones((3, 4)).tostype('csr'), mx.nd.ones((4, 2)))\n")
    for name in ("before", "after"):
        assert "dot" in at_home("sparsekit", "profile", "-o", f"{name}.npz", "train.py")
    at_home("sparsekit", "view", "before.npz", "-o", "page.html")
    assert "dot" in (tmp_path / "page.html").read_text()
    assert "calls" in at_home("sparsekit", "diff", "before.npz", "after.npz")


def test_the_installed_wheel_brings_the_course(at_home, tmp_path):
    asked = ("import sparsekit as mx\nfrom sparsekit import doctor, lab\nprint(lab.course_folder())\n"
             "mx.predict('fox_rows', guess=7); print(mx.reveal('fox_rows', 6)); print(doctor.course_finding().value)")
    said = at_home("python", "-c", asked)
    folder = Path(said.partition("\n")[0])
    assert folder == tmp_path / "sparsekit-course"
    courses = [{path.relative_to(top).as_posix(): path.read_bytes() for path in top.rglob("*.ipynb")
                if ".ipynb_checkpoints" not in path.parts} for top in (folder, ROOT / "notebooks")]
    assert courses[0] == courses[1]
    assert "You counted the words of the sentence" in said
    kept = {path.name: path.read_bytes() for path in (ROOT / "profiles" / "variants").iterdir()}
    assert {path.name: path.read_bytes() for path in (folder / "profiles" / "variants").iterdir()} == kept
    assert f"{len(list(folder.glob('*.ipynb')))} notebooks in sparsekit-course" in said


@pytest.mark.thorough
def test_the_installed_wheel_brings_its_pytest_plugin(at_home, tmp_path):
    (tmp_path / "test_one.py").write_text(
        "import pytest, sparsekit as mx\n\n@pytest.mark.sparse_contract(calls=('ones', 2))\n"
        "def test_it():\n    mx.nd.ones((2, 3))\n")
    said = at_home("python", "-m", "pytest", "--strict-markers", "--sparsekit-profile", "test_one.py", status=1)
    assert "calls('ones', 2) is broken: it ran" in said
    assert "sparsekit profile" in said


@pytest.mark.thorough
@pytest.mark.slow
def test_the_installed_wheel_runs_the_demo_and_measures(at_home, tmp_path):
    at_home("sparsekit", "demo", "--quick", "--output", "demo")
    assert (tmp_path / "demo" / "report.html").stat().st_size > 10_000
    at_home("sparsekit", "bench", "dispatch", "--quick", "--json", "dispatch.json")
    at_home("sparsekit", "bench", "report", "dispatch.json", "-o", "bench.html")
    assert "4 x 4" in (tmp_path / "bench.html").read_text()
    said = at_home("sparsekit", "bench", "dispatch", "--quick", "--rival", "torch=python", status=2)
    assert "profiles/rivals" in said


def test_the_source_archive_is_small_and_can_run_the_tests(built):
    path = next(built.glob("*.tar.gz"))
    assert path.stat().st_size < 5_300_000  # notebooks keep pictures for wide and for narrow pages; books.tsv takes 0.7 MB
    with tarfile.open(path) as archive:
        names = {name.removeprefix(f"sparsekit-{__version__}/") for name in archive.getnames()}
    assert {"pyproject.toml", "README.md", "LICENSE", "CITATION.cff", "conftest.py", "tests/nbval_sanitize.cfg"} <= names
    assert "tests/test_package.py" in names


def test_the_version_is_one():
    import sparsekit

    assert sparsekit.__version__ == __version__
    changes = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert f"## [{__version__}]" in changes
    cited = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert f"version: {__version__}\n" in cited
    released = re.search(r"^date-released: (.*)$", cited, re.MULTILINE).group(1)
    assert f"## [{__version__}] - {released}\n" in changes
    assert f"This is version {__version__.rpartition('.')[0]}." in (ROOT / "README.md").read_text(encoding="utf-8")


def test_readme_and_ci_give_the_commands_as_they_are():
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert USE in readme
    assert TEST in readme
    ci = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    assert TEST in ci
    assert os.access(ROOT / ".ci" / "run", os.X_OK)


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
