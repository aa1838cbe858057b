"""Run ``sparsekit profile`` and ``sparsekit fix`` on public PyTorch programs of other people, and record what they say.

    python tests/oracle/fix_programs.py CLONES [--record] [--only NAME ...] [--commands fix profile] [--keep FOLDER]

CLONES is a folder with a clone of each repository of ``profiles/programs/torch.json``, as for ``run_programs.py``.  The Python
that runs this has PyTorch and what the programs import.
"""

import argparse
import hashlib
import json
import os
import pathlib
import subprocess
import sys
import tempfile

from run_programs import HERE, prepare, sources

MANIFEST = HERE.parents[1] / "profiles" / "programs" / "torch.json"


def command(program, folder, *words):
    """The status of a command of sparsekit and what it prints."""
    place = folder / program.get("folder", "")
    environment = {**os.environ, "OMP_NUM_THREADS": "1",
                   "PYTHONPATH": os.pathsep.join([str(HERE.parents[1]), str(folder), os.environ.get("PYTHONPATH", "")])}
    script = os.path.relpath(folder / program["run"], place)
    done = subprocess.run([sys.executable, "-m", "sparsekit", *words, script, *program["arguments"].split()], cwd=place,
                          env=environment, capture_output=True, text=True, timeout=600, errors="replace")
    (folder / f"{words[0]}.txt").write_text(done.stdout + "\n---\n" + done.stderr, encoding="utf-8")
    return done.returncode, done.stdout, done.stderr


def main():
    """Run what is asked for."""
    parser = argparse.ArgumentParser()
    parser.add_argument("clones", type=pathlib.Path)
    parser.add_argument("--record", action="store_true")
    parser.add_argument("--only", nargs="*")
    parser.add_argument("--commands", nargs="*", default=["fix", "profile"])
    parser.add_argument("--keep", type=pathlib.Path)
    options = parser.parse_args()
    programs = json.loads(MANIFEST.read_text(encoding="utf-8"))
    with tempfile.TemporaryDirectory() as temporary:
        for program in programs:
            if options.only and program["name"] not in options.only:
                continue
            files = sources(options.clones, program)
            hashes = {file: hashlib.sha256(files[file]).hexdigest() for file in program["files"]}
            if not options.record and hashes != program["files"]:
                raise SystemExit(f"{program['name']}: other files than the manifest's")
            program["files"] = hashes
            folder = (options.keep or pathlib.Path(temporary)) / program["name"]
            prepare(program, files, "mxnet", folder)
            for word in options.commands:
                try:
                    status, said, wrong = command(program, folder, word)
                except subprocess.TimeoutExpired:
                    status, said, wrong = 124, "", "more than ten minutes"
                print(f"== {program['name']}: {word}, status {status}\n{said[-2500:]}\n{wrong[-700:]}", flush=True)
    if options.record:
        MANIFEST.write_text(json.dumps(programs, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
