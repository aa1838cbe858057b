"""The examples in the docstrings of MXNet 1.9.1 give here what they give there.

Their text is read from MXNet's wheel, which is neither installed nor imported; ``SPARSEKIT_MXNET_WHEEL`` names it, or the folder
that it was unpacked to::

    python -m pip download --no-deps --dest FOLDER mxnet==1.9.1
    SPARSEKIT_MXNET_WHEEL=$(ls FOLDER/mxnet-*.whl) python -m pytest tests/mxnet_docs

What MXNet gives is recorded, by ``tests/oracle/record_docstrings.py``. Where there is no wheel, ``test_calls.py`` makes the calls
that the examples made, from their record.
"""

import json
import lzma
import os
import warnings
from pathlib import Path

import pytest

import sparsekit as mx

from . import collect, run, scope
from .tally import REQUIRED, Tally

GOLDEN = json.loads(lzma.decompress((Path(__file__).parents[1] / "golden" / "docstrings.json.xz").read_bytes()))

@pytest.fixture(scope="module")
def examples():
    place = os.environ.get("SPARSEKIT_MXNET_WHEEL", "")
    if not place:
        pytest.skip("SPARSEKIT_MXNET_WHEEL names no wheel of MXNet 1.9.1: the text of the examples is not here")
    return collect.collect(place, scope.MODULES)


def agree(found, expected):
    found = {key: value for key, value in found.items() if key != "raised"}
    if "varies" in expected:
        return run.same(run.form(found), {key: value for key, value in expected.items() if key != "varies"})
    return run.same(found, expected)


def test_the_examples_give_what_mxnet_gives(examples, capsys):
    tally = Tally("docstring examples of MXNet 1.9.1")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for example in examples:
            if tally.leaves_out(example, count=len(example.statements)):
                continue
            recorded = GOLDEN[example.key]["statements"]
            for index, (found, expected) in enumerate(zip(run.run(mx, example), recorded, strict=True)):
                if tally.leaves_out(example, index):
                    continue
                if "error" in expected:
                    tally.left_out[f"MXNet 1.9.1 raises {expected['error']}"] += 1
                else:
                    difference = f"{example.statements[index]}\n    gives {str(found)[:500]}\n    in MXNet {str(expected)[:500]}"
                    tally.judge(example, index, agree(found, expected), difference)
    with capsys.disabled():
        print("\n" + tally.report())
    assert not tally.wrong, "\n".join(tally.wrong)
    assert tally.share() >= REQUIRED
    reasons = set(scope.EXCLUDED) | set(scope.ON_PURPOSE) | set(scope.NOT_YET)
    assert reasons == tally.used, "a reason outlives what it is for"


def test_every_recorded_example_is_found(examples):
    assert {one.key for one in examples if not run.matches(scope.EXCLUDED, one)} == set(GOLDEN)
