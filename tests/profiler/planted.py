"""Thirty small programs, each in two forms: with one waste planted, and without it.

Each is a function of ``waste`` that gives one training step, or one step of preparing data, to be called a few times.
``PROGRAMS`` says of each which rule of advice finds its waste.  Bytes and counts make the waste, not time, apart from the
programs of "between_operators".
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse

import sparsekit as mx

ROWS, FEATURES, UNITS, STORED = 32, 20_000, 8, 12

nd, nn, autograd = mx.nd, mx.gluon.nn, mx.autograd
Step = Callable[[], Any]


def matrix(rows: int = ROWS, features: int = FEATURES, stored: int = STORED, seed: int = 0) -> Any:
    """A scipy matrix with ``stored`` values between 0 and 1 in each row."""
    rng = np.random.default_rng(seed)
    columns = np.concatenate([np.sort(rng.choice(features, stored, replace=False)) for _ in range(rows)]).astype(np.int32)
    values = rng.random(rows * stored).astype(np.float32)
    return scipy.sparse.csr_matrix((values, columns, np.arange(rows + 1, dtype=np.int32) * stored), shape=(rows, features))


def csr(**options: Any) -> Any:
    return nd.sparse.csr_matrix(matrix(**options))


def labels(rows: int = ROWS) -> Any:
    return nd.array(np.arange(rows) % UNITS)


def trained(net: Any, batches: list[Any], optimizer: str = "sgd", loss: Any = None, **settings: Any) -> Step:
    """Steps of training that go through the batches in turn."""
    net.initialize(mx.init.Xavier())
    trainer = mx.gluon.Trainer(net.collect_params(), optimizer, {"learning_rate": 0.1, **settings})
    loss, target, count = loss or mx.gluon.loss.SoftmaxCrossEntropyLoss(), labels(len(batches[0])), [0]

    def step() -> Any:
        x = batches[count[0] % len(batches)]
        count[0] += 1
        with autograd.record():
            out = loss(net(x), target)
        out.backward()
        trainer.step(ROWS)
        return out

    return step


class Linear(mx.gluon.HybridBlock):
    """A product with a weight, of data that ``prepare`` made of a batch."""

    def __init__(self, prepare: Any = None, grad_stype: str = "row_sparse", features: int = FEATURES, units: int = UNITS,
                 dtype: str = "float32") -> None:
        super().__init__()
        self.prepare = prepare
        with self.name_scope():
            self.weight = self.params.get("weight", shape=(features, units), grad_stype=grad_stype, dtype=dtype)

    def hybrid_forward(self, F: Any, x: Any, weight: Any) -> Any:
        return F.dot(x if self.prepare is None else self.prepare(F, x), weight)


def prepared(wasteful: Any, clean: Any, hybridize: bool = False) -> Callable[[bool], Step]:
    """A linear model whose batches go through one function or the other; its weight is frozen, which frees the gradient."""

    def program(waste: bool) -> Step:
        net = Linear(wasteful if waste else clean)
        net.hybridize(hybridize)
        net.initialize()
        batches = [csr(seed=seed) for seed in range(3)]
        count = [0]

        def step() -> Any:
            count[0] += 1
            return net(batches[count[0] % 3]).sum().asscalar()

        return step

    return program


def by_weight(waste: bool) -> Step:
    return trained(Linear(grad_stype="default" if waste else "row_sparse"), [csr(seed=seed) for seed in range(3)])


def by_layer(hybridize: bool, activation: str | None = None) -> Callable[[bool], Step]:
    def program(waste: bool) -> Step:
        net = nn.HybridSequential()
        net.add(nn.Dense(UNITS, in_units=FEATURES, activation=activation,
                         weight_grad_stype="default" if waste else "row_sparse"))
        net.hybridize(hybridize)
        return trained(net, [csr(seed=seed) for seed in range(3)])

    return program


def by_embedding(waste: bool) -> Step:
    net = nn.HybridSequential()
    net.add(nn.Embedding(FEATURES, UNITS, sparse_grad=not waste), nn.Dense(UNITS, in_units=4 * UNITS))
    ids = np.random.default_rng(0).integers(0, FEATURES, (3, ROWS, 4))
    return trained(net, [nd.array(one) for one in ids])


def by_two_weights(waste: bool) -> Step:
    """A factorization machine: one of its two weights has a dense gradient."""

    class Machine(mx.gluon.HybridBlock):
        def __init__(self) -> None:
            super().__init__()
            with self.name_scope():
                self.w = self.params.get("w_weight", shape=(FEATURES, 1), grad_stype="row_sparse")
                self.v = self.params.get("v_weight", shape=(FEATURES, UNITS), grad_stype="default" if waste else "row_sparse")

        def hybrid_forward(self, F: Any, x: Any, w: Any, v: Any) -> Any:
            pairs = F.square(F.dot(x, v)).sum(axis=1, keepdims=True)
            return F.broadcast_add(F.dot(x, w), pairs)

    return trained(Machine(), [csr(seed=seed) for seed in range(3)], loss=mx.gluon.loss.L2Loss())


def of_an_optimizer(optimizer: str, **settings: Any) -> Callable[[bool], Step]:
    def program(waste: bool) -> Step:
        return trained(Linear(), [csr(seed=seed) for seed in range(3)], optimizer, lazy_update=not waste, **settings)

    return program


def of_every_row(waste: bool) -> Step:
    batches = [csr(features=400, stored=60, seed=seed) for seed in range(3)]
    return trained(Linear(grad_stype="row_sparse" if waste else "default", features=400), batches)


def hardly_sparse(waste: bool) -> Step:
    dense = nd.array(np.random.default_rng(0).random((ROWS, 2000)))
    return trained(Linear(grad_stype="default", features=2000), [dense.tostype("csr") if waste else dense])


def in_double_precision(waste: bool) -> Step:
    dtype = "float64" if waste else "float32"
    net = Linear(dtype=dtype)
    return trained(net, [csr(seed=seed).astype(dtype) for seed in range(3)])


def in_double_precision_dense(waste: bool) -> Step:
    net = nn.HybridSequential()
    net.add(nn.Dense(64, in_units=256, activation="relu"), nn.Dense(UNITS, in_units=64))
    net.cast("float64" if waste else "float32")
    data = nd.array(np.random.default_rng(0).random((ROWS, 256)), dtype="float64" if waste else "float32")
    net.hybridize()
    return trained(net, [data])


def wide_indices(waste: bool) -> Step:
    data = csr(rows=2000, stored=40)
    data = nd.sparse.csr_matrix(data, index_dtype="int64" if waste else "int32")
    weight = nd.ones((FEATURES, 1))
    return lambda: nd.dot(data, weight).sum().asscalar()


def wide_components(waste: bool) -> Step:
    """A matrix of components that are numbered with int64, as is the default, or with int32."""
    found = matrix(rows=2000, stored=40)
    parts = found.data, found.indices.astype(np.int64), found.indptr.astype(np.int64)
    data = nd.sparse.csr_matrix(parts, shape=found.shape, index_dtype=None if waste else "int32")
    weight = nd.ones((FEATURES, 1))
    return lambda: nd.dot(data, weight).sum().asscalar()


def converted_each_time(waste: bool) -> Step:
    dense = csr(features=4000).tostype("default")
    once, weight = dense.tostype("csr"), nd.ones((4000, UNITS))

    def step() -> Any:
        data = dense.tostype("csr") if waste else once
        return nd.dot(data, weight).sum().asscalar()

    return step


def made_dense_each_time(waste: bool) -> Step:
    data, net = csr(features=4000), nn.Dense(UNITS, in_units=4000)
    net.initialize()

    def step() -> Any:
        return net(data.tostype("default") if waste else data).sum().asscalar()

    return step


def rows_converted_each_time(waste: bool) -> Step:
    table = nd.sparse.row_sparse_array((np.ones((50, UNITS), np.float32), np.arange(50) * 7), shape=(FEATURES, UNITS))
    dense, data = table.tostype("default"), csr()

    def step() -> Any:
        return nd.dot(data, table.tostype("default") if waste else dense).sum().asscalar()

    return step


def read_each_time(waste: bool) -> Step:
    """The result is read to sum it up with numpy."""
    data, weight = csr(rows=512), nd.ones((FEATURES, 128))

    def step() -> Any:
        out = nd.dot(data, weight)
        return float(out.asnumpy().sum()) if waste else out.sum().asscalar()

    return step


def batch_read_each_time(waste: bool) -> Step:
    """The batch is read as a dense array of numpy to count what it stores."""
    data, weight = csr(), nd.ones((FEATURES, UNITS))

    def step() -> Any:
        stored = int((data.asnumpy() != 0).sum()) if waste else data.nnz
        return stored + nd.dot(data, weight).sum().asscalar()

    return step


def batch_read_as_scipy(waste: bool) -> Step:
    # So large a part of all memory that its indices are int32.
    data, weight = nd.sparse.csr_matrix(csr(rows=1500, stored=30), index_dtype="int32"), nd.ones((FEATURES, UNITS))

    def step() -> Any:
        total = data.asscipy().sum() if waste else data.sum().asscalar()
        return total + nd.dot(data, weight).sum().asscalar()

    return step


def assigned_into_a_dense_buffer(waste: bool) -> Step:
    data, buffer, weight = csr(), nd.zeros((ROWS, FEATURES)), nd.ones((FEATURES, UNITS))

    def step() -> Any:
        if waste:
            buffer[:] = data
        return nd.dot(buffer if waste else data, weight).sum().asscalar()

    return step


def fed_to_a_dense_variable(waste: bool) -> Step:
    """A module whose data variable is dense, or csr."""
    x = mx.sym.Variable("data") if waste else mx.sym.Variable("data", stype="csr")
    net = mx.sym.sum(mx.sym.dot(x, mx.sym.Variable("w_weight", shape=(FEATURES, UNITS))))
    module = mx.mod.Module(net, data_names=["data"], label_names=None)
    batch = mx.io.DataBatch([csr()], None)
    module.bind(data_shapes=[("data", (ROWS, FEATURES))], for_training=False)
    module.init_params()

    def step() -> Any:
        module.forward(batch, is_train=False)
        return module.get_outputs()[0].asscalar()

    return step


def many_small_layers(waste: bool) -> Step:
    net = nn.HybridSequential()
    for _ in range(16):
        net.add(nn.Dense(UNITS, activation="relu", in_units=UNITS))
    net.hybridize(not waste)
    return trained(net, [nd.ones((ROWS, UNITS))])


#: Name -> the rule that finds the waste, and the program.
PROGRAMS: dict[str, tuple[str, Callable[[bool], Step]]] = {
    "a number is added": ("dense_by_nature", prepared(lambda F, x: x + 0.001, lambda F, x: x * 1.001)),
    "log(1 + x)": ("dense_by_nature", prepared(lambda F, x: F.log(x + 1), lambda F, x: F.log1p(x))),
    "log(1 + x), hybridized": ("dense_by_nature", prepared(lambda F, x: F.log(x + 1), lambda F, x: F.log1p(x), True)),
    "a dense array is added": ("dense_by_nature", prepared(lambda F, x: x + nd.ones((1, FEATURES)), lambda F, x: x + x)),
    "joined with a dense part": ("dense_by_nature", prepared(
        lambda F, x: F.slice_axis(F.concat(x, nd.ones((ROWS, 3)), dim=1), axis=1, begin=3, end=None),
        lambda F, x: F.slice_axis(F.concat(x, nd.ones((ROWS, 3)).tostype("csr"), dim=1), axis=1, begin=3, end=None))),
    "clipped away from zero": ("dense_by_nature", prepared(lambda F, x: F.clip(x, 0.1, 1), lambda F, x: F.clip(x, 0, 1))),
    "a positive maximum": ("dense_by_nature", prepared(lambda F, x: F.maximum(x, 0.5), lambda F, x: F.maximum(x, 0))),
    "compared with zero": ("dense_by_nature", prepared(lambda F, x: x == 0, lambda F, x: x != 0)),
    "a softmax of data": ("dense_by_nature", prepared(lambda F, x: F.softmax(x), lambda F, x: F.sqrt(x))),
    "assigned into a dense buffer": ("dense_by_nature", assigned_into_a_dense_buffer),
    "a sigmoid of data": ("became_dense", prepared(lambda F, x: F.sigmoid(x), lambda F, x: F.tanh(x))),
    "exp(x)": ("became_dense", prepared(lambda F, x: F.exp(x), lambda F, x: F.expm1(x))),
    "cos(x), hybridized": ("became_dense", prepared(lambda F, x: F.cos(x), lambda F, x: F.sin(x), True)),
    "fed to a dense variable": ("became_dense", fed_to_a_dense_variable),
    "a dense gradient of a weight": ("dense_gradient", by_weight),
    "a dense gradient of a layer": ("dense_gradient", by_layer(False)),
    "a dense gradient of a layer, hybridized": ("dense_gradient", by_layer(True, "relu")),
    "a dense gradient of an embedding": ("dense_gradient", by_embedding),
    "a dense gradient of one of two weights": ("dense_gradient", by_two_weights),
    "every row is updated by sgd": ("eager_update", of_an_optimizer("sgd", momentum=0.9)),
    "every row is updated by adam": ("eager_update", of_an_optimizer("adam")),
    "a row-sparse gradient of every row": ("full_rows", of_every_row),
    "csr of full rows": ("hardly_sparse", hardly_sparse),
    "float64 parameters": ("double_precision", in_double_precision),
    "float64 layers": ("double_precision", in_double_precision_dense),
    "int64 indices": ("wide_indices", wide_indices),
    "converted in the loop": ("repeated_conversion", converted_each_time),
    "rows made dense in the loop": ("repeated_conversion", rows_converted_each_time),
    "results read in the loop": ("repeated_read", read_each_time),
    "many small layers, not hybridized": ("between_operators", many_small_layers),
}

def masked(_waste: bool) -> Step:
    """A csr mask is added to scores that are dense anyhow."""
    data, weight, mask = csr(), nd.ones((FEATURES, 512)), csr(features=512, stored=2)
    return lambda: (nd.dot(data, weight) - mask).sum().asscalar()


def loaded(_waste: bool) -> Step:
    """Batches of a loader, a hybridized network, a metric."""
    net = nn.HybridSequential()
    net.add(nn.Dense(UNITS, in_units=FEATURES, weight_grad_stype="row_sparse"))
    net.hybridize()
    net.initialize()
    trainer, loss = mx.gluon.Trainer(net.collect_params(), "sgd"), mx.gluon.loss.SoftmaxCrossEntropyLoss()
    batches = mx.gluon.data.DataLoader(mx.gluon.data.ArrayDataset(csr(rows=2 * ROWS), labels(2 * ROWS)), batch_size=ROWS)
    metric = mx.metric.Accuracy()

    def step() -> Any:
        for x, y in batches:
            with autograd.record():
                scores = net(x)
                value = loss(scores, y)
            value.backward()
            trainer.step(ROWS)
            metric.update([y], [scores])
        return metric.get()

    return step


def iterated(_waste: bool) -> Step:
    """A module on csr batches of an iterator."""
    weight = mx.sym.Variable("w_weight", stype="row_sparse", shape=(FEATURES, UNITS))
    net = mx.sym.dot(mx.sym.Variable("data", stype="csr"), weight)
    module = mx.mod.Module(mx.sym.SoftmaxOutput(net, mx.sym.Variable("softmax_label")))
    batches = mx.io.NDArrayIter(csr(rows=2 * ROWS), labels(2 * ROWS), ROWS, last_batch_handle="discard")
    module.bind(batches.provide_data, batches.provide_label)
    module.init_params()
    module.init_optimizer(optimizer="sgd")

    def step() -> Any:
        batches.reset()
        for batch in batches:
            module.forward_backward(batch)
            module.update()

    return step


#: Programs with nothing to advise on.
CLEAN: dict[str, Callable[[bool], Step]] = {
    "a csr mask on dense scores": masked, "a loader and a metric": loaded, "a module and an iterator": iterated}

#: Wastes of the same kinds in other forms, with the clean form of each.
MORE: dict[str, tuple[str, Callable[[bool], Step]]] = {
    "int64 components": ("wide_indices", wide_components),
    "data made dense in the loop": ("repeated_conversion", made_dense_each_time),
    "batches read in the loop": ("repeated_read", batch_read_each_time),
    "batches read as scipy": ("repeated_read", batch_read_as_scipy),
}
