"""Random graphs: ``infer_shape`` accepts what runs on arrays, with the same shapes, and refuses what does not."""

import warnings

import numpy as np
import pytest

import sparsekit as mx
from sparsekit.base.errors import SparsekitError
from tests.calls import refused
from tests.sampling import some

SIZES = (1, 2, 3, 4, 6)


@pytest.fixture(autouse=True)
def any_index_will_do(monkeypatch):
    monkeypatch.setattr(mx.config, "indices", "allow")


def _axis(random):
    return int(random.integers(-2, 3))


def _sizes(random):
    return tuple(int(size) for size in random.choice(SIZES, random.integers(1, 4)))


#: Operator -> how many inputs, and its attributes drawn at random.
OPERATORS = {
    "transpose": (1, lambda random: {"axes": tuple(map(int, random.permutation(int(random.integers(2, 4)))))}
                  if random.random() < 0.5 else {}),
    "reshape": (1, lambda random: {"shape": [(-1, 2), (0, -1), (-2,), (-3, -2), (2, 3), (6, -1)][random.integers(6)]}),
    "elemwise_add": (2, None), "elemwise_mul": (2, None), "broadcast_add": (2, None), "broadcast_maximum": (2, None),
    "dot": (2, lambda random: {"transpose_b": bool(random.integers(2))}), "batch_dot": (2, None),
    "concat": (2, lambda random: {"dim": _axis(random)}), "stack": (2, lambda random: {"axis": _axis(random)}),
    "FullyConnected": (3, lambda random: {"num_hidden": int(random.choice(SIZES)), "flatten": bool(random.integers(2))}),
    "SliceChannel": (1, lambda random: {"num_outputs": int(random.choice((1, 2, 3))), "axis": _axis(random),
                                        "squeeze_axis": bool(random.integers(2))}),
    "expand_dims": (1, lambda random: {"axis": _axis(random)}), "squeeze": (1, None), "Flatten": (1, None),
    "sum": (1, lambda random: {"axis": _axis(random), "keepdims": bool(random.integers(2))}),
    "slice_axis": (1, lambda random: {"axis": _axis(random), "begin": 0, "end": int(random.integers(1, 4))}),
    "SwapAxis": (1, lambda random: {"dim1": 0, "dim2": _axis(random)}), "softmax": (1, lambda random: {"axis": _axis(random)}),
    "tile": (1, lambda random: {"reps": _sizes(random)[:2]}), "relu": (1, None), "reshape_like": (2, None),
    "broadcast_to": (1, lambda random: {"shape": _sizes(random)}), "broadcast_like": (2, None), "where": (3, None),
    "LayerNorm": (3, None), "take": (2, lambda random: {"axis": 0}), "pick": (2, None), "slice_like": (2, None),
    "SoftmaxOutput": (2, None), "LinearRegressionOutput": (2, None), "BatchNorm": (5, None), "L2Normalization": (1, None),
    "Embedding": (2, lambda random: {"input_dim": int(random.choice(SIZES)), "output_dim": int(random.choice(SIZES))}),
    "_equal": (2, None), "add_n": (3, None), "Dropout": (1, None), "LeakyReLU": (2, lambda random: {"act_type": "prelu"}),
}


#: Operators that take other shapes than the one that inference chooses for an input, as MXNet's does.
CHOOSING = {"LeakyReLU", "LinearRegressionOutput", "SoftmaxOutput"}


def graph(random):
    """Shapes of variables, and operators: (name, places of the inputs among variables and results, attributes)."""
    shapes = [_sizes(random) for _ in range(int(random.integers(2, 5)))]
    if random.random() < 0.7:  # shapes that may fit each other
        shapes = [tuple(random.permutation(shapes[0]).tolist()) if random.random() < 0.7 else shape for shape in shapes]
    steps = []
    for number in range(int(random.integers(1, 5))):
        name = list(OPERATORS)[int(random.integers(len(OPERATORS)))]
        count, attributes = OPERATORS[name]
        latest = len(shapes) + number - 1 if number else int(random.integers(len(shapes)))
        places = [latest, *(int(place) for place in random.integers(0, len(shapes) + number, count - 1))]
        steps.append((name, places, attributes(random) if attributes else {}))
    return shapes, steps


def run(F, leaves, steps):
    """The results of all steps, on arrays or symbols."""
    held, made = list(leaves), []
    for name, places, attrs in steps:
        found = getattr(F, name) if hasattr(F, name) else getattr(F._internal, name)
        out = found(*[held[place] for place in places], **attrs)
        outputs = out if isinstance(out, list) else [out[number] for number in range(len(out))] if F is mx.sym else [out]
        held.append(outputs[0])
        made += outputs
    return made


def eager(shapes, steps):
    """The shapes of the results on arrays, or None if they are refused."""
    try:
        return [one.shape for one in run(mx.nd, [mx.nd.ones(shape) for shape in shapes], steps)]
    except SparsekitError:
        return None


def inferred(shapes, steps):
    """Shapes of the variables that are used and of the results; None if they are refused, and no results if unknown."""
    leaves = [mx.sym.Variable(f"x{number}") for number in range(len(shapes))]
    try:
        whole = mx.sym.Group(run(mx.sym, leaves, steps))
        names = whole.list_inputs()
        given = {f"x{number}": shape for number, shape in enumerate(shapes) if shape is not None and f"x{number}" in names}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            found = whole.infer_shape(**given)
    except SparsekitError:
        return None
    if found[0] is None:
        return {}, None
    known = dict(zip([*whole.list_arguments(), *whole.list_auxiliary_states()], [*found[0], *found[2]], strict=True))
    return known, found[1]


@pytest.mark.parametrize("seed", some(range(40), one_in=2))
def test_inference_accepts_what_runs_and_refuses_what_does_not(seed):
    random = np.random.default_rng(seed)
    for _ in range(60):
        shapes, steps = graph(random)
        wanted, found = eager(shapes, steps), inferred(shapes, steps)
        assert (found is None) == (wanted is None), (shapes, steps, wanted, found)
        assert found is None or found[1] == wanted, (shapes, steps, wanted, found)


@pytest.mark.parametrize("seed", some(range(40), one_in=2))
def test_what_is_inferred_backwards_runs(seed):
    random = np.random.default_rng(1000 + seed)
    for _ in range(60):
        shapes, steps = graph(random)
        if CHOOSING & {name for name, _, _ in steps}:
            continue
        withheld = [shape if random.random() < 0.6 else None for shape in shapes]
        found = inferred(withheld, steps)
        if found is None:
            assert eager(shapes, steps) is None, (shapes, withheld, steps)  # else there is an answer
        elif found[1] is not None:
            completed = [found[0].get(f"x{number}", shape) for number, shape in enumerate(shapes)]
            assert eager(completed, steps) == found[1], (completed, withheld, steps, found)


def test_a_contradiction_names_both_operators():
    x = mx.sym.Variable("x")
    turned = mx.sym.transpose(x, name="turned") + mx.sym.Variable("one", shape=(2, 3))
    straight = mx.sym.elemwise_add(x, mx.sym.Variable("other", shape=(2, 3)), name="straight")
    for both in (mx.sym.Group([turned, straight]), mx.sym.Group([straight, turned])):
        for refuse in (both.infer_shape, both.infer_shape_partial, lambda both=both: both.simple_bind(mx.cpu())):
            refused(mx.ShapeError, r"turned.*\(3, 2\)|\(3, 2\).*turned", refuse)


@pytest.mark.parametrize("axes", [None, (1, 0), (-1, 0), (1, -2), (0, 1), (2, 1, 0), (0, 2, 1), (0,)])
@pytest.mark.parametrize("shape", [(4,), (4, 3), (4, 3, 2)])
@pytest.mark.parametrize("stype", ["default", "csr", "row_sparse"])
def test_transpose_has_one_storage_type_on_arrays_when_bound_and_in_a_block(stype, shape, axes, monkeypatch):
    monkeypatch.setattr(mx.config, "densify", "allow")
    if (stype == "csr" and len(shape) != 2) or (axes and len(axes) != len(shape)):
        return  # no such array, or no order of its axes
    attrs = {} if axes is None else {"axes": axes}
    dense = np.arange(np.prod(shape), dtype=np.float32).reshape(shape)
    dense[1] = 0
    x, symbol = mx.nd.array(dense).tostype(stype), mx.sym.transpose(mx.sym.Variable("x"), **attrs)
    net = mx.gluon.nn.HybridLambda(lambda F, x: F.transpose(x, **attrs))
    net.hybridize()
    bound = symbol.simple_bind(mx.cpu(), x=shape, stype_dict={"x": stype})
    made = [mx.nd.transpose(x, **attrs), mx.nd.sparse.transpose(x, **attrs), bound.forward(x=x)[0],
            symbol.eval(x=x)[0], net(x), net(x)]
    assert {one.stype for one in made} == {made[0].stype}
    for one in made:
        np.testing.assert_array_equal(one.asnumpy(), dense.transpose(axes))
    assert symbol.graph(x=x).table.rows[-1][3].startswith(made[0].stype)
    declared = mx.sym.transpose(mx.sym.Variable("x", shape=shape), **attrs)
    for one in (declared, symbol) if len(shape) == 2 else (declared,):  # without shapes, arrays are taken to be matrices
        assert one.infer_storage_type(x=stype)[1] == [made[0].stype]
    if stype == "row_sparse" and axes is None:
        assert made[0].stype == {1: "row_sparse", 2: "csr", 3: "default"}[len(shape)]


def test_a_result_without_axes_is_known():
    """As in MXNet 1.9.1."""
    a, b = mx.sym.Variable("a"), mx.sym.Variable("b")
    close = mx.sym.contrib.allclose(a, b)
    assert close.infer_shape(a=(2,), b=(2,)) == ([(2,), (2,)], [()], [])
    assert mx.nd.contrib.allclose(mx.nd.ones(2), mx.nd.ones(2)).shape == ()
    with pytest.warns(UserWarning, match="Cannot decide"):
        assert close.infer_shape() == (None, None, None)


@pytest.mark.parametrize("rows", [2, 3])
def test_a_variable_that_would_have_no_rows_is_not_decided(rows):
    """Of a joined array of ``rows`` rows all are taken, or more than all."""
    x, y = mx.sym.Variable("x"), mx.sym.Variable("y")
    net = mx.sym.elemwise_add(mx.sym.concat(x, y, dim=0), mx.sym.Variable("z", shape=(2, 3)))
    with pytest.warns(UserWarning, match="Cannot decide"):
        assert net.infer_shape(x=(rows, 3)) == (None, None, None)
    refused(mx.ShapeError, r"cannot decide shapes for y: \(0, 3\)", net.simple_bind, mx.cpu(), x=(rows, 3))
    assert net.infer_shape(x=(1, 3))[0] == [(1, 3), (1, 3), (2, 3)]


def test_split_v2_by_its_internal_name_takes_mxnets_indices():
    """They begin with 0; the function adds it."""
    x = mx.nd.array(np.arange(20).reshape(4, 5))
    for places in ((), (1, 3), (2,)):
        wanted = np.split(x.asnumpy(), places)
        symbol = mx.sym._internal._split_v2(mx.sym.Variable("a"), indices=(0, *places))
        assert len(symbol) == len(wanted)
        made = mx.nd._internal._split_v2(x, indices=(0, *places))
        for parts in (made, mx.nd.split_v2(x, places), symbol.eval(a=x), mx.sym.split_v2(mx.sym.Variable("a"), places).eval(a=x),
                      mx.sym.load_json(symbol.tojson()).eval(a=x)):
            parts = parts if isinstance(parts, list) else [parts]
            assert [part.asnumpy().tolist() for part in parts] == [part.tolist() for part in wanted]
    for wrong in (lambda: mx.nd._internal._split_v2(x, indices=(1, 3)),
                  lambda: mx.sym._internal._split_v2(mx.sym.Variable("a"), indices=(1, 3)).infer_shape(a=(4, 5))):
        refused(mx.ShapeError, "begin with 0", wrong)


@pytest.mark.parametrize("odd", [[], {}, 3, "dense", np.ones(2), object()])
def test_a_storage_type_that_is_none_is_named(odd):
    refused(mx.StorageTypeError, "a was given the unknown storage type ", mx.sym.Variable("a").infer_storage_type, a=odd)
