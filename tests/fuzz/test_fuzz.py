"""The fuzzer finds nothing in some cases, and finds what is planted; ``python tests/fuzz/run.py --minutes 60`` runs longer."""

import math
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))  # for the modules beside this one, which are not tests

import graphs  # noqa: E402
import reference  # noqa: E402
import run  # noqa: E402

from sparsekit.core.op import find, registry  # noqa: E402

SEED, CASES = 15, 120


@pytest.mark.slow
def test_some_cases_find_nothing():
    fuzzer = run.Fuzzer(SEED, patience=5.0)
    found = list(fuzzer.sweep(math.inf, CASES))
    assert not found, "\n".join(map(str, found[:5])) + fuzzer.summary()


def test_a_seed_gives_the_same_cases():
    first, second = ([graphs.make(np.random.default_rng([SEED, number])) for number in range(20)] for _ in range(2))
    assert [one.program() + one.lines() for one in first] == [one.program() + one.lines() for one in second]


def test_every_operator_is_drawn_or_left_out_by_name():
    drawn = {name.partition(":")[0] for name, entry in reference.table.items() if not entry.write}
    for name, op in registry.items():
        alone = op.mutates or not op.inputs or op.name.startswith(("_random_", "_sample_"))
        assert alone or op.name in reference.NOT_HERE or drawn & {op.name, *op.aliases}, name


@pytest.mark.thorough
def test_it_runs_as_a_program():
    done = subprocess.run([sys.executable, run.__file__, "--operators", "log_softmax", "--cases", "2"], capture_output=True,
                          text=True, timeout=400)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("2 cases of seed 7\n")


@pytest.mark.thorough
@pytest.mark.parametrize("stype", ["default", "csr"])
def test_a_planted_defect_is_found_and_made_small(monkeypatch, stype):
    """A sine that is wrong from 1 on, in one storage type: the program left is one call on one value."""
    op = find("sin")
    rule = next(rule for rule in op.rules if rule.inputs == (stype,))
    right = rule.function

    def wrong(k, x, attrs):
        made = right(k, x, attrs)
        (made if stype == "default" else made.data)[...] *= np.where((x if stype == "default" else x.data) >= 1, 1.001, 1)
        return made

    monkeypatch.setattr(rule, "function", wrong)
    op._changed()
    fuzzer = run.Fuzzer(SEED)
    monkeypatch.setattr(reference, "table",
                        {name: entry for name, entry in reference.table.items()
                         if name in ("sin", "+", "transpose", "negative")})
    try:
        report = next(report for report in fuzzer.sweep(120, 600) if report.key == ("reference", "sin", "value"))
    finally:
        monkeypatch.undo()
        op._changed()
    assert report.text.count("F.") == 1
    made = next(line for line in report.text.splitlines() if line.startswith("x"))
    assert "[1.0" in made
    assert ("csr_matrix" in made) == (stype == "csr")
