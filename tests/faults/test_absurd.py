"""Attributes, shapes and sizes that make no sense: each is a named error or the right result, in little memory."""

from __future__ import annotations

import re
from pathlib import Path

import programs
import pytest

import sparsekit as mx

SWEEP = Path(__file__).with_name("absurd.py").read_text(encoding="utf-8")

#: Of the values, each attribute meets as many as a minute allows; ``absurd.py 0 1 0 1`` tries them all.
SOME = "6"


@pytest.mark.parametrize("part", ["0", *(pytest.param(part, marks=pytest.mark.thorough) for part in "123")])
def test_absurd_attributes_of_every_operator(part):
    done = programs.run(SWEEP, part, "4", SOME, "15", memory=3000 * programs.MIB, timeout=400)
    assert done.check().splitlines() == ["done"], done.stderr[-500:]
    calls, results = map(int, re.findall(r"\d+", done.stderr.splitlines()[-1]))
    assert calls > 2500
    assert results > 500


#: What ended the interpreter, or took all memory, of arrays that fall back: (call, error).
LIMITS = {
    "tile": (lambda x: mx.nd.tile(x, reps=(10, 10)), "400,000,000 bytes"),
    "repeat": (lambda x: mx.nd.repeat(x, repeats=100), "400,000,000 bytes"),
    "khatri_rao": (lambda x: mx.nd.khatri_rao(x, x), "4,000,000,000 bytes"),
    "pad": (lambda x: mx.nd.pad(x, mode="constant", pad_width=(9000, 0, 9000, 0)), "400,000,000 bytes"),
}


@pytest.mark.parametrize("name", LIMITS)
@pytest.mark.parametrize("stype", ["csr", "row_sparse"])
def test_the_limit_holds_for_results_of_fallbacks(name, stype):
    call, size = LIMITS[name]
    x = mx.nd.sparse.csr_matrix(([1.0], ([3], [4])), shape=(1000, 1000)).tostype(stype)
    with mx.config.set(densify_limit=10_000_000), pytest.raises(mx.DensificationError, match=size):
        call(x)
    with mx.config.set(densify="allow", densify_limit=10_000_000):
        assert mx.nd.tile(x, reps=(2, 2)).shape == (2000, 2000)
