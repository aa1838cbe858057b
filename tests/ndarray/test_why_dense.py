"""Every public door by which a sparse array can become dense: the ledger, or an event with its bytes, and ``why_dense``."""

import gc
import warnings
import weakref

import numpy as np
import pytest

import sparsekit as mx
from sparsekit import autograd, gluon
from sparsekit.core import hooks
from tests.calls import refused

VALUES = np.eye(8, 40, dtype="float32")
NATURAL, FALLBACK = "dense by nature", "fallback"


@pytest.fixture
def x():
    return mx.nd.array(VALUES).tostype("csr")


@pytest.fixture(autouse=True)
def silent():
    with mx.config.set(densify="allow"):
        yield


class Hybrid(gluon.HybridBlock):
    def __init__(self, function):
        super().__init__()
        self.function = function

    def hybrid_forward(self, F, x):
        return self.function(F, x)


def hybridized(function):
    def call(x):
        net = Hybrid(function)
        net.hybridize()
        net(x)  # traces
        hooks.ledger.clear()
        return net(x)

    return call


def of_symbol(make):
    def call(x):
        executor = make(mx.sym.Variable("x", stype="csr")).bind(mx.cpu(), {"x": x})
        return executor.forward()[0]

    return call


def into(make):
    def call(x):
        out = mx.nd.zeros(x.shape)
        make(x, out)
        return out

    return call


def assign(key, part=slice(None)):
    def make(x, out):
        out[key] = x[part]

    return into(make)


def stored(x):
    store = mx.kv.create("local")
    store.init("a", x)
    out = mx.nd.zeros(x.shape)
    store.pull("a", out, ignore_sparse=False)
    return out


def fed(x):
    module = mx.mod.Module(mx.sym.identity(mx.sym.Variable("data")), label_names=None)
    module.bind([("data", x.shape)], for_training=False)
    module.init_params()
    hooks.ledger.clear()
    module.forward(mx.io.DataBatch([x], None), is_train=False)
    return module.get_outputs()[0]


class Doubled(mx.operator.CustomOp):
    def forward(self, is_train, req, in_data, out_data, aux):
        self.assign(out_data[0], req[0], in_data[0] * 2)

    def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
        self.assign(in_grad[0], req[0], out_grad[0] * 2)


@mx.operator.register("doubled_densely")
class DoubledProp(mx.operator.CustomOpProp):
    def create_operator(self, ctx, in_shapes, in_dtypes):
        return Doubled()


def added_up(x):
    """A weight used by a product with a row-sparse gradient, and by itself, whose gradient is dense."""
    weight = mx.nd.ones((40, 2))
    weight.attach_grad(stype="default")
    with autograd.record():
        loss = mx.nd.Embedding(mx.nd.array([1, 2]), weight, input_dim=40, output_dim=2, sparse_grad=True).sum() + weight.sum()
    loss.backward()
    return weight.grad


#: Door -> what goes through it, and the kind and the operator in the ledger.
DOORS = {
    "a scalar operator": (lambda x: x + 1, NATURAL, "_plus_scalar"),
    "a reflected operator": (lambda x: 1 - x, NATURAL, "_rminus_scalar"),
    "an operator in place": (lambda x: operator_in_place(x), NATURAL, "_plus_scalar"),
    "a dense operand": (lambda x: x + mx.nd.ones(x.shape), NATURAL, "elemwise_add"),
    "a dense operand that broadcasts": (lambda x: x - mx.nd.ones((1, 40)), NATURAL, "broadcast_sub"),
    "an operand of numpy": (lambda x: x + VALUES, NATURAL, "elemwise_add"),
    "a function of numpy": (lambda x: np.add(x, 1), NATURAL, "_plus_scalar"),
    "a universal function": (lambda x: np.cos(x), FALLBACK, "cos"),
    "a comparison": (lambda x: x == 0, NATURAL, "_equal_scalar"),
    "concat": (lambda x: mx.nd.concat(x, mx.nd.ones((8, 2)), dim=1), NATURAL, "concat"),
    "concatenate of numpy": (lambda x: np.concatenate([x, VALUES]), NATURAL, "concat"),
    "stack": (lambda x: mx.nd.stack(x, x), FALLBACK, "stack"),
    "clip": (lambda x: mx.nd.clip(x, 0.1, 1), NATURAL, "clip"),
    "maximum": (lambda x: mx.nd.maximum(x, 0.5), NATURAL, "_maximum_scalar"),
    "softmax": (lambda x: mx.nd.softmax(x), NATURAL, "softmax"),
    "a method": (lambda x: x.exp(), FALLBACK, "exp"),
    "out= of a dense result": (into(lambda x, out: mx.nd.elemwise_add(x, out, out=out)), NATURAL, "elemwise_add"),
    "out= of a sparse result": (into(lambda x, out: mx.nd.elemwise_add(x, x, out=out)), NATURAL, "elemwise_add"),
    "out= of a fallback": (into(lambda x, out: mx.nd.cos(x, out=out)), FALLBACK, "cos"),
    "an assignment to all": (assign(slice(None)), NATURAL, "assignment"),
    "an assignment to a part": (assign(slice(0, 3), slice(0, 3)), NATURAL, "assignment"),
    "copyto": (into(lambda x, out: x.copyto(out)), NATURAL, "assignment"),
    "a pull of a kvstore": (stored, NATURAL, "assignment"),
    "a module's dense variable": (fed, FALLBACK, "Module"),
    "a custom operator": (lambda x: mx.nd.Custom(x, op_type="doubled_densely"), NATURAL, "doubled_densely"),
    "a hybridized block": (hybridized(lambda F, x: x + 1), NATURAL, "_plus_scalar"),
    "a fallback of a hybridized block": (hybridized(lambda F, x: F.cos(x)), FALLBACK, "cos"),
    "an executor": (of_symbol(lambda x: x + 1), NATURAL, "_plus_scalar"),
    "a fallback of an executor": (of_symbol(mx.sym.cos), FALLBACK, "cos"),
    "gradients that are added up": (added_up, NATURAL, "elemwise_add"),
}


def operator_in_place(x):
    x = x.copy()
    x += 1
    return x


@pytest.mark.parametrize("door", DOORS)
def test_each_door_is_in_the_ledger_with_operator_line_bytes_and_remedy(door, x):
    act, kind, op = DOORS[door]
    with mx.Profiler() as prof:
        made = act(x)
    records = prof.ledger
    assert records, door
    for record in records:
        assert (record.kind, record.op, record.target) == (kind, op, "default")
        assert record.line.startswith("test_why_dense.py:")
        assert record.bytes_before > 0
        assert record.bytes_after >= 8 * 40 * 4 or "part" in door or "gradient" in door
        assert record.remedy
    assert {record["became_dense"] for record in prof.records} - {""} == {kind}
    assert {record.kind for record in prof.ledger} == {kind}
    why = made.why_dense()
    if made.stype != "default":  # written back to a sparse array
        assert (door, why.kind) == ("an operator in place", "sparse")
        return
    assert (why.kind, why.op, why.line) == (kind, op, records[-1].line)
    assert why.source in ("csr", "row_sparse")
    assert why.line in repr(why)


@pytest.mark.parametrize("door", DOORS)
def test_the_ledger_needs_no_profiler_and_error_stops_each_door(door, x):
    act, kind, op = DOORS[door]
    hooks.ledger.clear()
    act(x)
    assert {(record.kind, record.op) for record in hooks.ledger} == {(kind, op)}
    with mx.config.set(densify="error"), pytest.raises(mx.DensificationError):
        act(x)


#: What is asked for, and what it gives.
ASKED = {
    "tostype": lambda x: x.tostype("default"), "cast_storage": lambda x: mx.nd.cast_storage(x, "default"),
    "a product": lambda x: mx.nd.dot(x, mx.nd.ones((40, 60))), "a sum": lambda x: x.sum(axis=0),
    "a mean": lambda x: mx.nd.mean(x), "norm": lambda x: mx.nd.norm(x), "argmax": lambda x: mx.nd.argmax(x, axis=1),
    "ones of its shape": lambda x: mx.nd.ones_like(x),
    "rows of a table": lambda x: mx.nd.Embedding(mx.nd.array([1]), x, input_dim=8, output_dim=40),
}


@pytest.mark.parametrize("name", ASKED)
def test_what_is_asked_for_is_in_no_ledger(name, x):
    with mx.config.set(densify="error"), mx.Profiler() as prof:
        made = ASKED[name](x)
    assert made.stype == "default"
    assert (prof.ledger, prof.densified) == ([], 0)
    mx.expect(prof).no_densify()
    assert not any(record["became_dense"] for record in prof.records)
    assert made.why_dense().kind == "asked"
    assert made.why_dense().line.startswith("test_why_dense.py:")


@pytest.mark.parametrize(("read", "target", "size"), [
    (lambda x: x.asnumpy(), "numpy", 8 * 40 * 4), (lambda x: x.asscipy(), "scipy", None), (lambda x: x.tolist(), "numpy", None)])
def test_reads_out_of_the_library_are_events_with_their_bytes(read, target, size, x):
    with mx.Profiler() as prof:
        read(x)
    (event,) = [record for record in prof.records if record["lane"] == "transfer"]
    assert event["name"] == f"copy cpu(0) -> {target}"
    assert event["bytes"] == (size or event["bytes"])
    assert event["bytes"] > 0
    assert event["line"].startswith("test_why_dense.py:")
    assert prof.ledger == []


def test_what_numpy_would_make_dense_silently_is_refused(x):
    for act in (np.asarray, np.array, np.full_like):
        with pytest.raises(mx.base.errors.ConversionError):
            act(x, 1) if act is np.full_like else act(x)


def test_an_array_computed_further_on_is_traced_back_by_a_profiler(x):
    made = (x + 1) * 2
    assert made.why_dense().kind == "unknown"
    with mx.Profiler() as prof:
        made = mx.nd.relu((x + 1) * 2).reshape((40, 8))
        created = mx.nd.ones((3, 4)) * 2
    why = made.why_dense()
    assert (why.kind, why.op, why.source, why.shape) == (NATURAL, "_plus_scalar", "csr", (8, 40))
    assert why.line == prof.ledger[0].line
    assert "dense by nature" in repr(why)
    assert (created.why_dense().kind, created.why_dense().op) == ("created", "_full")
    assert x.why_dense().kind == "sparse"
    assert mx.nd.array(VALUES).why_dense().kind == "unknown"


def test_no_array_is_kept_alive_by_the_record_of_what_made_it_dense(x):
    gc.collect()
    before = len(hooks.densified)
    made = x + 1
    reference = weakref.ref(made._store)
    assert len(hooks.densified) == before + 1
    del made
    assert reference() is None
    assert len(hooks.densified) == before


def test_contracts_choose_what_they_forbid(x):
    with mx.Profiler() as prof:
        x + 1
    refused(mx.ContractError, r"_plus_scalar at test_why_dense.py:.*, dense by nature", lambda: mx.expect(prof).no_densify())
    held = mx.expect(prof).no_densify(allow=NATURAL).densify_at_most(1).densify_at_most(0, allow=NATURAL)
    assert repr(held).startswith("3 contracts hold: no_densify(allow='dense by nature')")
    refused(mx.ContractError, "", lambda: mx.expect(prof).no_densify(allow=FALLBACK))
    refused(mx.UnknownNameError, "dense by natur", lambda: mx.expect(prof).no_densify(allow="dense by natur"))
    with mx.Profiler() as prof:
        x.cos()
    mx.expect(prof).no_densify(allow=FALLBACK)
    refused(mx.ContractError, "", lambda: mx.expect(prof).no_densify(allow=NATURAL))
    with mx.expect().no_densify(allow=NATURAL):
        x + 1


def test_what_is_dense_by_nature_does_not_warn(x):
    with mx.config.set(densify="warn"), warnings.catch_warnings():
        warnings.simplefilter("error")
        x + 1
    assert hooks.ledger[-1].kind == NATURAL
