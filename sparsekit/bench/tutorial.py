"""The tutorial's network for ``sparsekit bench``: 1,000 x 1,000,000, 10 values per row, batches of 10, layers of 128, 8, 1.

Beside it, what is so small that the calls are what costs, and an embedding model in PyTorch.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

import sparsekit as mx

from ..base.optional import optional_import
from ..demo.variants import FullyConnected, FullyConnectedSparse
from .worker import Form, Forms

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from ..base.context import Context
    from ..ndarray.ndarray import NDArray
    from ..ndarray.sparse import CSRNDArray


class Workload(NamedTuple):
    """Size of the data set; every row stores ``stored`` values."""

    samples: int = 1000
    features: int = 1_000_000
    stored: int = 10
    batch_size: int = 10


def write_data(path: str, workload: Workload) -> None:
    """Write the data set to ``path`` (``.npz``) and, for readers of text, as ``.libsvm`` and ``.json`` beside it.

    The label of a row is 1 if the sum of the row is above the mean.
    """
    random = np.random.default_rng(0)
    samples, features, stored, batch_size = workload
    indices = np.sort(
        random.integers(0, features // stored, (samples, stored)) + np.arange(stored) * (features // stored)
    )
    data = random.random((samples, stored), dtype=np.float32)
    label = (data.sum(axis=1) > data.sum(axis=1).mean()).astype(np.float32)
    indptr = np.arange(0, samples * stored + 1, stored)
    np.savez(path, data=data.ravel(), indices=indices.ravel(), indptr=indptr, label=label, features=features,
             batch_size=batch_size)
    beside = path.removesuffix(".npz")
    with open(f"{beside}.libsvm", "w", encoding="ascii") as file:
        for target, columns, values in zip(label, indices, data, strict=True):
            pairs = " ".join(f"{column}:{value}" for column, value in zip(columns, values, strict=True))
            file.write(f"{target} {pairs}\n")
    with open(f"{beside}.json", "w", encoding="ascii") as file:
        file.write(f'{{"features": {features}, "batch_size": {batch_size}}}')


#: Constructors of the first layer of each variant, called with the number of features.
VARIANTS: dict[str, Callable[[int], Any]] = {
    "row_sparse": lambda features: FullyConnectedSparse(features, 128, "row_sparse"),
    "sparse_forward": lambda features: FullyConnectedSparse(features, 128, "default"),
    "dense": lambda features: FullyConnected(features, 128),
}


class Network:
    """The tutorial's network, its trainer and its loss; ``step`` trains on rows and their labels.

    Parameters
    ----------
    variant : str
        A key of ``VARIANTS``.
    features : int
    how : {"eager", "hybridized", "TrainStep"}
    ctx : Context, optional
    """

    def __init__(self, variant: str, features: int, how: str = "eager", ctx: Context | None = None) -> None:
        self.model: Any = mx.gluon.nn.HybridSequential()
        self.model.add(VARIANTS[variant](features), mx.gluon.nn.Activation("sigmoid"))
        self.model.add(FullyConnected(128, 8), mx.gluon.nn.Activation("sigmoid"))
        self.model.add(FullyConnected(8, 1), mx.gluon.nn.Activation("sigmoid"))
        self.model.initialize(mx.init.Constant(0.01), ctx=ctx or mx.cpu())
        self.trainer = mx.gluon.Trainer(self.model.collect_params(), "sgd")
        self.loss = mx.gluon.loss.SigmoidBinaryCrossEntropyLoss()
        if how == "hybridized":
            self.model.hybridize()
            self.loss.hybridize()
        self._whole = mx.gluon.TrainStep(self.model, self.loss, self.trainer) if how == "TrainStep" else None

    def step(self, batch: tuple[CSRNDArray, NDArray]) -> NDArray:
        """Run forward, backward and update, and return the loss of each row."""
        loss: Any
        if self._whole is not None:
            loss = self._whole(*batch)
        else:
            with mx.autograd.record():
                loss = self.loss(self.model(batch[0]), batch[1])
            loss.backward()
            self.trainer.step(batch[0].shape[0])
        computed: NDArray = loss
        return computed

    def gradient_bytes(self) -> int:
        """Return the bytes of the gradient of the first weight."""
        return int(self.model[0].weight.grad().nbytes)


def batches_of(path: str, ctx: Context | None = None) -> tuple[int, list[tuple[CSRNDArray, NDArray]]]:
    """Return the number of features and the batches of a file that ``write_data`` wrote."""
    with np.load(path) as stored:
        parts = {name: stored[name] for name in stored.files}
    features, size, indptr, batches = int(parts["features"]), int(parts["batch_size"]), parts["indptr"], []
    for start in range(0, len(indptr) - 1, size):
        low, high = indptr[start], indptr[start + size]
        components = parts["data"][low:high], parts["indices"][low:high], indptr[start : start + size + 1] - low
        batches.append((mx.nd.sparse.csr_matrix(components, shape=(size, features), ctx=ctx),
                        mx.nd.array(parts["label"][start : start + size], ctx=ctx)))
    return features, batches


def epoch(path: str, *words: str) -> Forms:
    """An epoch with a row-sparse gradient: eager, hybridized and by TrainStep; on a CPU also with the file read in each."""
    here = "gpu" not in words
    ctx = mx.cpu() if here else mx.gpu(0)
    features, batches = batches_of(path, ctx)
    parsed = {"batches parsed": "eager", "batches parsed, hybridized": "hybridized", "batches parsed, TrainStep": "TrainStep"}

    def trained(batches: Iterable[Any], how: str) -> Form:
        network = Network("row_sparse", features, how, ctx)

        def run() -> NDArray:
            for batch in batches:
                loss = network.step(batch)
                if here:
                    loss.wait_to_read()
            return loss

        return Form(run, lambda loss: [float(loss.mean().asscalar())], 1e3 if here else 1e6)

    forms = {name: trained(batches, how) for name, how in parsed.items()}
    if not here:
        return {"epoch": forms}
    text = _Text(path, features, batches[0][0].shape[0])
    return {"epoch": {"": trained(text, "eager"), **forms, "reading alone": Form(lambda: sum(1 for _ in text))}}


class _Text:
    """The batches of the LibSVM file, which each iteration reads."""

    def __init__(self, path: str, features: int, size: int) -> None:
        self._reader: Any = mx.io.LibSVMIter(data_libsvm=path.replace(".npz", ".libsvm"), data_shape=(features,), batch_size=size)

    def __iter__(self) -> Iterator[tuple[CSRNDArray, NDArray]]:
        self._reader.reset()
        return ((batch.data[0], batch.label[0]) for batch in self._reader)


# --------------------------------------------------------------------------- calls

ADD_CALLS, CHAIN_CALLS = 1000, 100


def calls(path: str, *words: str) -> Forms:
    """One addition, and recording and backward of ten elementwise operations, on 4 x 4 arrays."""
    nd: Any = mx.nd
    x, scale, shift = nd.ones((4, 4)), nd.full((4, 4), 0.5), nd.ones((4, 4))
    left, right = nd.ones((4, 4)), nd.ones((4, 4))
    x.attach_grad()

    def add() -> None:
        for _ in range(ADD_CALLS):
            left + right

    def chain() -> None:
        for _ in range(CHAIN_CALLS):
            with mx.autograd.record():
                y = x
                for _ in range(5):
                    y = y * scale
                    y = y + shift
            y.backward()

    return {"add": {"": Form(add, scale=1e6 / ADD_CALLS)}, "chain": {"": Form(chain, scale=1e6 / CHAIN_CALLS)}}


# --------------------------------------------------------------------------- PyTorch


def embedding(path: str, rows: str, width: str, batch: str, sparse: str) -> Forms:
    """A training step of an embedding model in PyTorch: a mean over 40 tokens, two linear layers, Adam."""
    torch: Any = optional_import("torch", "torch", "sparsekit bench torch")
    torch.manual_seed(0)
    torch.set_num_threads(2)
    table = torch.nn.Embedding(int(rows), int(width), sparse=sparse == "sparse")
    dense = torch.nn.Sequential(torch.nn.Linear(int(width), 128), torch.nn.ReLU(), torch.nn.Linear(128, 20))
    loss, optim = torch.nn.CrossEntropyLoss(), torch.optim
    tokens, labels = torch.randint(0, int(rows), (int(batch), 40)), torch.randint(0, 20, (int(batch),))
    optimizers = ([optim.SparseAdam(table.parameters()), optim.Adam(dense.parameters())] if sparse == "sparse"
                  else [optim.Adam([*table.parameters(), *dense.parameters()])])

    def train() -> None:
        for optimizer in optimizers:
            optimizer.zero_grad()
        loss(dense(table(tokens).mean(1)), labels).backward()
        for optimizer in optimizers:
            optimizer.step()

    return {"step": {"": Form(train)}}
