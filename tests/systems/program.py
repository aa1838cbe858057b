"""What a learner does, in one program: it prints a line for each part that worked."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import numpy as np
import scipy.sparse as sp

import sparsekit as mx

FOLDER = Path(tempfile.mkdtemp() if len(sys.argv) < 2 else sys.argv[1])


def arrays() -> None:
    """Values, files, and a file written a second time."""
    matrix = sp.random(200, 300, 0.05, "csr", np.float32, np.random.default_rng(0))
    array = mx.nd.sparse.csr_matrix(matrix)
    product = mx.nd.dot(array, mx.nd.ones((300, 4)))
    np.testing.assert_allclose(product.asnumpy(), matrix @ np.ones((300, 4), np.float32), rtol=1e-5)
    for _ in range(2):
        mx.nd.save(str(FOLDER / "arrays.params"), {"array": array})
    assert (mx.nd.load(str(FOLDER / "arrays.params"))["array"].asscipy() != matrix).nnz == 0
    assert [file.name for file in FOLDER.iterdir()] == ["arrays.params"]


def loader() -> None:
    """Batches that workers make."""
    data = mx.gluon.data.ArrayDataset(np.arange(60_000, dtype=np.float32).reshape(40, 1500), np.arange(40))
    loader = mx.gluon.data.DataLoader(data, batch_size=20, num_workers=2)
    assert [int(label.sum().asscalar()) for _, label in loader] == [190, 590]


def training() -> None:
    """Steps in Python and compiled, with a profile, its displays and its files."""
    net = mx.gluon.nn.HybridSequential()
    net.add(mx.gluon.nn.Embedding(1000, 8, sparse_grad=True), mx.gluon.nn.Dense(1))
    net.initialize()
    net.hybridize()
    trainer = mx.gluon.Trainer(net.collect_params(), "adam")
    loss = mx.gluon.loss.L2Loss()
    rows, label = mx.nd.array([[1, 2], [3, 999]]), mx.nd.array([0, 1])
    compiled = mx.gluon.TrainStep(net, loss, trainer)
    with mx.Profiler() as profile:
        for _ in range(5):
            with mx.autograd.record():
                found = loss(net(rows), label)
            found.backward()
            trainer.step(2)
            compiled(rows, label)
    assert profile.memory["process_peak_bytes"] > 1e6
    for ending in ("html", "json", "npz"):
        profile.save(FOLDER / f"profile.{ending}")
    assert mx.profiler.load(FOLDER / "profile.npz").events == profile.events
    assert "Embedding" in profile.timeline().svg()
    net.save_parameters(str(FOLDER / "net.params"))
    trainer.save_states(str(FOLDER / "net.states"))
    trainer.load_states(str(FOLDER / "net.states"))


def forgotten_row() -> None:
    """A fix that another process proves."""
    weight = mx.nd.ones((5000, 4))
    batch = mx.nd.sparse.csr_matrix(sp.random(64, 5000, 0.01, "csr", np.float32, np.random.default_rng(1)))

    def step() -> mx.nd.NDArray:
        return mx.nd.dot(batch.log1p(), weight)

    with mx.Profiler() as profile:
        step()
    profile.try_fixes(step)


def classifier() -> None:
    """An estimator, fitted and read from its own file."""
    from sparsekit.sklearn import SparseClassifier

    data = sp.random(300, 500, 0.05, "csr", np.float32, np.random.default_rng(2))
    target = np.asarray(data.sum(axis=1)).ravel() > 12
    assert SparseClassifier(max_iter=3).fit(data, target).score(data, target) > 0.5


if __name__ == "__main__":
    for part in (arrays, loader, training, forgotten_row, classifier):
        part()
        print(part.__name__, flush=True)
