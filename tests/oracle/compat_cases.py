"""What the names of old programs give, as functions of the package.

``record_compat.py`` runs them with MXNet, the tests with ours.  Each returns plain data.
"""

import contextlib
import warnings

import numpy as np


def symbol_of_a_layer(mx):
    x, w = mx.nd.array([[1.0, 2.0]]), mx.nd.ones((3, 2))
    x.attach_grad()
    w.attach_grad()
    with mx.autograd.record():
        y = mx.nd.FullyConnected(x, w, no_bias=True, num_hidden=3)
        z = mx.nd.elemwise_add(mx.nd.exp(y * 2), y)
    return described(mx.autograd.get_symbol(z))


def symbol_of_many_outputs(mx):
    x = mx.nd.ones((2, 2))
    x.attach_grad()
    with mx.autograd.record():
        z = mx.nd.clip(mx.nd.split(mx.nd.slice_axis(mx.nd.reshape(x, (4, 1)), axis=0, begin=0, end=2), 2, axis=0)[1], 0, 1)
    return described(mx.autograd.get_symbol(z))


def described(symbol):
    """The operators, which outputs are used, and the names without their running numbers."""
    import json

    nodes = json.loads(symbol.tojson())["nodes"]
    strip = str.maketrans("", "", "0123456789")
    return [[node["op"], node["name"].translate(strip), node["inputs"]] for node in nodes]


def optimized_symbol(mx):
    a = mx.sym.var("a")
    b = mx.sym.exp(a * 2, name="e") + a
    executor = b.bind(mx.cpu(), {"a": mx.nd.ones((2,))}, args_grad={"a": mx.nd.zeros((2,))})
    symbol = executor.get_optimized_symbol()
    return [symbol.list_arguments(), len(symbol.list_outputs()), len(symbol.get_internals().list_outputs())]


def last_lines_of_debug_str(mx):
    executor = mx.sym.exp(mx.sym.var("a")).bind(mx.cpu(), {"a": mx.nd.ones((2,))})
    return [line.translate(str.maketrans("0123456789", "9999999999")).replace("99", "9")
            for line in executor.debug_str().strip().splitlines()[-2:]]


def current_things(mx):
    with mx.AttrScope(ctx_group="one"):
        inside = mx.AttrScope.current.get(None)
    with mx.Context("cpu", 2):
        context = str(mx.Context.default_ctx)
    names = mx.name.Prefix("p_")
    with names:
        same = mx.name.NameManager.current is names
    return [mx.AttrScope.current.get(None), inside, context, str(mx.Context.default_ctx), same, mx.Context.devstr2type]


def names_of_base(mx):
    base = mx.base
    return [base.mx_real_t.__name__, [t.__name__ for t in base.string_types], sorted({t.__name__ for t in base.numeric_types}),
            sorted({t.__name__ for t in base.integer_types}), base.py_str(b"abc")]


def error_of_symbols(mx):
    found = []
    for call in (lambda: mx.sym.var("a").asnumpy(), lambda: bool(mx.sym.var("a")), lambda: mx.sym.var("a").wait_to_read()):
        try:
            call()
        except mx.base.NotImplementedForSymbol as error:
            found.append(str(error).splitlines()[0])
    found.append(str(mx.base.NotImplementedForSymbol(len, "abc", 1, "x")))
    return found


def arguments_of_operators(mx):
    found = []
    for name in ("FullyConnected", "dot", "softmax", "clip", "Embedding"):
        found.append([name, mx.operator.get_operator_arguments(name).names[:3]])
    registered = mx.operator.get_all_registered_operators()
    return [*found, [name in registered for name in ("dot", "FullyConnected", "sgd_update", "nonsense")],
            mx.operator.get_operator_arguments("dot").types[:4]]


def inferred_shapes(mx):
    found = []
    for scope in (None, False, True):
        for shape in (None, (0, 2, 3), (-1, 2, 3), (), (2,)):
            for call in ("infer_shape", "infer_shape_partial"):
                with mx.util.np_shape(scope) if scope is not None else contextlib.nullcontext(), warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    data = mx.sym.var("data") if shape is None else mx.sym.var("data", shape=shape)
                    found.append([scope, shape, call, getattr(mx.sym.sin(data), call)()])
    return found


def shapes_of_arrays(mx):
    with mx.util.np_shape(True):
        one = [mx.nd.ones(()), mx.nd.zeros((0, 3)), mx.nd.ones((2, 3)).sum(), mx.nd.array(3.0), mx.nd.array([])]
        return [list(array.shape) for array in one]


def switches_of_shapes(mx):
    util = mx.util

    @util.use_np_shape
    class Kind:
        def method(self):
            return util.is_np_shape()

        @property
        def value(self):
            return util.is_np_shape()

    @util.use_np_shape
    def function():
        return util.is_np_shape()

    return [util.set_np_shape(True), util.is_np_shape(), mx.is_np_shape(), util.set_np_shape(False), util.is_np_shape(),
            Kind().method(), Kind().value, function(), util.is_np_shape(), util.is_np_array()]


def environment_variables(mx):
    util, tests = mx.util, mx.test_utils
    util.setenv("SET_BY_A_TEST", "1")
    found = [util.getenv("SET_BY_A_TEST"), util.getenv("NEVER_SET_BY_A_TEST")]
    with tests.environment("SOME_NAME_OF_A_TEST", "2"):
        found.append(util.getenv("SOME_NAME_OF_A_TEST"))
    with tests.environment({"SOME_NAME_OF_A_TEST": "4", "OTHER_NAME_OF_A_TEST": "3"}):
        found += [util.getenv("SOME_NAME_OF_A_TEST"), util.getenv("OTHER_NAME_OF_A_TEST")]
    found += [util.getenv("SOME_NAME_OF_A_TEST"), util.getenv("OTHER_NAME_OF_A_TEST")]
    util.setenv("SET_BY_A_TEST", None)
    return [*found, util.getenv("SET_BY_A_TEST")]


def store_of_tests(mx):
    store = mx.kv.create("teststore")
    out = [mx.nd.zeros((2,)), mx.nd.zeros((2,))]
    store.broadcast("1", mx.nd.ones((2,)) * 4, out)
    values = [mx.nd.ones((2,)), mx.nd.ones((2,)) * 2]
    found = [array.asnumpy().tolist() for array in out]
    summed = mx.nd.zeros((2,))
    store.pushpull("1", values, out=summed)
    store.pushpull("1", values)
    store.pushpull("3", mx.nd.ones((2,)) * 5, out=out)
    found += [array.asnumpy().tolist() for array in (summed, *values, *out)]
    return [*found, store.type, store.rank, store.num_workers, store.is_capable("optimizer"), type(store).__name__]


def lines_of_a_logger(mx):
    import io
    import re

    logger = mx.log.get_logger("a logger of a test", level=mx.log.INFO)
    logger.propagate = False
    stream = logger.handlers[0].stream = io.StringIO()
    for level in ("debug", "info", "warning", "error", "critical"):
        getattr(logger, level)("said %d", 1)
    lines = [re.sub(r"\d{4} \d\d:\d\d:\d\d \d+ .*:\d+\]", "WHEN AND WHERE]", line) for line in stream.getvalue().splitlines()]
    return [lines, logger.level, len(mx.log.get_logger("a logger of a test", level=mx.log.DEBUG).handlers), logger.level]


def names_of_features(mx):
    features = mx.runtime.Features()
    return [list(features), features.is_enabled("cuda"), repr(mx.runtime.feature_list()[0])]


def helpers_of_tests(mx):
    tests = mx.test_utils
    grid = np.arange(24.0).reshape(2, 3, 4)
    rows = tests.create_sparse_array((5, 2), "row_sparse", data_init=0.5, rsp_indices=[3, 1])
    wide = [tests.np_reduce(grid, axis, keep, np.sum).tolist() for axis, keep in
            ((1, True), (None, False), ((0, 2), True), ((-1,), False))]
    return [wide, tests.same(grid, grid), tests.same(grid, grid + 1), tests.get_rtol(), tests.get_atol(), tests.get_etol(),
            tests.get_rtol(0.5), sorted([str(k), v] for k, v in tests.default_rtols().items()),
            sorted([str(k), v] for k, v in tests.default_atols().items()),
            sorted([str(k), v] for k, v in tests.default_numeric_eps().items()),
            tests.get_tols(np.ones(1, np.float16), np.ones(1), None, None), tests.default_dtype().__name__,
            rows.asnumpy().tolist(), rows.indices.asnumpy().tolist(),
            tests.create_sparse_array_zd((3, 2), "row_sparse", 0.5, 2.0, [0]).indices.asnumpy().tolist(),
            tests.create_2d_tensor(2, 3).asnumpy().tolist(), tests.create_vector(3).asnumpy().tolist(),
            tests.get_identity_mat_batch(2).asnumpy().tolist(), tests.assign_each(grid, lambda x: x + 1).tolist(),
            tests.assign_each2(grid, grid, lambda x, y: x * y).tolist(), tests.collapse_sum_like(grid, (3, 1)).tolist(),
            [*map(int, (*tests.rand_shape_nd(3, 1), *tests.rand_shape_3d(1, 1, 1), *tests.rand_shape_2d(1, 1)))]]


def comparisons(mx):
    """Which pairs of arrays are equal enough."""
    tests = mx.test_utils
    ones, many = np.ones(2, np.float32), np.ones(100)
    apart = many.copy()
    apart[:3] = 2
    calls = [
        lambda: tests.assert_almost_equal(ones, ones + np.float32(1e-3)),
        lambda: tests.assert_almost_equal(ones, ones + np.float32(2e-3)),
        lambda: tests.assert_almost_equal(ones.astype(float), ones + 1e-4),
        lambda: tests.assert_almost_equal(np.ones(2), np.ones(2) + 1e-4),
        lambda: tests.assert_almost_equal(ones.astype(np.float16), np.float16(1.1) * ones),
        lambda: tests.assert_almost_equal(mx.nd.ones((2,)), mx.nd.ones((2,)) + 1),
        lambda: tests.assert_almost_equal(np.array([1, np.nan]), np.array([1, np.nan])),
        lambda: tests.assert_almost_equal(np.array([1, np.nan]), np.array([1, np.nan]), equal_nan=True),
        lambda: tests.assert_almost_equal(np.ones((2, 1)), np.ones((1, 2)), use_broadcast=False),
        lambda: tests.assert_almost_equal_ignore_nan(np.array([1, np.nan]), np.array([1.0, 2])),
        lambda: tests.assert_almost_equal_with_err(many, apart, etol=0.02),
        lambda: tests.assert_almost_equal_with_err(many, apart, etol=0.04),
        lambda: tests.assert_exception(lambda: [][1], IndexError),
        lambda: tests.assert_exception(lambda: 1, IndexError),
        lambda: tests.compare_ndarray_tuple((mx.nd.ones((1,)), None), (mx.nd.ones((1,)) * 2, None)),
        lambda: tests.compare_ndarray_tuple((mx.nd.ones((1,)), None), (mx.nd.ones((1,)), None)),
    ]
    return [raises(call) for call in calls]


def raises(call):
    import contextlib
    import io

    with contextlib.redirect_stdout(io.StringIO()):
        try:
            call()
        except AssertionError:
            return True
    return False


def checks_of_symbols(mx):
    """Which checks of a right and a wrong gradient raise."""
    tests = mx.test_utils
    left, right = mx.sym.var("l"), mx.sym.var("r")
    dot, a, b = mx.sym.dot(left, right), np.array([[1.0, 2], [3, 4]]), np.array([[5.0, 6], [7, 8]])
    ones = np.ones((2, 2))
    root = mx.sym.BlockGrad(mx.sym.sqrt(left)) + left * 0.5  # whose gradient is not its slope
    calls = [
        lambda: tests.check_symbolic_forward(dot, [a, b], [a @ b]),
        lambda: tests.check_symbolic_forward(dot, {"l": a, "r": b}, [a @ b + 1]),
        lambda: tests.check_symbolic_backward(dot, [a, b], [ones], [ones @ b.T, a.T @ ones]),
        lambda: tests.check_symbolic_backward(dot, [a, b], [ones], {"r": a.T @ ones}, grad_req="add"),
        lambda: tests.check_symbolic_backward(dot, [a, b], [ones * 2], {"r": a.T @ ones}),
        lambda: tests.check_numeric_gradient(dot, [a, b], numeric_eps=1e-2, rtol=1e-2, atol=1e-2),
        lambda: tests.check_numeric_gradient(dot, [a, b], numeric_eps=1e-2, rtol=1e-2, atol=1e-2, grad_nodes={"l": "add"}),
        lambda: tests.check_numeric_gradient(root, [a], numeric_eps=1e-2, rtol=1e-2, atol=1e-2),
        lambda: tests.compare_optimizer(mx.optimizer.SGD(), mx.optimizer.SGD(), (3, 4), "float32"),
        lambda: tests.compare_optimizer(mx.optimizer.SGD(), mx.optimizer.SGD(learning_rate=1.0), (3, 4), "float32"),
    ]
    return [raises(call) for call in calls]


def slope_by_differences(mx):
    executor = mx.sym.exp(mx.sym.var("a")).bind(mx.cpu(), {"a": mx.nd.zeros((2,), dtype="float64")})
    found = mx.test_utils.numeric_grad(executor, {"a": np.array([0.0, 1.0])}, eps=1e-2, dtype=np.float64)
    return found["a"].round(6).tolist()


def mask_of_a_symbol(mx):
    """Its names and file, what is inferred, and the result and gradients of a bound symbol and of a block."""
    data, index = mx.sym.var("data"), mx.sym.var("index")
    net = mx.sym.contrib.boolean_mask(data, index, name="mask")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        inferred = [net.infer_shape(data=(3, 2), index=(3,)), net.infer_shape_partial(data=(3, 2), index=(3,)),
                    net.infer_type(data="float64", index="float32")[1][0].__name__, net.infer_type(data="float64")]
    x, y = mx.nd.array([[1, 2], [3, 4], [5, 6]]), mx.nd.array([0, 1, 1])
    gradient = mx.nd.ones((3, 2))
    executor = net.bind(mx.cpu(), {"data": x, "index": y}, {"data": gradient})
    results = [executor.forward(is_train=True)[0].asnumpy().tolist()]
    executor.backward(mx.nd.array([[1, 2], [3, 4]]))
    results.append(gradient.asnumpy().tolist())
    block = mx.gluon.SymbolBlock(mx.sym.sum(net * 2, axis=1), [data, index])
    x.attach_grad()
    with mx.autograd.record():
        made = block(x, y)
    made.backward()
    results += [made.asnumpy().tolist(), x.grad.asnumpy().tolist(), block(x, mx.nd.array([0, 0, 1])).asnumpy().tolist()]
    return [net.list_arguments(), net.list_outputs(), net.tojson(), inferred, results,
            mx.sym.contrib.boolean_mask(data).list_arguments()[1][-6:]]


def old_autograd(mx):
    """``mx.contrib.autograd`` of 2017."""
    old = mx.contrib.autograd
    x, y = mx.nd.array([1.0, 2.0]), mx.nd.array([3.0, 5.0])
    found = [[[gradient.asnumpy().tolist() for gradient in call(x, y)] for call in (
        old.grad(lambda a, b: a * b + a), old.grad(lambda a, b: [a * b, a * 2], argnum=1), old.grad(lambda a, b: a * b, [1, 0]))]]
    gradients, loss = old.grad_and_loss(lambda a: (a * a).sum())(x)
    found += [gradients[0].asnumpy().tolist(), loss.asnumpy().tolist()]
    now = lambda: [mx.autograd.is_recording(), mx.autograd.is_training()]  # noqa: E731
    with old.train_section():
        found.append(now())
        with old.test_section():
            found.append(now())
        with old.TrainingStateScope(False):
            found.append(now())
        found.append(now())
    found += [now(), old.set_is_training(True), now(), old.set_is_training(False), now()]
    sums = mx.nd.zeros((2,))
    old.mark_variables([x], [sums], "add")
    for heads in (None, [mx.nd.array([2.0, 3.0])]):
        with old.train_section():
            z = x * y
        old.backward([z], heads, retain_graph=True)
        old.compute_gradient([z])
    refused = []
    for call in (lambda: old.backward(z), lambda: old.grad(lambda a: a)(3)):
        try:
            call()
        except AssertionError:
            refused.append(True)
    return [*found, sums.asnumpy().tolist(), refused]


def old_names_of_operators(mx):
    """Operators of ``_internal`` by their names before 2017."""
    a, b, found = mx.nd.array([1, 2, 3]), mx.nd.array([3, 2, 0.5]), {}
    words = ["Div", "Equal", "Greater", "Greater_Equal", "Hypot", "Lesser", "Lesser_Equal", "Logical_And", "Logical_Or",
             "Logical_Xor", "Maximum", "Minimum", "Minus", "Mod", "Mul", "Not_Equal", "Plus", "Power"]
    for word in words:
        found[word] = getattr(mx.nd._internal, f"_{word}")(a, b).asnumpy().round(5).tolist()
    for word in [word.replace("_", "") for word in words] + ["RDiv", "RMinus", "RMod", "RPower"]:
        name = f"_{word}Scalar"
        with mx.name.NameManager():  # which counts from 0
            symbol = getattr(mx.sym._internal, name)(mx.sym.var("a"), scalar=2.0)
        found[name] = [getattr(mx.nd._internal, name)(a, scalar=2.0).asnumpy().round(5).tolist(), symbol.name,
                       symbol.get_internals().tojson().count("_scalar")]
    copied = mx.nd.zeros(3)
    mx.nd._internal._copyto(a, out=copied)
    return [found, copied.asnumpy().tolist(), mx.nd._internal._zeros(shape=(2,)).asnumpy().tolist(),
            mx.nd._internal._ones(shape=(2,), dtype="int32").asnumpy().tolist()]


CASES = [value for name, value in list(globals().items()) if callable(value) and getattr(value, "__module__", "") == __name__
         and name not in ("described", "raises")]
