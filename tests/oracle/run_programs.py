"""Run public MXNet programs of other people, with the import changed, under sparsekit and under MXNet, and compare their losses.

    python tests/oracle/run_programs.py CLONES [--mxnet PYTHON] [--record] [--only NAME ...] [--keep FOLDER]

CLONES is a folder with a clone of each repository of ``profiles/programs/mxnet.json``, named ``owner+name``.  Each program runs
twice under sparsekit: as it is, and on the equal terms of ``tests/programs/equal_terms.py``, under which ``--mxnet``, a Python
that has MXNet 1.9.1, runs it too.  ``--record`` writes hashes and losses into the manifest.
"""

import argparse
import hashlib
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
PROGRAMS = HERE.parent / "programs"
MANIFEST = HERE.parents[1] / "profiles" / "programs" / "mxnet.json"
sys.path.insert(0, str(PROGRAMS))

import equal_terms  # noqa: E402
import small_data  # noqa: E402


def with_library(text, library):
    """The text with another library in its imports."""
    text = re.sub(r"^(\s*import\s+)mxnet[ \t]*$", rf"\g<1>{library} as mxnet", text, flags=re.MULTILINE)
    return re.sub(r"^(\s*(?:from|import)\s+)mxnet\b", rf"\g<1>{library}", text, flags=re.MULTILINE)


def git(clones, repository, *arguments):
    """What git prints about a clone."""
    place = clones / repository.replace("/", "+")
    for folder in (place, place / "repo", place / "repo" / ".git"):
        found = subprocess.run(["git", "-C", str(folder), *arguments], capture_output=True)
        if found.returncode == 0:
            return found.stdout
    raise RuntimeError(f"{place}: git {' '.join(arguments)} fails")


def sources(clones, program):
    """The files of a program and of the libraries that it needs in source: path in its folder -> bytes."""
    root = program.get("root", "")
    found = {name: git(clones, program["repository"], "show", f"{program['commit']}:{root}{name}") for name in program["files"]}
    for library in program.get("libraries", []):
        listed = git(clones, library["repository"], "ls-tree", "-r", "--name-only", library["commit"], library["folder"])
        for path in listed.decode().split():
            if path.endswith(".py"):
                text = git(clones, library["repository"], "show", f"{library['commit']}:{path}")
                found[str(pathlib.PurePath(path).relative_to(pathlib.PurePath(library["folder"]).parent))] = text
    return found


def prepare(program, files, library, folder):
    """Write the program, with the library in its imports, and its data."""
    shutil.rmtree(folder, ignore_errors=True)
    for name, content in files.items():
        text = content.decode("utf-8")
        for path, old, new in program.get("mended", []):
            if path == name:
                if old not in text:
                    raise RuntimeError(f"{name} has no {old!r}")
                text = text.replace(old, new)
        place = folder / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(with_library(text, library), encoding="utf-8")
    make, *arguments = program["data"]
    if hasattr(small_data, make):
        getattr(small_data, make)(str(folder), *arguments)
    else:
        equal_terms.write_data(make, str(folder))


def losses_of(program, text):
    """The losses that the program prints, in order, without those that a bar of progress prints again."""
    found = re.findall(program["loss"] + r"(-?\d+(?:\.\d+)?(?:e[-+]?\d+)?|nan)", text)
    return [float(loss) for number, loss in enumerate(found) if number == 0 or loss != found[number - 1]]


def run(program, files, library, python, folder, equal=True):
    """The losses of a run."""
    prepare(program, files, library, folder)
    command = [str(PROGRAMS / "equal_terms.py"), library] if equal else []
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": os.pathsep.join([str(folder), str(HERE.parents[1])])}
    done = subprocess.run([python, *command, program["run"], *program["arguments"].split()], cwd=folder, env=environment,
                          capture_output=True, text=True, timeout=900)
    text = done.stdout + done.stderr
    (folder / "log.txt").write_text(text, encoding="utf-8")
    if done.returncode:
        raise RuntimeError(f"{program['name']} under {library}\n{text[-2500:]}")
    found = losses_of(program, text)
    if not found:
        raise RuntimeError(f"{program['name']} under {library} prints no loss\n{text[-1500:]}")
    return found


def apart(wanted, found):
    """The largest relative difference, infinity if there are more or fewer losses."""
    if len(wanted) != len(found):
        return float("inf")
    return max(abs(one - other) / max(0.05, abs(one)) for one, other in zip(wanted, found, strict=True))


def main():
    """Run what is asked for, and print a table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("clones", type=pathlib.Path)
    parser.add_argument("--mxnet")
    parser.add_argument("--python", default=sys.executable, help="the Python that runs the programs under sparsekit")
    parser.add_argument("--record", action="store_true")
    parser.add_argument("--only", nargs="*")
    parser.add_argument("--keep", type=pathlib.Path)
    options = parser.parse_args()
    programs = json.loads(MANIFEST.read_text(encoding="utf-8"))
    failed = 0
    with tempfile.TemporaryDirectory() as temporary:
        base = options.keep or pathlib.Path(temporary)
        for program in programs:
            name = program["name"]
            if options.only and name not in options.only:
                continue
            try:
                files = sources(options.clones, program)
                hashes = {file: hashlib.sha256(files[file]).hexdigest() for file in program["files"]}
                if options.record:
                    program["files"] = hashes
                elif hashes != program["files"]:
                    raise RuntimeError(f"{name}: other files than the manifest's")
                if options.mxnet:
                    program["mxnet"] = run(program, files, "mxnet", options.mxnet, base / "mxnet" / name)
                run(program, files, "sparsekit", options.python, base / "alone" / name, equal=False)
                ours = run(program, files, "sparsekit", options.python, base / "sparsekit" / name)
                program["sparsekit"] = ours
                far = apart(program["mxnet"], ours)
                theirs = program["mxnet"]
                ends = "   ".join(f"{losses[0]:10.5f} -> {losses[-1]:10.5f}" for losses in (theirs, ours))
                print(f"{name:26} {ends}   {far:.1e}", flush=True)
                failed += far > program.get("tolerance", 1e-3)
            except (RuntimeError, OSError, subprocess.TimeoutExpired) as error:
                failed += 1
                print(f"{name:26} FAILS\n{error}", flush=True)
    if options.record:
        MANIFEST.write_text(json.dumps(programs, indent=1) + "\n", encoding="utf-8")
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
