"""Record the public names of MXNet's modules, and of its classes."""

import importlib
import inspect
import sys
import types

import mxnet as mx
import recording

MODULES = [
    ".", "nd", "nd.sparse", "nd.random", "nd.linalg", "nd.contrib", "nd.image", "sym", "sym.sparse", "sym.random",
    "sym.linalg", "sym.contrib", "sym.image", "gluon", "gluon.nn", "gluon.rnn", "gluon.loss", "gluon.data", "gluon.utils",
    "gluon.parameter", "gluon.block", "gluon.trainer", "gluon.contrib", "gluon.contrib.nn", "gluon.contrib.rnn",
    "gluon.contrib.data", "gluon.contrib.estimator", "autograd", "optimizer", "metric", "io", "kv", "initializer",
    "lr_scheduler", "callback", "monitor", "model", "module", "viz", "test_utils", "random", "engine", "base", "context",
    "operator", "executor", "name", "attribute", "profiler", "util", "runtime", "log", "error", "libinfo", "registry", "rtc",
    "contrib", "contrib.text", "contrib.autograd", "contrib.io", "executor_manager", "library", "recordio", "rnn",
]

CLASSES = [
    "nd.NDArray", "nd.sparse.CSRNDArray", "nd.sparse.RowSparseNDArray", "sym.Symbol", "gluon.Block", "gluon.HybridBlock",
    "gluon.SymbolBlock", "gluon.Parameter", "gluon.Constant", "gluon.ParameterDict", "gluon.Trainer", "optimizer.Optimizer",
    "optimizer.Updater", "metric.EvalMetric", "kv.KVStore", "io.DataIter", "io.NDArrayIter", "io.DataBatch", "io.DataDesc",
    "initializer.Initializer", "lr_scheduler.LRScheduler", "module.Module", "module.BaseModule", "module.BucketingModule",
    "module.SequentialModule", "executor.Executor", "Context", "monitor.Monitor", "gluon.rnn.RecurrentCell",
    "gluon.data.DataLoader", "gluon.data.Dataset", "operator.CustomOp", "operator.CustomOpProp", "model.FeedForward",
    "AttrScope", "name.NameManager", "autograd.Function", "engine.bulk",
]

#: Modules whose functions others import for their own use.
HELPERS = ("mxnet.base", "mxnet._ctypes", "mxnet.libinfo", "mxnet.util", "mxnet.numpy", "mxnet.numpy_extension", "mxnet.registry")


def found_at(name):
    holder = mx
    for part in name.split(".") if name != "." else ():
        try:
            holder = getattr(holder, part)
        except AttributeError:
            holder = importlib.import_module(f"mxnet.{name}")
    return holder


def is_public(holder, name, value):
    """Whether a name is there for users, not because a module imports it for its own use."""
    if name.startswith("_") or name.endswith(("Handle", "_handle")):
        return False
    if isinstance(value, types.ModuleType):
        return value.__name__.startswith("mxnet") and holder is mx
    home = getattr(value, "__module__", None) or ""
    if not (callable(value) and home.startswith("mxnet")):
        return False
    own = holder.__name__
    if holder is mx or home == own or home.startswith(f"{own}."):
        return True
    return not home.startswith(HELPERS) and inspect.getmodule(value) is not None and home.split(".")[1] == (
        [*own.split("."), ""])[1] and not inspect.isclass(value)


modules = {}
for name in MODULES:
    holder = found_at(name)
    given = getattr(holder, "__all__", None)
    names = {key for key in dir(holder) if is_public(holder, key, getattr(holder, key, None))}
    modules[name] = sorted(names | {key for key in given or () if not key.startswith("_")})
classes = {name: sorted(key for key in dir(found_at(name)) if not key.startswith("_")) for name in CLASSES}
recording.save(sys.argv[1], {"modules": modules, "classes": classes})
