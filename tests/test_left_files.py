"""A session of tests that leaves a file in the checkout says so, and fails where that is asked for."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.thorough

TESTS = Path(__file__).parent
CONFTEST = """import importlib.util
spec = importlib.util.spec_from_file_location("left_files", PLUGIN)
module = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)

def pytest_configure(config):
    config.pluginmanager.register(module.LeftFiles(config))
"""


@pytest.fixture
def checkout(tmp_path):
    """A repository with a test that writes where it is told to."""
    if shutil.which("git") is None:
        pytest.skip("there is no git")
    subprocess.run(["git", "init", "--quiet", str(tmp_path)], check=True)
    (tmp_path / "conftest.py").write_text(CONFTEST.replace("PLUGIN", repr(str(TESTS / "left_files.py"))))
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    (tmp_path / ".gitignore").write_text("ignored\n__pycache__/\n")
    (tmp_path / "test_one.py").write_text("import os\n\ndef test_writes():\n    open(os.environ['TO'], 'w').close()\n")
    (tmp_path / "there").write_text("")
    return tmp_path


@pytest.mark.parametrize(("name", "required", "status"), [("made.params", "1", 1), ("made.params", "0", 0), ("ignored", "1", 0),
                                                          ("there", "1", 0)])
def test_a_file_that_is_left_is_named(name, required, status, checkout):
    done = subprocess.run([sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"], cwd=checkout, capture_output=True,
                          text=True, timeout=400, env={**os.environ, "TO": name, "SPARSEKIT_REQUIRE_CLEAN": required})
    assert done.returncode == status, done.stdout
    assert ("made.params" in done.stdout.partition("left in the checkout")[2]) == (name == "made.params")
