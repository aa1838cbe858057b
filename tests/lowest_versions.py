"""Run tests with the lowest versions that pyproject.toml allows, and keep the record: ``python tests/lowest_versions.py FOLDER``.

The folder gets an environment in which every package of the project and of its extras has the version of its lower bound; what
those need in turn is as new as they take.  The record has the versions, the tests and how many passed.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]
RECORD = Path(__file__).with_suffix(".json")

#: Extras whose packages are tried.  Those left out: ``cuda12`` and ``cuda13`` need a GPU, ``torch`` and ``dist`` have
#: environments of their own in ``.ci/run``, and ``docs`` is pinned.
EXTRAS = ("lab", "sklearn", "tensorboard", "test")

#: What is run in the environment, from the root of the checkout.  Left out are tests of the checkout's files, of browsers, of the
#: commands and of the stand-in for a GPU.  The check of the library's own types follows numpy's, which change with each version.
FOLDERS = ("base", "core", "course", "gluon", "io", "kernels", "ndarray", "optimizer", "profiler", "sklearn", "storage", "typing",
           "figures")
#: How soon a picture is there is stated for new packages.
LATER = "tests/course/test_openings.py::test_the_first_picture_of_the_course_is_little_work"
COMMANDS = {
    # Old packages warn of what newer ones that they need have deprecated.
    "tests": ["pytest", "-n", "2", "-m", "not browser", "-W", "ignore::DeprecationWarning", f"--deselect={LATER}",
              *[f"tests/{folder}" for folder in FOLDERS], "notebooks/01_csr.ipynb", "notebooks/08_profiling.ipynb"],
    "style": ["ruff", "check", "."],
}


def bounds() -> dict[str, str]:
    """The lowest version of each package that the project or one of the extras asks for."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    asked = [*project["dependencies"], *(one for extra in EXTRAS for one in project["optional-dependencies"][extra])]
    found = re.findall(r"^([\w-]+)(?:\[[\w,]+\])?>=([\w.]+)", "\n".join(asked), re.MULTILINE)
    return dict(sorted(found))


def install(folder: Path) -> Path:
    """Make the environment, and give its Python."""
    subprocess.run([sys.executable, "-m", "venv", folder], check=True)
    python = folder / "bin" / "python"
    subprocess.run([python, "-m", "pip", "install", "--quiet", "uv"], check=True)
    uv = [python, "-m", "uv", "pip", "install", "--quiet", "--python", python]
    extras = [word for extra in EXTRAS for word in ("--extra", extra)]
    subprocess.run([*uv, "--resolution", "lowest-direct", "-r", "pyproject.toml", *extras], cwd=ROOT, check=True)
    subprocess.run([*uv, "--no-deps", "-e", "."], cwd=ROOT, check=True)
    return python


def installed(python: Path) -> dict[str, str]:
    """The versions of the packages that have bounds."""
    program = "import importlib.metadata as m, json, sys; print(json.dumps({n: m.version(n) for n in sys.argv[1:]}))"
    done = subprocess.run([python, "-c", program, *bounds()], stdout=subprocess.PIPE, text=True, check=True)
    return json.loads(done.stdout)


def main() -> None:
    """Install, run, and write the record."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path, help="where the environment is made")
    parser.add_argument("--check", action="store_true", help="write no record")
    given = parser.parse_args()
    python = install(given.folder)
    said = {}
    for name, command in COMMANDS.items():
        print("$", *command, flush=True)
        # IPython warns where this names another environment than the one that runs.
        environment = {key: value for key, value in os.environ.items() if key != "VIRTUAL_ENV"}
        done = subprocess.run([python, "-m", *command], cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True)
        print(done.stdout[-4000:] if done.returncode == 0 else done.stdout, flush=True)
        if done.returncode:
            sys.exit(f"{name} failed with the lowest versions; no record was written.")
        said[name] = done.stdout.strip().splitlines()[-1].strip("= ").partition(" in ")[0]
    if given.check:
        return
    found = {"python": "{}.{}".format(*sys.version_info), "versions": installed(python), "commands": COMMANDS, "said": said}
    RECORD.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
