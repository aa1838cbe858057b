"""What exists for programs written for MXNet alone gives what MXNet 1.9.1 gives."""

import contextlib
import hashlib
import importlib.util
import json
import logging
import os
import shutil
import threading
import warnings
import zipfile
from pathlib import Path

import numpy as np
import pytest
from sparsekit.gluon.model_zoo import model_store
from sparsekit.gluon.model_zoo.model_store import get_model_file, purge, short_hash

import sparsekit as mx
from sparsekit import registry
from sparsekit.base.errors import (
    DTypeError,
    GradientError,
    NotImplementedForSymbol,
    ParameterError,
    ShapeError,
    UnknownNameError,
    UnsupportedError,
)
from sparsekit.base.registry import registries
from tests.calls import differentiated, initialized, refused, stack, variable

TESTS = Path(__file__).resolve().parents[1]
GOLDEN = dict(json.loads((TESTS / "golden" / "compat.json").read_text(encoding="utf-8"))["cases"])


def _cases():
    spec = importlib.util.spec_from_file_location("compat_cases", TESTS / "oracle" / "compat_cases.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.CASES


CASES = {case.__name__: case for case in _cases()}


@pytest.fixture(autouse=True)
def _as_it_was():
    yield
    mx.util.set_np_shape(False)
    logging.getLogger("a logger of a test").handlers.clear()


def test_every_case_is_recorded():
    assert list(CASES) == list(GOLDEN)


@pytest.mark.parametrize("name", CASES)
def test_what_mxnet_gives(name):
    found = CASES[name](mx)
    assert json.loads(json.dumps(found)) == GOLDEN[name]


# symbols of what was recorded


def test_the_symbol_of_a_recording_computes_the_same():
    x, w, c = (mx.nd.random.normal(shape=shape) for shape in ((4, 3), (5, 3), (4, 5)))
    for array in (x, w):
        array.attach_grad()
    with mx.autograd.record():
        y = mx.nd.log_softmax(mx.nd.FullyConnected(x, w, no_bias=True, num_hidden=5) * 3 + c, axis=1)[1:3]
    symbol = mx.autograd.get_symbol(y)
    assert symbol.list_arguments() == ["var0", "var1", "null0"]
    executor = symbol.bind(mx.cpu(), [x, w, c])
    assert executor.forward()[0].asnumpy().tolist() == y.asnumpy().tolist()


def test_an_array_without_history_has_no_symbol():
    refused(GradientError, "not computed while recording", mx.autograd.get_symbol, mx.nd.ones((2,)))
    refused(DTypeError, "", mx.autograd.get_symbol, 3)


def test_the_symbol_of_a_hybridized_block_lists_its_operators():
    net = initialized(stack(mx.gluon.nn.Dense(4, activation="relu", in_units=3), mx.gluon.nn.Dense(2, in_units=4)))
    x = mx.nd.random.normal(shape=(5, 3))
    made = []
    for active in (False, True):
        net.hybridize(active)
        with mx.autograd.record():
            y = net(x) * 2
        made.append(mx.autograd.get_symbol(y))
    assert made[0].tojson() == made[1].tojson()
    values = {parameter._arrays[mx.cpu()]._entry[0].id: parameter.data() for parameter in net.collect_params().values()}
    order = [values[number] for number in sorted(values)]  # as var0, var1 … are numbered
    arrays = {f"var{place}": array for place, array in enumerate(order)} | {"null0": x}
    np.testing.assert_array_equal(made[1].bind(mx.cpu(), arrays).forward()[0].asnumpy(), y.asnumpy())


def test_a_recorded_function_has_no_symbol():
    class Twice(mx.autograd.Function):
        def forward(self, x):
            return x * 2

        def backward(self, dy):
            return dy * 2

    x = variable(mx.nd.ones((2,)))
    with mx.autograd.record():
        y = Twice()(x)
    refused(UnsupportedError, "Function", mx.autograd.get_symbol, y)


def test_the_optimized_symbol_outlives_a_reshape():
    executor = mx.sym.exp(mx.sym.var("a")).simple_bind(mx.cpu(), a=(2,))
    assert executor.reshape(a=(1,)).get_optimized_symbol().tojson() == executor.get_optimized_symbol().tojson()


# shapes


def test_the_meaning_of_zero_belongs_to_a_thread_and_ends_with_its_block():
    seen = []

    def fails_inside():
        with mx.np_shape():
            worker = threading.Thread(target=lambda: seen.append(mx.is_np_shape()))
            worker.start()
            worker.join()
            seen.append(mx.is_np_shape())
            raise KeyError

    refused(KeyError, "", fails_inside)
    assert (seen, mx.is_np_shape()) == ([False, True], False)


def test_parameters_wait_for_their_sizes_inside_np_shape():
    net = initialized(stack(mx.gluon.nn.Dense(3), mx.gluon.nn.Dense(2)))
    with mx.np_shape():
        assert net(mx.nd.ones((4, 5))).shape == (4, 2)
    assert net[0].weight.shape == (3, 5)


def test_only_functions_and_classes_are_decorated():
    refused(DTypeError, "can only decorate", mx.util.use_np_shape, 3)


# operators, stores, features, loggers


def test_operators_of_ones_own_are_listed_beside_the_librarys():
    @mx.operator.register("an_operator_of_a_test")
    class _(mx.operator.CustomOpProp):
        pass

    assert "an_operator_of_a_test" in mx.operator.get_all_registered_operators()
    refused(UnknownNameError, "nonsense", mx.operator.get_operator_arguments, "nonsense")
    found = mx.operator.get_operator_arguments("clip")
    assert found.narg == len(found.names) == len(found.types)
    assert mx.operator.get_operator_arguments("FullyConnected").types[3] == "required"


def test_a_trainer_takes_the_store_of_tests():
    weight = initialized(mx.gluon.Parameter("weight", shape=(2,)), mx.init.One())
    trainer = mx.gluon.Trainer({"weight": weight}, "sgd", {"learning_rate": 0.5}, kvstore=mx.kv.create("TestStore"),
                               update_on_kvstore=False)
    differentiated(lambda: weight.data() * 2)
    trainer.step(1)
    assert weight.data().asnumpy().tolist() == [0, 0]
    refused(ValueError, "capability", lambda: mx.kv.create("teststore").is_capable("nonsense"))


def test_a_feature_that_does_not_exist_is_refused():
    refused(UnknownNameError, "NONSENSE", lambda: mx.runtime.Features().is_enabled("NONSENSE"))


def test_a_logger_writes_to_a_file(tmp_path):
    logger = mx.log.get_logger("a logger that writes to a file", str(tmp_path / "log"), level=mx.log.INFO)
    logger.info("said")
    for handler in logger.handlers:
        handler.close()
    logger.handlers.clear()
    assert (tmp_path / "log").read_text() == "said\n"
    with pytest.warns(DeprecationWarning, match="get_logger"):
        assert mx.log.getLogger("a logger that writes to a file") is logger


def test_the_error_of_symbols_is_one_of_ours():
    refused(NotImplementedForSymbol, "Hint: bind", mx.sym.var("a").asnumpy)
    assert issubclass(NotImplementedForSymbol, UnsupportedError)


# helpers of tests


def test_random_sparse_arrays_are_what_their_parts_say():
    array, (values, rows) = mx.test_utils.rand_sparse_ndarray((50, 3), "row_sparse", density=0.5)
    assert array.indices.asnumpy().tolist() == rows.tolist()
    assert array.data.asnumpy().tolist() == values.tolist()
    assert 10 < len(rows) < 40
    array, (starts, columns, values) = mx.test_utils.rand_sparse_ndarray((50, 30), "csr", density=0.1, dtype="float64",
                                                                         modifier_func=lambda x: x + 1)
    assert (array.dtype, values.asnumpy().min() >= 1, 75 < len(values) < 225) == (np.float64, True, True)
    assert (array.indptr.asnumpy() == starts.asnumpy()).all()
    assert (array.indices.asnumpy() == columns.asnumpy()).all()
    assert mx.test_utils.rand_sparse_ndarray((5, 3), "csr", density=1.0)[0].asnumpy().all()
    rows = mx.test_utils.rand_sparse_ndarray((6, 9), "csr", density=0.5, distribution="powerlaw")[0]
    assert np.diff(rows.indptr.asnumpy()).tolist() == [2, 4, 8, 9, 3, 1]
    assert rows[2].indices.asnumpy().tolist() == list(range(8))
    for arguments in ({"density": 2}, {"distribution": "normal"}, {"density": 0.4, "distribution": "powerlaw"},
                      {"density": 1, "distribution": "powerlaw", "shape": (2, 90)}):
        refused(mx.MXNetError, "", mx.test_utils.rand_sparse_ndarray, **{"shape": (5, 3), "stype": "csr", **arguments})
    refused(mx.MXNetError, "", mx.test_utils.rand_sparse_ndarray, (5, 3), "default")


def test_random_numbers_are_those_of_the_seed():
    draws = []
    for _ in range(2):
        mx.random.seed(3)
        tests = mx.test_utils
        arrays = tests.random_uniform_arrays((2,), (1,), low=3, high=4)
        draws.append([tests.rand_shape_nd(4), tests.random_sample(range(9), 4), tests.rand_coord_2d(0, 9, 9, 20),
                      [array.tolist() for array in arrays]])
    assert draws[0] == draws[1]
    assert 9 <= draws[0][2][1] < 20
    assert all(3 <= value < 4 for array in draws[0][3] for value in array)


def test_a_location_names_every_argument():
    with pytest.raises(ParameterError, match="do not match"):
        mx.test_utils.check_symbolic_forward(mx.sym.exp(mx.sym.var("a")), {"b": np.ones(1)}, [np.ones(1)])


def test_contexts_and_types_are_consistent_or_not():
    both = [{"ctx": mx.cpu(place), "a": (2, 3), "type_dict": {"a": kind}} for place, kind in ((0, np.float64), (1, np.float32))]
    found = mx.test_utils.check_consistency(mx.sym.exp(mx.sym.var("a"), name="e"), both)
    assert {array.dtype for array in found.values()} == {np.dtype(np.float64)}
    assert set(found) == {"e_output", "a"}
    with pytest.raises(AssertionError, match="e_output of"):
        mx.test_utils.check_consistency([mx.sym.exp(mx.sym.var("a"), name="e"), mx.sym.log(mx.sym.var("a"), name="e")], both,
                                        use_uniform=True)


def test_a_test_by_chance_is_run_again():
    runs = []

    @mx.test_utils.retry(3)
    def by_chance(needed):
        runs.append(needed)
        assert len(runs) >= needed

    by_chance(3)
    assert runs == [3, 3, 3]
    runs.clear()
    refused(AssertionError, "", by_chance, 4)
    assert len(runs) == 3


def test_shared_memory_and_equal_graphs():
    x = mx.nd.ones((2,))
    assert mx.test_utils.same_array(x, x)
    assert not mx.test_utils.same_array(x, x.copy())
    assert x.asnumpy().tolist() == [1, 1]
    a, b = mx.sym.var("a"), mx.sym.var("b")
    assert mx.test_utils.same_symbol_structure(a + b, b + a)
    assert not mx.test_utils.same_symbol_structure(a + b, a + a)
    assert not mx.test_utils.same_symbol_structure(a + b, a - b)


def test_the_default_context_is_set_for_a_thread():
    mx.test_utils.set_default_context(mx.cpu(3))
    try:
        assert mx.nd.ones((1,)).context == mx.test_utils.default_context() == mx.cpu(3)
    finally:
        mx.test_utils.set_default_context(mx.cpu(0))


def test_what_is_written_to_stderr_is_lost(capfd):
    with mx.test_utils.discard_stderr():
        os.write(2, b"lost")
    os.write(2, b"kept")
    assert capfd.readouterr().err in ("kept", "lostkept")  # where pytest has put an object in the place of the file


def test_checks_by_chance_see_a_wrong_generator():
    draw = np.random.default_rng(1)
    assert mx.test_utils.mean_check(lambda n: draw.normal(2, 3, n), 2, 3, 10_000)
    assert not mx.test_utils.mean_check(lambda n: draw.normal(2.2, 3, n), 2, 3, 10_000)
    assert mx.test_utils.var_check(lambda n: draw.normal(2, 3, n), 3, 10_000)
    assert not mx.test_utils.var_check(lambda n: draw.normal(2, 3.3, n), 3, 10_000)


def test_optimizers_are_compared_on_several_weights_at_once():
    shapes = [(2, 3), (4,)]
    one, many = mx.optimizer.LAMB(), mx.optimizer.LAMB()
    mx.test_utils.compare_optimizer(one, many, shapes, "float32", ntensors=2)
    with pytest.raises(AssertionError):
        mx.test_utils.compare_optimizer(mx.optimizer.LAMB(), mx.optimizer.LAMB(learning_rate=1), shapes, "float32", ntensors=2)
    refused(mx.MXNetError, "2 shapes for 1 tensors", mx.test_utils.compare_optimizer, one, many, shapes, "float32")


def test_there_is_one_dict_of_features():
    assert mx.runtime.Features() is mx.runtime.Features()


# mx.registry: classes by name below a base of the program's own


@pytest.fixture
def base():
    class Vectors:
        def __init__(self, size=1):
            self.size = size

    yield Vectors
    registries.pop(Vectors, None)


def test_a_class_is_made_by_its_name_its_alias_a_dict_and_json(base):
    @registry.get_register_func(base, "vectors")
    class Glove(base):
        pass

    registry.get_alias_func(base, "vectors")("words", "w")(Glove)
    create = registry.get_create_func(base, "vectors")
    for given in (("glove",), ("Words",), ({"vectors": "w"},), (json.dumps(["glove", {"size": 1}]),)):
        assert type(create(*given)) is Glove
    assert create(vectors="glove", size=7).size == 7
    assert registry.get_registry(base) == {"glove": Glove, "words": Glove, "w": Glove}
    registry.get_registry(base).clear()
    assert registry.get_registry(base)


def test_what_is_not_registered_or_of_another_base_is_refused(base):
    refused(mx.UnknownNameError, "vectors", lambda: registry.get_create_func(base, "vectors")("glove"))
    refused(mx.DTypeError, "derived from Vectors", lambda: registry.get_register_func(base, "vectors")(int))


def test_classes_of_the_library_are_found_by_their_base():
    assert registry.get_registry(mx.init.Initializer)["xavier"] is mx.init.Xavier
    assert isinstance(registry.get_create_func(mx.metric.EvalMetric, "metric")("mse"), mx.metric.MSE)


# gluon.model_zoo.model_store: files of models by name and SHA-1, which libraries extend by their own


PARAMETERS = b"parameters"


@pytest.fixture
def published(tmp_path, monkeypatch):
    """A repository with one model, whose name a library has added."""
    monkeypatch.setitem(model_store._model_sha1, "own", hashlib.sha1(PARAMETERS).hexdigest())
    monkeypatch.setenv("MXNET_GLUON_REPO", str(tmp_path / "repository"))
    monkeypatch.setattr("sparsekit.compat.model_store.download", lambda url, path, overwrite: shutil.copy(url, path))
    folder = tmp_path / "repository" / "gluon" / "models"
    folder.mkdir(parents=True)
    name = f"own-{short_hash('own')}"
    with zipfile.ZipFile(folder / f"{name}.zip", "w") as archive:
        archive.writestr(f"{name}.params", PARAMETERS)
    return folder / f"{name}.zip"


def test_a_model_is_downloaded_once_and_purged(published, tmp_path):
    root = tmp_path / "models"
    path = get_model_file("own", root=str(root))
    assert path == str(root / f"own-{short_hash('own')}.params")
    published.unlink()
    assert get_model_file("own", root=str(root)) == path
    assert [file.read_bytes() for file in root.iterdir()] == [PARAMETERS]
    purge(str(root))
    assert not list(root.iterdir())


def test_other_contents_and_unknown_models_are_refused(published, tmp_path, monkeypatch):
    refused(mx.UnknownNameError, "model", get_model_file, "resnet18_v1", root=str(tmp_path))
    with zipfile.ZipFile(published, "w") as archive:
        archive.writestr(f"own-{short_hash('own')}.params", b"others")
    refused(mx.DataFileError, "another SHA-1", get_model_file, "own", root=str(tmp_path))


# boolean_mask of symbols beyond what MXNet does, whose executor of inferred shapes fails


X = np.arange(12, dtype=np.float32).reshape(3, 4)


def net(axis=0):
    return mx.sym.contrib.boolean_mask(mx.sym.var("data"), mx.sym.var("index"), axis=axis, name="mask")


@pytest.mark.parametrize(("axis", "index"), [(0, [0, 3, -1]), (1, [1, 0, 0, 2]), (-1, [0, 0, 0, 0])])
def test_entries_are_numpys(axis, index):
    mask = np.array(index) != 0
    wanted = np.compress(mask, X, axis)
    executor = net(axis).simple_bind(mx.cpu(), grad_req="null", data=X.shape, index=mask.shape)
    made = executor.forward(data=mx.nd.array(X), index=mx.nd.array(index))[0]
    assert made.asnumpy().tolist() == mx.nd.contrib.boolean_mask(mx.nd.array(X), mx.nd.array(index), axis).asnumpy().tolist()
    assert made.asnumpy().tolist() == wanted.tolist()


def test_what_follows_from_the_shapes_is_inferred_and_the_rest_is_not():
    made = mx.sym.FullyConnected(net(), num_hidden=5, no_bias=True, name="fc")
    with pytest.warns(UserWarning, match="Cannot decide shape"):
        assert made.infer_shape(data=(3, 4), index=(3,)) == (None, None, None)
    refused(ShapeError, r"a mask of shape \(2,\)", lambda: net().infer_shape(data=(3, 4), index=(2,)))
    with pytest.raises(ShapeError, match=r"simple_bind cannot decide the shape of mask"):
        mx.sym.sum(net()).simple_bind(mx.cpu(), data=(3, 4), index=(3,))
    assert "mask" in repr(net().graph(data=(3, 4), index=(3,)))


def test_a_hybridized_block_runs_as_it_is_written():
    class Masked(mx.gluon.HybridBlock):
        def hybrid_forward(self, F, x, index):
            return F.contrib.boolean_mask(x, index) + 1

    block = Masked()
    block.hybridize()
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        for index in ([0, 1, 1], [1, 0, 0], [0, 0, 0]):
            made = block(mx.nd.array(X), mx.nd.array(index))
            assert made.asnumpy().tolist() == (X[np.array(index) != 0] + 1).tolist()
    assert [one.category for one in seen] == [mx.HybridizeWarning]


def test_a_file_of_it_loads(tmp_path):
    net().save(tmp_path / "mask-symbol.json")
    block = mx.gluon.SymbolBlock.imports(tmp_path / "mask-symbol.json", ["data", "index"])
    assert block(mx.nd.array(X), mx.nd.array([0, 1, 0])).asnumpy().tolist() == X[1:2].tolist()


# mx.viz prints what MXNet does, and draws with storage types


FACTS = json.loads((Path(__file__).parents[1] / "golden" / "visualization.json").read_text(encoding="utf-8"))

NETWORKS = {"mx": mx, "S": mx.sym}
with mx.name.NameManager():
    exec(FACTS["networks"], NETWORKS)


@pytest.mark.parametrize("case", FACTS["cases"], ids=lambda case: f"{case['net']} {case['arguments']}")
def test_the_summary_is_mxnets(case, capsys):
    wrong = pytest.raises(ValueError) if "error" in case else contextlib.nullcontext()
    with wrong:
        mx.viz.print_summary(NETWORKS[case["net"]], **eval(f"dict({case['arguments']})"))
    if "error" not in case:
        assert capsys.readouterr().out == case["text"]


def test_the_picture_leaves_dense_weights_out():
    net = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=3, name="fc1")
    named = [row[1] for row in mx.viz.plot_network(net, shape={"data": (2, 4)}).table.rows]
    assert named == ["data", "fc1"]
    shown = mx.viz.plot_network(net, hide_weights=False)
    assert [row[1] for row in shown.table.rows] == ["data", "fc1_weight", "fc1_bias", "fc1"]
    sparse = mx.visualization.plot_network(net, shape={"data": (2, 4)}, stype={"fc1_weight": "row_sparse"},
                                           dtype={"data": "float64"})
    assert [row[1] for row in sparse.table.rows] == ["data", "fc1_weight", "fc1"]
    assert "float64" in sparse.table.rows[2][3]


def test_bad_input():
    net = mx.sym.Variable("x")
    refused(DTypeError, "symbol must be Symbol", mx.viz.print_summary, 5)
    refused(DTypeError, "symbol must be", mx.viz.plot_network, "x")
    refused(UnknownNameError, "", mx.viz.plot_network, net, shape={"y": (2,)})
    refused(ParameterError, "", mx.viz.print_summary, net, positions=[1])
