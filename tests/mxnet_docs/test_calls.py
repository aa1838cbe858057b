"""The calls that MXNet's documented examples make give here what they give there: from a record alone, without MXNet's text.

An example that hands over a function or a class of its own has no record; ``test_docstrings.py`` runs those, too.
"""

import json
import lzma
import warnings
from pathlib import Path
from types import SimpleNamespace

import sparsekit as mx

from . import calls
from .tally import REQUIRED, Tally

RECORD = json.loads(lzma.decompress((Path(__file__).parents[1] / "golden" / "docstring_calls.json.xz").read_bytes()))


def test_the_calls_give_what_mxnet_gives(capsys):
    tally = Tally("calls of the docstring examples of MXNet 1.9.1")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for entry in RECORD.values():
            where, _, kind = entry["where"].rpartition(":")
            example = SimpleNamespace(where=where, kind=kind)
            if isinstance(entry["steps"], str):
                tally.left_out[f"no record of {entry['steps']}"] += 1
                continue
            statements = {}
            for statement, difference in calls.replay(mx, entry["steps"]):
                if statement is not None:
                    statements.setdefault(statement, []).append(difference)
            for statement, differences in statements.items():
                if not tally.leaves_out(example, statement):
                    wrong = [one for one in differences if one]
                    tally.judge(example, statement, not wrong, "\n    ".join(wrong))
    with capsys.disabled():
        print("\n" + tally.report())
    assert not tally.wrong, "\n".join(tally.wrong)
    assert tally.share() >= REQUIRED


def test_most_examples_have_a_record():
    assert sum(isinstance(entry["steps"], list) for entry in RECORD.values()) > 0.95 * len(RECORD)
