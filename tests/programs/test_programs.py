"""Programs that use what MXNet's example scripts use, as they use it, come to the numbers of MXNet 1.9.1 on the same data.

The numbers are those of the scripts themselves, recorded by ``tests/oracle/run_scripts.py``, which also runs the scripts.
"""

import json
import os
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
GOLDEN = json.loads((HERE.parent / "golden" / "scripts.json").read_text(encoding="utf-8"))
NUMBERS = runpy.run_path(str(HERE / "numbers_of.py"))


#: Scripts whose numbers are recorded and that have no program here: tests of operators, optimizers and layers say the same.
ABSENT = {("profiler_matmul", 0), ("profiler_ndarray", 0), *(("numpy_ops", run) for run in range(3)), ("tree_lstm", 0),
          *(("updater", run) for run in range(3)), ("test_sparse_fm", 0), ("sparse_end2end", 0), ("sparse_end2end", 1)}
#: Those that ``--all`` is not needed for: of modules with a store, modules with embeddings, and Gluon.
ALWAYS = {("linear_classification", 1), ("matrix_factorization", 0), ("lstm_crf", 0)}
CASES = [pytest.param(program, run, marks=() if (program, run) in ALWAYS else pytest.mark.thorough)
         for program, runs in GOLDEN.items() for run in range(len(runs)) if (program, run) not in ABSENT]


@pytest.mark.parametrize(("program", "run"), CASES)
def test_a_program_comes_to_the_numbers_of_mxnet(program, run, tmp_path):
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(HERE.parent.parent), str(HERE)])}
    done = subprocess.run([sys.executable, str(HERE / "own.py"), "sparsekit", program, str(run)], cwd=tmp_path, check=False,
                          env=environment, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr[-2000:]
    found = json.loads(done.stdout.splitlines()[-1])
    far = NUMBERS["deviation"](GOLDEN[program][run], found, part=program == "lstm_crf")
    assert far <= NUMBERS["TOLERANCE"].get(program, 1e-3), (GOLDEN[program][run], found)


def test_all_thirteen_programs_are_recorded():
    assert len(GOLDEN) == 13
    assert all(values for runs in GOLDEN.values() for run in runs for values in run.values())
