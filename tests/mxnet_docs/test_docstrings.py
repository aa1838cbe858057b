"""The examples in the docstrings of MXNet 1.9.1 give here what they give there.

Their text is read from MXNet's wheel, which is neither installed nor imported; ``SPARSEKIT_MXNET_WHEEL`` names it, or the folder
that it was unpacked to::

    python -m pip download --no-deps --dest FOLDER mxnet==1.9.1
    SPARSEKIT_MXNET_WHEEL=$(ls FOLDER/mxnet-*.whl) python -m pytest tests/mxnet_docs

What MXNet gives is recorded, by ``tests/oracle/record_docstrings.py``. Where there is no wheel, ``test_calls.py`` makes the calls
that the examples made, from their record.
"""

import collections
import gzip
import json
import os
import warnings
from pathlib import Path

import pytest

import sparsekit as mx

from . import collect, run, scope

GOLDEN = json.loads(gzip.decompress((Path(__file__).parents[1] / "golden" / "docstrings.json.gz").read_bytes()))

#: The share of the statements in scope that give what MXNet gives.
REQUIRED = 0.98


@pytest.fixture(scope="module")
def examples():
    place = os.environ.get("SPARSEKIT_MXNET_WHEEL", "")
    if not place:
        pytest.skip("SPARSEKIT_MXNET_WHEEL names no wheel of MXNet 1.9.1: the text of the examples is not here")
    return collect.collect(place, scope.MODULES)


class Tally:
    """What became of each statement."""

    def __init__(self):
        self.counts, self.left_out, self.wrong, self.hit = collections.Counter(), collections.Counter(), [], collections.Counter()

    def leave_out(self, reason, count):
        self.left_out[reason] += count

    def judge(self, example, index, found, expected):
        pattern = run.matches(scope.EXCLUDED, example, index)
        if pattern:
            self.hit[pattern] += 1
            self.leave_out(scope.EXCLUDED[pattern], 1)
        elif "error" in expected:
            self.leave_out(f"MXNet 1.9.1 raises {expected['error']}", 1)
        elif agree(found, expected):
            self.counts["passed"] += 1
        else:
            known = run.matches({**scope.ON_PURPOSE, **scope.NOT_YET}, example, index)
            self.hit[known] += 1
            self.counts["differs on purpose" if known in scope.ON_PURPOSE else "not yet" if known else "failed"] += 1
            if not known:
                self.wrong.append(f"{example.where}:{example.kind}#{index}\n    {example.statements[index]}\n    here  "
                                  f"{json.dumps(found)[:500]}\n    MXNet {json.dumps(expected)[:500]}")

    def report(self):
        total = sum(self.counts.values())
        lines = [f"docstring examples of MXNet 1.9.1: {total} statements in scope, of which {self.share():.2%} pass"]
        lines += [f"  {count:5} {what}" for what, count in sorted(self.counts.items())]
        lines += [f"  {count:5} left out: {reason}" for reason, count in sorted(self.left_out.items())]
        return "\n".join(lines)

    def share(self):
        return self.counts["passed"] / sum(self.counts.values())


def agree(found, expected):
    found = {key: value for key, value in found.items() if key != "raised"}
    if "varies" in expected:
        return run.same(run.form(found), {key: value for key, value in expected.items() if key != "varies"})
    return run.same(found, expected)


def test_the_examples_give_what_mxnet_gives(examples, capsys):
    tally = Tally()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for example in examples:
            pattern = run.matches(scope.EXCLUDED, example)
            if pattern:
                tally.hit[pattern] += 1
                tally.leave_out(scope.EXCLUDED[pattern], len(example.statements))
                continue
            expected = GOLDEN[example.key]["statements"]
            for index, found in enumerate(run.run(mx, example)):
                tally.judge(example, index, found, expected[index])
    with capsys.disabled():
        print("\n" + tally.report())
    assert not tally.wrong, "\n".join(tally.wrong)
    assert tally.share() >= REQUIRED
    unused = [pattern for pattern in {**scope.EXCLUDED, **scope.ON_PURPOSE, **scope.NOT_YET} if not tally.hit[pattern]]
    assert not unused, "a reason outlives what it is for"


def test_every_recorded_example_is_found(examples):
    assert {one.key for one in examples if not run.matches(scope.EXCLUDED, one)} == set(GOLDEN)
