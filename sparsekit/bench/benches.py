"""What ``sparsekit bench`` measures: the table of benchmarks, each of rows of workloads."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np

from ..base.context import gpu, require
from ..base.errors import SparsekitError
from ..base.optional import optional_import
from ..examples.beside import beside
from ..kernels import why_numpy
from . import arrays, dist, estimators, libsvm, models, ranking, tutorial
from .harness import Bench, Session
from .rows import Around, Row, Table, Who, run_rows
from .tutorial import Workload


def _written(make: Callable[..., Mapping[str, Any]], *sizes: object) -> Callable[[str], None]:
    """What writes the arrays that a function makes of sizes."""
    return lambda path: np.savez(path, **make(*sizes))


def _moved(around: Around) -> str:
    """The bytes that the first contender moves as the profiler counts them, and how fast that is beside a copy."""
    moved, speed = around.worker.ask("moved", around.table.operation), around.session.bandwidth()
    rate = moved / (around.first[1] * 1e-6)
    return f"sparsekit moves {moved:,} bytes at {rate / 1e9:.2f} GB/s, {rate / speed:.0%} of the copy rate"


def _least(around: Around, device: str = "cpu", beside: str = "") -> str:
    """The bytes that an operation moves at least, and how fast the first contender is beside a copy."""
    speed, moved = around.session.bandwidth(device), arrays.compulsory_bytes(around.table.operation, around.parts)
    name, time = around.first
    rate = moved / (time * 1e-6)
    share = f", {rate / speed:.0%} of {beside or 'the copy rate'}" if beside != "-" else ""
    return f"{name}: at least {moved:,} bytes at {rate / 1e9:.2f} GB/s{share}"


# --------------------------------------------------------------------------- arrays

PRODUCTS = {"csr_dense": "csr · dense", "csrT_dense": "csrᵀ · dense -> row_sparse", "csr_row_sparse": "csr · row_sparse"}
CONVERSIONS = {
    "dense_csr": "dense -> csr", "csr_dense": "csr -> dense", "dense_row_sparse": "dense -> row_sparse",
    "row_sparse_dense": "row_sparse -> dense", "csr_row_sparse": "csr -> row_sparse", "row_sparse_csr": "row_sparse -> csr",
}
OPTIMIZERS = {"sgd": "SGD", "momentum": "SGD with momentum", "adam": "Adam", "adagrad": "AdaGrad"}
TRANSFERS = {"dense_in": "dense to the device", "csr_in": "csr to the device", "dense_out": "dense to the host",
         "csr_out": "csr to the host"}


def _operations(title: str, headings: Mapping[str, str], kind: str, write: Callable[[str], None]) -> Row:
    """A row of operations on a CPU, all on the same arrays."""
    tables = tuple(Table(f"{title}: {heading}", name, "µs", fact=_moved) for name, heading in headings.items())
    return Row(f"arrays:{kind}", tables, write, rivals="arrays", atol=1e-3)


def _product_title(rows: int, columns: int, stored: int, width: int, hot: bool = False) -> str:
    law = " by Zipf's law" if hot else ""
    return f"{rows:,} x {columns:,}, {stored} per row{law}, x {width}"


def dot(session: Session) -> list[Row]:
    """Products; the widths are that of the KDD-2010 data set (times a vector) and a million columns (times 128)."""
    quick = session.quick
    kdd, features = (20_216_830, 1_000_000) if not quick else (20_000, 10_000)
    sizes: list[Any] = [(batch, kdd, 36, 1) for batch in (64, 512, 8192)[: 1 if quick else 3]]
    sizes += [(1024, features, 100, 128), (64 if quick else 8192, kdd, 36, 1, True), (1024, features, 100, 128, True)]
    return [_operations(_product_title(*size), PRODUCTS, "products", _written(arrays.product_parts, *size)) for size in sizes]


def convert(session: Session) -> list[Row]:
    """Conversions between all storage types."""
    shape, tall, rows = ((2000, 5000), (100_000, 128), 1000) if not session.quick else ((50, 80), (200, 8), 10)
    return [_operations(f"{shape[0]:,} x {shape[1]:,}, {density:.0%} stored; {tall[0]:,} x {tall[1]}, {rows:,} rows", CONVERSIONS,
                        "conversions", _written(arrays.conversion_parts, shape, density, tall, rows))
            for density in (0.01, 0.1)[: 1 if session.quick else 2]]


def _gradient_title(rows: int, width: int, stored: int, count: int, hot: bool = False) -> str:
    law = " by Zipf's law" if hot else ""
    return f"{rows:,} x {width}, {stored:,} rows{law}"


def update(session: Session) -> list[Row]:
    """Optimizer steps; together the gradients of a workload touch far more memory than fits a cache."""
    sizes: list[Any] = ([(1_000, 16, 20, 3), (1_000, 16, 20, 3, True)] if session.quick else
                        [(1_000_000, 128, 1_000, 64), (1_000_000, 128, 10_000, 16), (1_000_000, 128, 10_000, 16, True)])
    return [Row("arrays:updates", (Table(f"{heading}, {_gradient_title(*size)}", name, "µs", fact=_least),),
                _written(arrays.gradient_parts, *size), (name,), rivals="update")
            for size in sizes for name, heading in OPTIMIZERS.items()]


def on_gpu(session: Session) -> list[Row]:
    """Products, steps, transfers and an epoch on a GPU, against numpy, scipy and the rivals."""
    require(gpu(0))
    products: list[Any] = [(8192, 20_216_830, 36, 1), (1024, 1_000_000, 100, 128), (65_536, 1_000_000, 32, 128),
                           (8192, 20_216_830, 36, 1, True), (65_536, 1_000_000, 32, 128, True)]
    gradients: list[Any] = [(1_000_000, 128, 10_000, 16), (4_000_000, 128, 200_000, 4), (1_000_000, 128, 10_000, 16, True)]
    copied, trained = (20_000, 10_000, 0.01), Workload()
    if session.quick:
        products, gradients = [(32, 400, 4, 8), (200, 400, 4, 8, True)], [(100, 8, 10, 3)]
        copied, trained = (50, 40, 0.1), Workload(samples=20, features=200, stored=4, batch_size=5)
    device = "the device's copy rate"
    looked_up = {"csr_dense": PRODUCTS["csr_dense"], "csrT_dense": PRODUCTS["csrT_dense"],
                 "embedding_gradient": "gradient of an embedding"}
    rows = [_on_gpu(_product_title(*size), looked_up, "products", device, _written(arrays.product_parts, *size))
            for size in products]
    rows += [_on_gpu(_gradient_title(*size), {name: OPTIMIZERS[name] for name in ("sgd", "adam")}, "updates", device,
                     _written(arrays.gradient_parts, *size)) for size in gradients]
    rows.append(_on_gpu("{:,} x {:,}, {:.0%} stored".format(*copied), TRANSFERS, "transfers", "-",
                        _written(arrays.transfer_parts, *copied)))
    title = "{:,} x {:,}, {} values per row, batches of {}, layers of 128, 8, 1: training epoch".format(*trained)
    return [*rows, Row("tutorial:epoch", (Table(title, "epoch", "µs"),), partial(tutorial.write_data, workload=trained),
                       ("epochs",), {"sparsekit": Who(("gpu",))}, "gpu", ", ", 2e-3, 2e-3)]


def _on_gpu(title: str, headings: Mapping[str, str], kind: str, beside: str, write: Callable[[str], None]) -> Row:
    fact = partial(_least, device="gpu", beside=beside)
    return Row(f"arrays:{kind}", tuple(Table(f"{title}: {heading}", name, "µs", fact=fact) for name, heading in
                                          headings.items()), write, (kind,), {"sparsekit": Who(("gpu", "sgd", "adam"))}, "gpu",
               rtol=2e-3, atol=2e-3, oracle=arrays.right_sums)


# --------------------------------------------------------------------------- the tutorial's network

#: Milliseconds that a turn takes at least.
TURN = 100.0
EPOCH = "one epoch, row-sparse gradient"
ON_OFF = {"profiler on": "on", "profiler off": "off"}
KNOWN = {**ON_OFF, "profiler on, until totals are known": "known"}


def epoch(session: Session) -> list[Row]:
    """The tutorial's epoch, the cost of the profiler, and both sets of kernels."""
    workload = Workload(samples=100, features=10_000) if session.quick else Workload()
    session.report.title = session.report.title.format(*workload)
    write = partial(tutorial.write_data, workload=workload)
    tables = (Table(EPOCH, "epoch", turn=TURN),
              Table(f"{EPOCH}, under the profiler", "epoch", under=KNOWN, against="profiler on",
                    rounds=1 if session.quick else 4),  # more rounds, to resolve a small difference
              Table("one epoch by TrainStep, under the profiler", "epoch", forms=("batches_parsed,_TrainStep",), under=ON_OFF,
                    against="profiler on"))
    rows = [Row("tutorial:epoch", tables, write, rivals="worker", joint=", ")]
    if not why_numpy():
        kernels = {"kernels by numba": Who(), "kernels in numpy": Who(settings={"SPARSEKIT_KERNELS": "numpy"})}
        rows.append(Row("tutorial:epoch", (Table(f"{EPOCH}, by the kernels in use", "epoch", forms=("",), turn=TURN,
                                                 against="kernels in numpy"),), write, own=kernels))
    return rows


def dispatch(session: Session) -> list[Row]:
    """The overhead of a call on tiny arrays."""
    return [Row("tutorial:calls", (Table("a + b, both 4 x 4", "add", "µs"),
                                   Table("record and backward of ten elementwise operations, 4 x 4", "chain", "µs")),
                rivals="worker", joint=", ")]


#: Labels in figures of the variants.
LABELS = {"dense": "dense", "sparse_forward": "sparse forward", "row_sparse": "row-sparse gradient"}
#: Batches before a profile, so that it has no one-time costs: the updates are compiled at the third; and those in it.
UNRECORDED, TRACED_BATCHES = 5, 4
#: The fewest rounds that the comparison of three allows.
FEWEST_ROUNDS = 9


def _variants(session: Session) -> None:
    """The tutorial's three variants beside each other."""
    workload, report = Workload(samples=100, features=10_000) if session.quick else Workload(), session.report
    report.title += f", {workload.features:,} features"
    path, report.rounds = str(session.folder / "data.npz"), max(report.rounds, FEWEST_ROUNDS)
    tutorial.write_data(path, workload)
    features, batches = tutorial.batches_of(path)

    def prepared(name: str) -> tuple[tutorial.Network, list[Any]]:
        network = tutorial.Network(name, features)
        for batch in batches[:UNRECORDED]:
            network.step(batch)
        return network, batches[UNRECORDED:UNRECORDED + TRACED_BATCHES]

    measurements = beside({name: partial(prepared, name) for name in LABELS}, report.rounds, profiled=True)
    report.add("one batch", "ms", {LABELS[name]: [1e3 * seconds for seconds in measurements.seconds(name)] for name in LABELS})
    peaks, gradients = {}, {}
    for name, outcome in measurements.measured.items():
        trace = session.folder / f"{name}.npz"
        outcome.profile.save(trace)
        report.files[trace.name] = trace.read_bytes()
        peaks[LABELS[name]], gradients[LABELS[name]] = outcome.profile.memory["peak_bytes"] / 1e6, outcome.gradient / 1e6
    session.once("peak memory", "MB", peaks)
    session.once("gradient of the first weight", "MB", gradients)


# --------------------------------------------------------------------------- other

PROGRAM = "import time; {first}; start = time.perf_counter(); import {module}; print(time.perf_counter() - start)"


def _import_time(python: str, module: str, first: str = "pass") -> float:
    """Return the milliseconds to import ``module`` in a fresh process, after running ``first``."""
    command = [python, "-c", PROGRAM.format(first=first, module=module)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError) as error:
        raise SparsekitError(
            f"{module} could not be imported by {python}.", hint=f"try {python} -c 'import {module}'."
        ) from error
    return float(done.stdout) * 1e3


def _imports(session: Session) -> None:
    own = sys.executable
    measures = {"sparsekit after numpy": partial(_import_time, own, "sparsekit", "import numpy"),
                "sparsekit": partial(_import_time, own, "sparsekit"), "numpy": partial(_import_time, own, "numpy")}
    session.table("import", "ms", measures | {name: partial(_import_time, python, name)
                                              for name, python in session.rivals.items()})


#: What records PyTorch, by the name of its row.
RECORDED = {"no profiler": "off", "sparsekit.Profiler(torch=True)": "seen", "torch.profiler, shapes and memory": "torch",
            "torch.profiler": "bare"}


def torch(session: Session) -> list[Row]:
    """What recording a PyTorch program costs; in the last row a step takes little but the calls of its operators."""
    python = session.rivals.get("torch", sys.executable)
    small = (1000, 8, 8, "dense")
    sizes: list[Any] = [small] if session.quick else [(100_000, 64, 256, "dense"), (1_000_000, 64, 512, "sparse"), small]
    rows = []
    for size in sizes:
        kind = "sparse=True, SparseAdam" if size[3] == "sparse" else "dense gradient, Adam"
        title = "{:,} x {}, batch {:,} x 40, ".format(*size) + kind
        table = Table(f"a step, {title}", "step", under=RECORDED, against="sparsekit.Profiler(torch=True)",
                      added=size is small)
        rows.append(Row("tutorial:embedding", (table,), words=size, own={"sparsekit": Who(python=python)}))
    session.report.versions["torch"] = _version_of_torch(python)
    return rows


def _version_of_torch(python: str) -> str:
    command = [python, "-c", "import torch; print(torch.__version__)"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        optional_import("torch", "torch", "sparsekit bench torch")
    return done.stdout.strip()


def _rows(make: Callable[[Session], list[Row]]) -> Callable[[Session], None]:
    """What runs the rows that a function makes."""
    return lambda session: run_rows(session, make(session))


#: The benchmarks by name.
BENCHES: dict[str, Bench] = {
    "epoch": Bench(
        "Measure the tutorial's epoch and the cost of the profiler, in milliseconds.",
        "Training epoch, {:,} x {:,}, {} values per row, batches of {}, layers of 128, 8, 1", (15, 3), _rows(epoch), (
        "sparsekit and mxnet run the tutorial's code (third variant); LibSVMIter reads the file, in every epoch.",
        "torch: EmbeddingBag(sparse=True, mode='sum') with per_sample_weights, and torch.optim.SGD on its sparse gradient.",
        "torch: batches are parsed and sliced before the measurement, as in 'sparsekit, batches parsed'.",
        "Each turn trains as many epochs as take 100 ms, and the figure is their mean.",
        "sparsekit, hybridized: network, loss and the trainer's step run as tables of compiled calls.",
        "sparsekit, TrainStep: forward pass, loss, backward pass and update are one table of compiled calls.",
        "jax: the whole step (loss, gradients, update) is one jitted function with donated weights; batches parsed beforehand.",
        "numba: one function written by hand for this network, which stores no gradient of the first layer: a floor on one core.",
        "torch, updates by hand: autograd.grad, then weight.add_(gradient, alpha=-rate), with no optimizer object.",
        )),
    "dispatch": Bench(
        "Measure one addition, and the recording and backward pass of ten operations, in microseconds.",
        "Cost of a call", (21, 3), _rows(dispatch), (
        "chain: five times y = y * scale; y = y + shift, under record, then y.backward(); torch gets a head gradient.",
        "mxnet computes asynchronously: 'mxnet' waits for the last result only, 'mxnet, waiting' for each.",
        )),
    "import": Bench(
        "Measure imports in fresh processes, in milliseconds.",
        "Import, each in a fresh process", (15, 2), _imports, (
        "sparsekit after numpy: the time of importing sparsekit in a process that has imported numpy.",
        )),
    "dot": Bench(
        "Measure products of csr matrices with dense and row_sparse arrays, in microseconds.",
        "Products of sparse arrays", (11, 2), _rows(dot), (
        "csrᵀ · dense: every library returns the nonzero rows and their ascending, unique indices, as a gradient needs them.",
        "scipy and mkl renumber the columns with numpy.unique first; dense_result is scipy's plain left.T @ right.",
        "csr · row_sparse: the right side stores the rows that the product reads; rivals find them with searchsorted.",
        )),
    "convert": Bench(
        "Measure conversions between all storage types, in microseconds.",
        "Conversions of storage types", (11, 2), _rows(convert), (
        "row_sparse has no counterpart in scipy: numpy gathers and scatters the rows.",
        "csr <-> row_sparse convert the tall array; MXNet and PyTorch do not have these conversions.",
        )),
    "update": Bench(
        "Measure a step of each optimizer on 1,000,000 x 128 float32 with 1,000 and with 10,000 rows, in microseconds.",
        "Steps of optimizers on row-sparse gradients", (11, 2), _rows(update), (
        ("A step reads the gradient, and reads and writes its rows of the weight and of the states; gradients take turns, "
         "so that rows are read from memory."),
        "sparsekit and mxnet: their optimizers on a dense weight and a row_sparse gradient, lazy updates.",
        ("torch: torch.optim.SGD, SparseAdam and Adagrad on a coalesced sparse gradient; by_hand: the same with index_select, "
         "index_copy_ and index_add_; momentum is by_hand only, because torch's SGD adds up sparse arrays instead."),
        "jax: gather, compute and scatter under jit, weight and states donated, indices declared sorted and unique.",
        )),
    "libsvm": Bench(
        "Measure reading 100 MB of LibSVM text from the page cache, in MB/s, and the peak memory.",
        "Reading LibSVM text", (11, 2), _rows(libsvm.libsvm), (
        "larger is faster; the file is in the page cache, so disks are not measured.",
        "LibSVMIter: csr batches of 128 rows, streamed with the default threads of each library; batches are not used.",
        "load_libsvm and sklearn's load_svmlight_file: the whole file as one float32 matrix.",
        )),
    "models": Bench(
        "Measure a training step of each example's model, in milliseconds, and the peak memory, in MB.",
        "Training steps of models with sparse gradients", (7, 2), _rows(models.models), (
        "all: float32, AdaGrad, the same initial values and batches, the same losses; batches take turns.",
        ("sparsekit: the models of sparsekit.examples, each step a gluon.TrainStep; weights of the factorization machine are "
         "row_sparse."),
        ("torch: EmbeddingBag and Embedding with sparse=True, nn.LSTM with proj_size, Adagrad on sparse gradients, 2 threads; "
         "the factorization machine looks up its vectors once."),
        ("fbgemm: the same with tables of fbgemm_gpu on the CPU, which update rows in the backward pass; a table of one column "
         "has four, as it takes multiples of four."),
        "jax: the whole step under jit, arrays donated; rows are gathered, added up by unique and segment_sum, and scattered.",
        "language model: the samples are drawn beforehand and are the same for all; states are carried from batch to batch.",
        )),
    "lstm": Bench(
        "Measure a step of the slides' LSTM with dense and row-sparse gradients: time, gradients and peak memory.",
        "A step of the slides' LSTM", (5, 2), _rows(models.lstm), (
        "An embedding, an LSTM with projection, a sampled softmax, AdaGrad; float32; a step is one gluon.TrainStep.",
        "Both begin with the same weights, take the same batches in turn, and have the same losses.",
        "dense: the gradients of embedding and output layer have a row for each word; row-sparse: for each word that occurs.",
        "The slides' text has 793,471 words; dense weights, gradients and states of so many take 10 GB.",
        ), alone=(
            "`bench lstm` measures only this library.", "`sparsekit bench models --rival …` compares with other libraries.")),
    "dist": Bench(
        ("Measure training with servers and workers: a trip, a push, snapshots, two workers, a killed "
         "server, bytes on the wire, plain actors of Ray."),
        "Servers and workers on one machine", (5, 1), dist.measure, (
        "Workers and servers are processes of this machine, started by Ray; what they send crosses no cable.",
        "Snapshots are written to the folder for temporary files, every 5 s.",
        ("A step: the gradient of a batch (logistic regression on csr) is pushed and the rows of the next batch are pulled, in "
         "one round trip; AdaGrad runs on the servers."),
        "Bytes are those of arrays, counted by the worker: row numbers and values, sent and received.",
        "The whole model: 4 bytes a weight, pushed as a gradient and pulled.",
        ("Plain actors of Ray with numpy: two actors with half of the table each, which wait for both workers in each step, as "
         "the store does; the same workers step by them and by the store, in alternate blocks."),
        ("What the cores allow: the time of one worker's step, twice, over the processor time of all processes of a step of two, "
         "shared by the cores."),
        ), alone=("`bench dist` measures only this library.", "leave out --rival.")),
    "sklearn": Bench(
        "Measure the time in which SparseClassifier, SGDClassifier and LogisticRegression reach the same accuracy on text.",
        "Estimators on sparse text, to equal accuracy", (11, 2), estimators.measure, (
        "the label is whether a paragraph of the books that come with sparsekit is of an essay; rows are float32, of length 1.",
        "the accuracy is that on the test rows, which the best of each estimator's settings and passes reaches, less 0.002.",
        "each estimator has the setting that reaches it in the fewest passes; LogisticRegression has iterations of lbfgs.",
        ("the other tables have SGDClassifier with its own settings, which stops by itself; SparseClassifier has the passes and "
         "the best rate that reach its accuracy."),
        "what is measured is training alone, as time of the processor with that of all threads; scikit-learn shares our process.",
        "torch: EmbeddingBag with row-sparse gradients and Adagrad, batches of 256 rows, which it takes from tensors by index.",
        "vw: Vowpal Wabbit's own updates, a row at a time; rows are parsed beforehand.",
        )),
    "ranking": Bench(
        "Measure the time in which recommenders rank the unseen words of paragraphs equally well.",
        "Recommenders for implicit feedback, to equal order", (7, 1), ranking.measure, (
        "Bayesian personalized ranking: a paragraph's word is to have a higher score than a word of another paragraph.",
        ("the score is the share of pairs of an unseen word and another one that are in order; the best of each library's rates "
         "and passes reaches it, less 0.002."),
        "what is measured is training alone, as time of the processor with that of all threads; each in a process of its own.",
        "sparsekit: a gluon.TrainStep with AdaGrad on row-sparse gradients, 1,024 pairs a step; the pairs are drawn with numpy.",
        "implicit: BayesianPersonalizedRanking, plain SGD with its regularization as it comes, a pair at a time, 2 threads.",
        )),
    "gpu": Bench(
        "Measure products, optimizer steps, transfers and an epoch on ``gpu(0)``, in microseconds.",
        "Sparse work on a GPU", (11, 2), _rows(on_gpu), (
        "times are measured between two CUDA events on the stream, over calls that take about 30 ms together.",
        "at least so many bytes: all components of sparse arrays, and every row of a dense array that is needed, once.",
        "csrᵀ · dense, gradient of an embedding: nonzero rows with their ascending, unique indices.",
        "SGD, Adam: a step with one gradient, on a weight and states that stay on the device; gradients take turns.",
        "epoch: the batches are parsed and on the device beforehand; 'hybridized' replays CUDA graphs where shapes allow.",
        "transfers: from and to pageable host memory.",
        ("results of products, gradients and transfers agree with numpy's and scipy's, and all with the "
         "rivals', or the bench stops."),
        )),
    "variants": Bench(
        "Measure a batch of the tutorial's three variants, in milliseconds, and save memory and profiles.",
        "One training batch with three kinds of storage", (9, 9), _variants, (
        "One batch of 10 samples: forward pass, loss, backward pass and update; reading the batch is not counted.",
        "dense: fully connected layers, weight (128, 1,000,000); sparse forward: sparse dot, weight (1,000,000, 128).",
        "row-sparse gradient: as sparse forward, with grad_stype='row_sparse'; the others have a dense gradient.",
        "Memory and gradient are exact counts of the library's arrays, the same on every machine.",
        "The profiles beside this file hold profiled batches; `sparsekit view` renders them.",
        ), alone=(
            "`bench variants` measures only this library.", "`sparsekit bench epoch --rival …` compares with other libraries.")),
    "torch": Bench(
        "Measure a training step of an embedding model in PyTorch: without a profiler, recorded, and under torch.profiler.",
        "PyTorch recorded", (15, 2), _rows(torch), (
        "A step is forward, backward and update of an embedding, a mean over 40 tokens and two linear layers, 2 threads.",
        "Profilers see one step before the 20 or more that are timed: there sparsekit finds the modules, in some 50 ms.",
        "What is computed after a recording is not timed.",
        "sparsekit: lines, layers, memory by role; the rows of gradients are counted in steps 1, 2, 4, 8 … of each recording.",
        )),
}
