"""Bytes moved by operators that write to their inputs, beside arrays that count what is read of them.

The formulas of ``tests/references`` run on arrays that count, of which numpy reads what it needs.  What is written is seen from
outside: an array that an operator changed was written to, in the rows that it changed.
"""

import itertools

import numpy as np
import pytest

import sparsekit as mx
from sparsekit import autograd, gluon
from sparsekit.core.dispatch import invoke
from sparsekit.core.op import registry
from sparsekit.optimizer import Optimizer
from sparsekit.profiler.torch_operators import TorchOperator
from tests.references import REFERENCES
from tests.references import updates as formulas

MUTATING = {op.name: op for op in registry.values() if op.mutates}
ROWS, SHAPE = [3, 5, 20], (50, 4)


class Counting(np.lib.mixins.NDArrayOperatorsMixin):
    """An array of which each element that numpy reads is marked; with ``rows``, it stands for these alone."""

    def __init__(self, values, rows=slice(None), marks=None):
        self.values, self.rows = values, rows
        self.marks = np.zeros(values.shape, bool) if marks is None else marks
        self.shape, self.dtype = values[rows].shape if values.ndim else (), values.dtype

    def of(self, rows):
        return Counting(self.values, rows, self.marks)

    def __array__(self, dtype=None, copy=None):
        self.marks[self.rows] = True
        return self.values[self.rows].astype(dtype or np.float64)

    def __array_ufunc__(self, ufunc, method, *inputs, **more):
        return getattr(ufunc, method)(*[np.asarray(one) if isinstance(one, Counting) else one for one in inputs], **more)

    def __getattr__(self, name):
        if name.startswith("__"):  # numpy asks for ways to read that are not there
            raise AttributeError(name)
        return getattr(np.asarray(self), name)

    def __getitem__(self, key):
        return np.asarray(self)[key]

    def __len__(self):
        return self.shape[0]


def lamb(weight, *arrays, lr, lower_bound, upper_bound, **attrs):
    """Both phases; the norm of the weight is that of all its rows."""
    np.asarray(weight.of(slice(None)))
    made, states = formulas.lamb_phase1(weight, *arrays, **attrs)
    return made, states


def langevin(weight, grad, lr, wd, rescale_grad, clip_gradient, **attrs):
    return weight - lr / 2 * (formulas.clipped(grad * rescale_grad, clip_gradient) + wd * weight), ()


#: The steps that the references have no formula for, or not one that can be read so.
MORE = {"sgld_update": langevin, "_lamb_update": lamb}


def formula(name, training):
    """What an operator computes, from its name; a step of a float16 weight is that of its float32 copy."""
    if name in MORE:
        return formulas._written(MORE[name])
    if name in REFERENCES:
        reference = REFERENCES[name]
        return (training and reference.trained) or reference.value
    assert name.startswith("_mp_"), f"write down the formula of {name}"
    plain, = {one for one in (*MORE, *formulas.STEPS) if one.removeprefix("_contrib").removeprefix("_sparse").removeprefix("_")
              == name.removeprefix("_mp_")}
    return formulas.precise({**formulas.STEPS, **MORE}[plain])


def values_of(array):
    """The values of an array as numpy has them, of which nothing is shared."""
    return array.tostype("default").asnumpy().copy()


def gradients_of(name, arrays, attrs):
    """Places of the gradients among the inputs of a step, and how many arrays belong to each."""
    op = MUTATING.get(name)
    if getattr(op, "group", 0):
        return range(1, op.group * attrs[op.counter], op.group), op.group
    return (1,), len(arrays)


def expected(record, before, after, arrays, training):
    """Bytes that a call reads and writes, from the values before and after it; ``arrays`` are its inputs.

    A step that changed no row but those that the gradient stores has visited these alone.
    """
    changed = [(new != old).reshape(len(new), -1).any(axis=1) for old, new in zip(before, after, strict=True)]
    written = [place for place, rows in enumerate(changed) if rows.any()]
    gradients, group = gradients_of(record["name"], arrays, record["attrs"])
    counting = [Counting(values) for values in before]
    given, total, sizes = list(counting), 0, {place: before[place].nbytes for place in written}
    for gradient in gradients:
        if arrays[gradient].stype == "row_sparse":
            places, rows = range(gradient - 1, gradient - 1 + group), arrays[gradient].indices.asnumpy()
            total += arrays[gradient].data.asnumpy().nbytes + rows.nbytes
            counting[gradient].marks = np.zeros(0)
            if set(np.flatnonzero(np.any([changed[place] for place in places if place in written], axis=0))) <= set(rows):
                given[places.start:places.stop] = [one.of(rows) if one.shape[:1] == given[gradient].shape[:1] else one
                                                   for one in given[places.start:places.stop]]
                sizes.update({place: len(rows) * before[place][0].nbytes for place in places if place in written})
                given[gradient].marks = np.zeros(before[gradient].shape)
    with np.errstate(invalid="ignore"):
        made = formula(record["name"], training)(*given, **record["attrs"])
    for one in made:
        np.asarray(one)  # what is given on has been read
    results, held = made[:len(made) - len(written)], made[len(made) - len(written):]
    total += sum(array.indices.asnumpy().nbytes for place, (array, one) in enumerate(zip(arrays, given, strict=True))
                 if array.stype == "row_sparse" and place not in (*gradients, *written) and one.marks.all())
    if getattr(MUTATING.get(record["name"]), "visible", None) is not None:
        results = results[:1]
    new = [output for output, result in zip(record["outputs"], results, strict=False) if not any(result is one for one in held)]
    return int(total + sum(sizes.values()) + sum(one.marks.sum() * one.dtype.itemsize for one in counting)
               + sum(output["bytes"] for output in new))


def measured(call, arrays, *arguments, training=False):
    """The event of a call that writes to its inputs, ``arrays``, and the bytes that the counting arrays say."""
    before = [values_of(array) for array in arrays]
    with mx.Profiler() as prof, autograd.train_mode() if training else autograd.predict_mode():
        call(*arguments)
    record, = [record for record in prof.records if record["name"] in MUTATING or record["lane"] == "update"]
    after, count = [values_of(array) for array in arrays], len(record["inputs"])  # the optimizer Test has a state of no operator
    return record, expected(record, before[:count], after[:count], arrays[:count], training)


def samples(name):
    """Samples of an operator, with weight decay, and with two weights where it takes several."""
    op = MUTATING[name]
    for arrays, attrs in op.sample():
        attrs = {**attrs, **({"wd": 0.1} if "wd" in op.attrs else {})}
        group = getattr(op, "group", 0)
        if group:
            rest = [np.repeat(one, 2) if len(one) == 1 and op.name.startswith("pre") else one for one in arrays[group:]]
            arrays = [*arrays[:group], *[np.array(one[::-1]) for one in arrays[:group]], *rest]
            attrs = {key: value * 2 if isinstance(value, tuple) else value for key, value in attrs.items()}
            attrs[op.counter] = 2
        yield arrays, attrs


def dense(array):
    return mx.nd.array(array, dtype=array.dtype)


def of_rows(array, rows):
    return mx.nd.sparse.row_sparse_array((array[rows], rows), shape=array.shape, dtype=array.dtype)


@pytest.mark.parametrize("training", [False, True], ids=["prediction", "training"])
@pytest.mark.parametrize("name", sorted(MUTATING))
def test_what_an_operator_writes_to_its_inputs_counts(name, training):
    for arrays, attrs in samples(name):
        inputs = [dense(array) for array in arrays]
        record, bytes_moved = measured(invoke, inputs, MUTATING[name].bind(attrs), tuple(inputs), training=training)
        hidden = sum(one["bytes"] for one in record["outputs"][1:]) if MUTATING[name].visible is not None else 0
        assert record["bytes"] == bytes_moved + hidden, attrs


@pytest.mark.parametrize("weights", ["default", "row_sparse"])
@pytest.mark.parametrize("name", sorted(name for name, op in MUTATING.items() if op.lane == "update"))
def test_of_a_row_sparse_gradient_the_rows_that_a_step_visits_count(name, weights):
    op, found = MUTATING[name], set()
    for (arrays, attrs), lazy in itertools.product(samples(name), (True, False)):
        attrs = {**attrs, "lazy_update": lazy} if "lazy_update" in op.attrs else attrs
        gradients, _ = gradients_of(name, arrays, attrs)
        inputs = [of_rows(array + 1.5, [0, 1][place > 1:]) if place in gradients
                  else of_rows(array, list(range(len(array)))) if weights == "row_sparse" and array.shape[0] == arrays[0].shape[0]
                  else dense(array) for place, array in enumerate(arrays)]
        bound = op.bind(attrs)
        if op.find_rule(tuple(one.stype for one in inputs), bound.attrs) is None:
            continue
        record, bytes_moved = measured(invoke, inputs, bound, tuple(inputs))
        found.add((lazy, record["bytes"] == bytes_moved))
    assert found <= {(True, True), (False, True)}


# Optimizers, as they are used


#: Settings of each optimizer that choose another step.
SETTINGS = {"sgd": [{}, {"momentum": 0.9}], "nag": [{}, {"momentum": 0.9}], "ccsgd": [{}], "signum": [{}, {"momentum": 0.0}],
            "dcasgd": [{}, {"momentum": 0.9}], "rmsprop": [{}, {"centered": True}], "lars": [{}, {"momentum": 0.9}],
            "lbsgd": [{}, {"momentum": 0.9}]}


def arrays_of(state):
    """The arrays of a state, a copy of the weight last."""
    if isinstance(state, (tuple, list)):
        return [array for one in state for array in arrays_of(one)]
    return [] if state is None else [state]


@pytest.mark.parametrize("half", [False, True], ids=["float32", "float16"])
@pytest.mark.parametrize("kind", ["dense", "lazy", "not lazy", "row_sparse weight"])
@pytest.mark.parametrize("name", sorted(Optimizer.opt_registry))
def test_a_step_of_an_optimizer_counts_what_it_reads_and_writes(name, kind, half):
    draw, half = np.random.default_rng(1), half and name != "test"  # which has no step of its own for float16 weights
    for settings, decay in itertools.product(SETTINGS.get(name, [{}]), (0.0, 0.1) if name != "groupadagrad" else (0.0,)):
        optimizer = mx.optimizer.create(name, learning_rate=0.1, wd=decay, multi_precision=half, **settings)
        if hasattr(optimizer, "lazy_update"):
            optimizer = mx.optimizer.create(name, learning_rate=0.1, wd=decay, multi_precision=half,
                                            lazy_update=kind != "not lazy", **settings)
        dtype = "float16" if half else "float32"
        values = [draw.uniform(0.5, 1.5, SHAPE).astype(dtype) for _ in range(3)]
        weight = of_rows(values[0], list(range(SHAPE[0]))) if kind == "row_sparse weight" else dense(values[0])
        state = optimizer.create_state_multi_precision(0, weight)
        optimizer.update_multi_precision(0, weight, dense(values[1]), state)
        gradient = dense(values[2]) if kind == "dense" else of_rows(values[2], ROWS)
        for array in (weight, *arrays_of(state)):  # whatever a step computes anew is another value
            array[:] = mx.nd.array(draw.uniform(0.5, 1.5, array.shape), dtype=array.dtype).tostype(array.stype)
        states = sorted(arrays_of(state), key=lambda array: array.shape == SHAPE)
        record, bytes_moved = measured(optimizer.update_multi_precision, [weight, gradient, *states], 0, weight, gradient, state)
        assert record["bytes"] == bytes_moved, (settings, decay, record["name"])


# Compiled steps, and stores


def trained(hybrid, optimizer, gradient, profiled=2):
    """Bytes that the operators of a network's steps move, by lane and name, in steps after the first ones."""
    mx.random.seed(0)
    net = gluon.nn.HybridSequential()
    net.add(gluon.nn.Embedding(100, 8, sparse_grad=gradient == "row_sparse"), gluon.nn.Flatten(), gluon.nn.Dense(6, in_units=24),
            gluon.nn.BatchNorm(in_channels=6), gluon.nn.Dense(1, in_units=6))
    net.initialize()
    if hybrid:
        net.hybridize()
    trainer = gluon.Trainer(net.collect_params(), optimizer, {"learning_rate": 0.1})
    data, label, loss = mx.nd.array([[1, 2, 3], [4, 5, 1]]), mx.nd.array([[0.0], [1.0]]), gluon.loss.L2Loss()

    def step():
        with autograd.record():
            error = loss(net(data), label)
        error.backward()
        trainer.step(2)

    for _ in range(6):
        step()
    with mx.Profiler() as prof:
        for _ in range(profiled):
            step()
    return sorted((record["lane"], record["name"], record["bytes"]) for record in prof.records
                  if record["lane"] == "update" or record["name"] == "BatchNorm")


@pytest.mark.parametrize("gradient", ["default", "row_sparse"])
@pytest.mark.parametrize("optimizer", ["sgd", "adam", "adagrad", "rmsprop", "lamb"])
def test_tables_count_as_operators_do(optimizer, gradient):
    plain = trained(False, optimizer, gradient)
    assert trained(True, optimizer, gradient) == plain
    assert {lane for lane, _, _ in plain} == {"forward", "update"}


def test_running_averages_count_in_training_alone():
    net = gluon.nn.BatchNorm(in_channels=1000)
    net.initialize()
    data, moved = mx.nd.ones((2, 1000)), {}
    for hybrid in (False, True):
        if hybrid:
            net.hybridize()
        for _ in range(3):  # both modes in turn, of plans that are known
            for training in (True, False):
                with mx.Profiler() as prof, autograd.train_mode() if training else autograd.predict_mode():
                    net(data)
                record, = [record for record in prof.records if record["name"] == "BatchNorm"]
                moved.setdefault(training, set()).add(record["bytes"])
    (trained_bytes,), (predicted,) = moved[True], moved[False]
    assert trained_bytes - predicted == 2 * 4 * 1000


def test_a_store_counts_a_step_as_a_trainer_does():
    weight, gradient, found = mx.nd.ones((100, 8)), mx.nd.ones((100, 8)), []
    store = mx.kv.create("local")
    store.init("w", weight)
    store.set_optimizer(mx.optimizer.Adam())
    with mx.Profiler() as prof:
        store.push("w", gradient)
    found = [record["bytes"] for record in prof.records if record["name"] == "adam_update"]
    assert found == [7 * weight.nbytes]


def test_a_sum_of_dense_and_sparse_reads_all_of_the_dense_array():
    left, right = mx.nd.ones((100, 8)), of_rows(np.ones((100, 8), np.float32), [3, 5])
    with mx.Profiler() as prof:
        made = left + right
    record, = [record for record in prof.records if record["kind"] == "op"]
    assert record["bytes"] == 2 * made.nbytes + right.nbytes


def test_a_step_that_is_not_lazy_rounds_all_of_a_float16_weight():
    """Its state has another storage type than the weight; so each row of the copy changes, and each row of the weight."""
    weight, state, copy = (mx.nd.ones((50, 4)) for _ in range(3))
    arrays = weight.astype("float16"), of_rows(np.ones((50, 4), np.float16), [3]), state.tostype("row_sparse"), copy
    invoke(MUTATING["mp_sgd_mom_update"].bind({"lr": 0.1, "momentum": 0.9, "wd": 0.5}), arrays)
    np.testing.assert_array_equal(arrays[0].asnumpy(), copy.asnumpy().astype("float16"))
    assert (arrays[0].asnumpy() != 1).all()


@pytest.mark.parametrize(("name", "sizes", "moved"), [
    ("copy_", (100, 40), 140), ("embedding", (4000, 16), 216), ("fill_", (100, 8), 100), ("empty", (100,), 0),
    ("mm", (60, 40), 200),
])
def test_operators_of_torch_move_what_they_read_and_write(name, sizes, moved):
    def dense(size):
        return {"stype": "default", "shape": [size // 4], "bytes": size, "components": {"data": size}, "nnz": size // 4}

    assert TorchOperator(f"aten::{name}", False).moved([dense(size) for size in sizes], [dense(100)]) == moved
