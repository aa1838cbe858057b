"""Every warning of the library names the line of the user's program: each place that warns is made to do so from a file."""

import ast
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "sparsekit"

#: Places that are not made to warn here, and why.
NOT_MADE = {
    "gluon.contrib.estimator.estimator._contexts": "it counts GPUs, of which there must be two",
    "kernels.cpu.jit._reason": "tests/faults/test_environment.py has a numba that does not work",
    "kernels.cpu.kept.warn_if_not_kept": "tests/faults/test_environment.py has a folder that cannot be written to",
    "core.apart.switched_off": "tests/core/test_layout_guard.py has versions of Python and numpy that are not known",
}

#: Programs, each of whose lines that end in ``# here`` warns.
PROGRAMS = """
import numpy, scipy.sparse
from sparsekit.sklearn import SparseClassifier
rows = scipy.sparse.csr_array(numpy.random.default_rng(0).random((200, 30)) > 0.8, dtype="float32")
SparseClassifier(early_stopping=True, max_iter=1, random_state=0).fit(rows, numpy.arange(200) % 2)  # here
---
net = mx.gluon.nn.Embedding(9, 2, sparse_grad=True)
net.initialize()
trainer = mx.gluon.Trainer(net.collect_params(), "adam", {"wd": 0.1})
for _ in range(3):
    with mx.autograd.record():
        loss = net(mx.nd.array([1, 2])).sum()
    loss.backward()
    trainer.step(1)  # here
---
sparsekit.optimizer.optimizer._told.clear()
net = mx.gluon.nn.HybridSequential()
net.add(mx.gluon.nn.Embedding(9, 2, sparse_grad=True))
net.initialize()
net.hybridize()
step = mx.gluon.TrainStep(net, mx.gluon.loss.L2Loss(), mx.gluon.Trainer(net.collect_params(), "sgd", {"momentum": 0.9}))
for _ in range(3):
    step(mx.nd.array([1, 2]), mx.nd.ones((2, 2)))  # here
---
with open("weighted.libsvm", "w", encoding="utf-8") as file:
    file.write("1:0.5 3:2\\n0:2 1:4\\n")
mx.io.LibSVMIter(data_libsvm="weighted.libsvm", data_shape=(5,), batch_size=2).next()  # here
---
mx.init.Xavier()("fc_weight", mx.nd.zeros((2, 3)))  # here
---
mx.sym.negative(mx.sym.Variable("a", stype="csr")).bind(mx.cpu(), [mx.nd.ones((2, 2))])  # here
---
mx.gluon.utils.clip_global_norm([mx.nd.array([np.nan])], 1.0)  # here
---
net = mx.gluon.nn.HybridSequential()
net.add(mx.gluon.nn.Dense(2, in_units=2))
net.initialize()
net.hybridize()
step = mx.gluon.TrainStep(net, mx.gluon.loss.L2Loss(), mx.gluon.Trainer(net.collect_params(), "sgd"), clip_norm=1.0)
for _ in range(4):
    step(mx.nd.array([[np.nan, 1]]), mx.nd.ones((1, 2)))  # here
---
mx.metric.MSE().update(mx.nd.ones((2, 1)), mx.nd.ones((2, 3)))  # here
---
class Twice(mx.kv.KVStoreBase):
    pass
mx.kv.KVStoreBase.register(Twice)
mx.kv.KVStoreBase.register(Twice)  # here
---
net = mx.gluon.nn.Sequential()
net.add(mx.gluon.nn.Dense(2))
net.hybridize()  # here
---
net = mx.gluon.nn.Dense(2, in_units=2)
net.initialize()
net.initialize()  # here
trainer = mx.gluon.Trainer(net.collect_params(), "sgd")
mx.gluon.contrib.estimator.Estimator(net, mx.gluon.loss.L2Loss(), initializer=mx.init.One(), trainer=trainer)  # here
estimator = mx.gluon.contrib.estimator.Estimator(net, mx.gluon.loss.L2Loss())  # here
handlers = mx.gluon.contrib.estimator
data = mx.gluon.data.DataLoader(mx.gluon.data.ArrayDataset(np.ones((2, 2), "f"), np.ones((2, 2), "f")), 1)
handlers.EarlyStoppingHandler(mx.metric.MSE(), mode="upward")  # here
handlers.CheckpointHandler(".", monitor=mx.metric.MSE(), save_best=True, mode="auto")  # here
never = mx.metric.MSE("never")
stop = handlers.EarlyStoppingHandler(never, mode="min")
stop.train_begin(estimator)
stop.epoch_end(estimator)  # here
keep = handlers.CheckpointHandler(".", monitor=never, save_best=True, mode="min")
keep.train_begin(estimator)
keep.epoch_end(estimator)  # here
---
class Net(mx.gluon.HybridBlock):
    def __init__(self):
        super().__init__()
        self.used, self.unused = mx.gluon.nn.Dense(2, in_units=2), mx.gluon.nn.Dense(2, in_units=2)
    def hybrid_forward(self, F, x):
        return self.used(x)
net = Net()
net.initialize()
net.hybridize()
net(mx.nd.ones((1, 2)))
net.export("net")  # here
---
net = mx.gluon.nn.Dense(2, in_units=2)
net.initialize()
net.save_params("net.params")  # here
net.load_params("net.params")  # here
---
mx.gluon.Constant("c", [1]).grad_req = "write"  # here
---
class Data(mx.gluon.data.Dataset):
    def __len__(self):
        return 4
    def __getitem__(self, number):
        return number
    unsendable = (lambda: 1, open("data", "w"))
data = Data()
data.file = open("data")
mx.gluon.data.DataLoader(data, 2, num_workers=1)  # here
data.file.close()
Data.unsendable[1].close()
---
class Net(mx.gluon.Block):
    def __init__(self):
        super().__init__()
        self.blocks = [mx.gluon.nn.Dense(2)]
Net().collect_params()  # here
---
class Net(mx.gluon.HybridBlock):
    def hybrid_forward(self, F, x):
        return x * float(x.sum().asscalar())
net = Net()
net.hybridize()
net(mx.nd.ones((2,)))  # here
---
mx.gluon.utils.download("file:///nowhere", "got", retries=0, verify_ssl=False)  # here raises
---
x = mx.sym.var("x")
bound = (x * 2).simple_bind(mx.cpu(), x=(2,))
bound.forward(is_train=False)
bound.backward(mx.nd.ones((2,)))  # here
mx.sym.FullyConnected(x, num_hidden=2).infer_shape()  # here
mx.sym.elemwise_add(x, mx.sym.var("y")).infer_type()  # here
---
mx.optimizer.SGD(learning_rate=0.5, lr_scheduler=mx.lr_scheduler.FactorScheduler(10, base_lr=0.1))  # here
mx.optimizer.SGD(momentum=0.9).create_state_multi_precision(0, mx.nd.ones((2,), dtype="float16"))  # here
@mx.optimizer.register
class Mine(mx.optimizer.SGD):
    pass
@mx.init.register  # here
class One(mx.init.Initializer):
    pass
---
mx.profiler.profiler_set_config(filename="profile.json")  # here
---
os.environ["SPARSEKIT_PROFILE"] = "nonsense"
sparsekit.profiler.api.autostart()  # here
mx.profiler.set_state("stop")
os.remove("sparsekit-profile.npz") if os.path.exists("sparsekit-profile.npz") else None
os.environ["SPARSEKIT_PROFILE"] = ""
---
mx.log.getLogger("a logger")  # here
---
mx.model.FeedForward(mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=1))  # here
---
output = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=1, name="fc")
symbol = mx.sym.LinearRegressionOutput(output, mx.sym.var("lin_label"))
module = mx.mod.Module(symbol, label_names=["lin_label"])
mx.mod.Module(symbol, label_names=["other_label"])  # here
module.bind([("data", (2, 3))], [("lin_label", (2, 1))])
module.init_params()
module.init_params()  # here
module.set_params({}, {}, force_init=False)  # here
module.set_params({}, {}, allow_missing=True, force_init=False)  # here
module.init_optimizer(optimizer=mx.optimizer.SGD(rescale_grad=3.0))  # here
module.prepare(mx.io.DataBatch([mx.nd.ones((2, 3))]), lambda batch: {})  # here
module = mx.mod.Module(symbol, label_names=["lin_label"], context=[mx.cpu(0), mx.cpu(1)])
module.bind([("data", (2, 3))], [("lin_label", (2, 1))])
module.init_params()
module.init_optimizer()
module.prepare(mx.io.DataBatch([mx.nd.ones((2, 3))]), lambda batch: {"fc_weight": mx.nd.array([0])})  # here
module = mx.mod.Module(symbol, label_names=["lin_label"])
module.bind([("data", (2, 3))], [("another", (2, 1))])  # here raises
---
module = mx.mod.BucketingModule(lambda key: (mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=1), ["data"], None), 3)
module.bind([("data", (2, 3))])
module.init_params()
module.set_params({}, {}, force_init=False)  # here
---
mx.rnn.rnn_unroll(mx.rnn.RNNCell(3), 2, mx.sym.var("data"))  # here
mx.rnn.FusedRNNCell(3).unroll(2, mx.sym.var("data"))  # here
---
module = mx.mod.PythonModule(["data"], None, ["out"])
module.prepare(mx.io.DataBatch([mx.nd.ones((2, 3))]), lambda batch: {})  # here
---
environment = sparsekit.base.environment
os.environ.update(dict.fromkeys(["SPARSEKIT_X", "SPARSEKIT_NUM_THREADS", "SPARSEKIT_KERNELS"], "nonsense"))
environment.flag("SPARSEKIT_X", True)  # here
environment.thread_count()  # here
environment.kernels_asked.__wrapped__()  # here
del os.environ["SPARSEKIT_X"], os.environ["SPARSEKIT_NUM_THREADS"], os.environ["SPARSEKIT_KERNELS"]
---
mx.nd.sort(mx.nd.sparse.csr_matrix(np.eye(3)))  # here
mx.nd.take(mx.nd.ones((3,)), mx.nd.array([7]))  # here
---
import contextlib, copy, functools, threading
def deep(number):
    mx.nd.take(mx.nd.ones((number,)), mx.nd.array([7]))  # here
functools.partial(deep, 5)()
with contextlib.ExitStack() as stack:
    stack.callback(deep, 6)
worker = threading.Thread(target=deep, args=(7,))
worker.start()
worker.join()
"""

RUN = """
import json, os, runpy, sys, warnings
import numpy as np
import sparsekit, sparsekit as mx
import sparsekit.base.environment, sparsekit.base.warn, sparsekit.profiler.api

seen, found = [], []

class Noting:
    def __getattr__(self, name):
        return getattr(warnings, name)

    def warn_explicit(self, message, category, filename, line, *others):
        place = sys._getframe(2)
        seen.append([place.f_globals["__name__"], place.f_lineno])
        found.append([filename, line, str(message)])

sparsekit.base.warn.warnings = Noting()
names = {"mx": mx, "np": np, "os": os, "sparsekit": sparsekit}
failed = []
for path in sys.argv[1:]:
    try:
        runpy.run_path(path, names)
    except Exception as error:
        with open(path, encoding="utf-8") as file:
            if "# here raises" not in file.read():
                failed.append([path, repr(error)])
print(json.dumps([seen, found, failed]))
"""


def places():
    """Every place in the package that warns: module, first and last line, and the function around it."""
    for path in sorted(PACKAGE.rglob("*.py")):
        module = ".".join(path.relative_to(PACKAGE).with_suffix("").parts)
        todo = [(ast.parse(path.read_text(encoding="utf-8")), module)]
        while todo:
            node, around = todo.pop()
            for inner in ast.iter_child_nodes(node):
                if isinstance(inner, ast.Call) and isinstance(inner.func, (ast.Name, ast.Attribute)) and module != "base.warn":
                    called = ast.unparse(inner.func)
                    assert called != "warnings.warn", f"{module}:{inner.lineno} would name a line of the library"
                    if called == "warn_user":
                        yield module, inner.lineno, inner.end_lineno, around
                named = isinstance(inner, (ast.FunctionDef, ast.ClassDef))
                todo.append((inner, f"{around}.{inner.name}" if named else around))


@pytest.fixture(scope="module")
def warned(tmp_path_factory):
    folder = tmp_path_factory.mktemp("programs")
    paths = []
    for number, text in enumerate(PROGRAMS.split("---\n")):
        paths.append(folder / f"program_{number}.py")
        paths[-1].write_text(text, encoding="utf-8")
    done = subprocess.run([sys.executable, "-c", RUN, *map(str, paths)], capture_output=True, text=True, cwd=folder, timeout=600,
                          env={**os.environ, "PYTHONPATH": str(ROOT)})
    assert done.returncode == 0, done.stderr
    seen, found, failed = json.loads(done.stdout.splitlines()[-1])
    assert not failed, failed
    return paths, seen, found


@pytest.mark.compiled
def test_every_warning_names_the_line_of_the_program(warned):
    paths, _, found = warned
    wanted = {(str(path), number) for path in paths
              for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1) if "# here" in line}
    named = {(path, number) for path, number, _ in found}
    others = [(path, line, text) for path, line, text in found if (path, line) not in wanted]
    assert not others, others
    assert not wanted - named, sorted(wanted - named)


@pytest.mark.compiled
def test_every_place_that_warns_is_made_to(warned):
    _, seen, _ = warned
    reached = [(module.removeprefix("sparsekit.").removesuffix(".__init__"), line) for module, line in seen]
    missing = [f"{around} ({module}:{first})" for module, first, last, around in places() if around not in NOT_MADE
               and not any(name == module.removesuffix(".__init__") and first <= line <= last for name, line in reached)]
    assert not missing, "\n".join(missing)
    assert set(NOT_MADE) <= {around for *_, around in places()}
