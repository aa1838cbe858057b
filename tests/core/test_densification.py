"""Every operator in every storage type: what becomes dense is in the ledger, marked in a profile, and stopped by "error"."""

import sys
import warnings

import numpy as np
import pytest

import sparsekit as mx
from sparsekit.base.errors import ContractError, DensificationError, SparsekitError
from sparsekit.core import hooks
from sparsekit.core.dispatch import invoke, resolve, wrap
from sparsekit.storage.convert import densify, stype_of
from tests.sampling import some
from tests.sweeping import CPU, OPS, listed, stores, tried


def cases(op):
    """Arrays, attributes and storage types of the operator's samples, with at least one sparse input."""
    for number, (arrays, attrs) in enumerate(op.sample()):
        for stypes in tried(op, number, arrays, attrs):
            if set(stypes) - {"default"}:
                yield arrays, attrs, stypes


def run(op, arrays, attrs, stypes):
    """The inputs and results of a call; None where the operator refuses these storage types."""
    inputs = tuple(wrap(store, CPU) for store in stores(op, arrays, attrs, stypes))
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            made = invoke(op.bind(attrs), inputs, None, CPU)
    except DensificationError:
        raise
    except SparsekitError:
        return None
    return inputs, listed(made)


@pytest.fixture
def made_dense(monkeypatch):
    """The sizes of all sparse stores that any part of the library makes dense, whatever it says of that."""
    sizes = []

    def watched(store, *args, **kwargs):
        if stype_of(store) != "default":
            sizes.append(int(np.prod(store.shape)))
        return densify(store, *args, **kwargs)

    for name, module in list(sys.modules.items()):
        if name.startswith("sparsekit") and getattr(module, "densify", None) is densify:
            monkeypatch.setattr(module, "densify", watched)
    pairs = sys.modules["sparsekit.storage.convert"]._PAIRS
    for pair in (("csr", "default"), ("row_sparse", "default")):
        monkeypatch.setitem(pairs, pair, watched)
    return sizes


@pytest.mark.parametrize("op", OPS.values(), ids=sorted(OPS, key=list(OPS).index))
def test_what_becomes_dense_is_in_the_ledger_or_the_row_says_why_not(op, made_dense):
    mx.config.densify = "allow"
    try:
        for arrays, attrs, stypes in cases(op):
            hooks.ledger.clear()
            made_dense.clear()
            ran = run(op, arrays, attrs, stypes)
            if ran is None:
                continue
            inputs, results = ran
            rule, fallback, _ = resolve(op, stypes, op.bind(attrs).attrs)
            sparse = [array.size for array, stype in zip(inputs, stypes, strict=True) if stype != "default"]
            # Judged by sizes alone: a dense result that could hold a sparse input, or a dense copy of one.
            holds = any(made.stype == "default" and made.size >= size and not any(made._store is one._store for one in inputs)
                        for made in results for size in sparse)
            copied = any(size >= min(sparse) for size in made_dense)
            reason = rule.asked and not fallback
            if op.lane == "convert":
                kinds = [hooks.made_from(made._store).kind for made in results if made.stype == "default"]
                assert not hooks.ledger
                assert set(kinds) <= {hooks.ASKED}
            elif not hooks.ledger:
                assert not holds or reason, (stypes, attrs)
                assert not copied or rule.asked, (stypes, attrs)
            for record in hooks.ledger:
                assert record.kind == (hooks.FALLBACK if fallback else hooks.NATURAL)
                assert record.source in ("csr", "row_sparse")
                assert record.target == "default"
                assert record.op == op.name or not fallback
                assert record.line.startswith("test_densification.py:")
                assert record.remedy
                assert record.reason
            if hooks.ledger and holds and not reason:
                assert any(made.why_dense().kind in hooks.KINDS for made in results)
    finally:
        mx.config.densify = "warn"


@pytest.mark.parametrize("name", some(OPS, one_in=4))
def test_the_policy_and_the_marks_of_a_profile_are_those_of_the_ledger(name):
    op = OPS[name]
    for arrays, attrs, stypes in cases(op):
        hooks.ledger.clear()
        with mx.config.set(densify="allow"), mx.Profiler() as prof:
            if run(op, arrays, attrs, stypes) is None:
                continue
        assert prof.ledger == list(hooks.ledger)
        marked = {(record["became_dense"], record["name"]) for record in prof.records if record["became_dense"]}
        assert {kind for kind, _ in marked} == {record.kind for record in prof.ledger}
        assert {name for _, name in marked} <= {"cast_storage", *(record.op for record in prof.ledger)}
        for record in prof.ledger:
            assert {(record.kind, record.op), (record.kind, "cast_storage")} & marked
        if prof.ledger:
            with pytest.raises(ContractError, match=r"no_densify\(\) is broken"):
                mx.expect(prof).no_densify()
            mx.expect(prof).no_densify(allow=hooks.KINDS)
        else:
            mx.expect(prof).no_densify()
        with mx.config.set(densify="error"):
            try:
                run(op, arrays, attrs, stypes)
            except DensificationError:
                assert prof.ledger, (stypes, attrs)
            else:
                assert not prof.ledger, (stypes, attrs)
