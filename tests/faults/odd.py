"""A program: each parameter of each public constructor, function and method meets odd objects in turn.

``odd.py found PART PARTS [NAME ...]`` takes every PARTS-th callable from PART on that it finds by itself: all of ``__all__``
of the modules below, and the public methods of classes.  A callable that needs an argument for which ``GOOD`` has nothing is
an error here.  What could be made is also used once.
``odd.py listed PART PARTS [NAME ...]`` takes those of ``LISTED``, whose arguments each meet some of many more objects.
A line is printed for each error that is none of ``SparsekitError``, or a fault of the library.
"""

from __future__ import annotations

import contextlib
import functools
import inspect
import logging
import os
import pickle
import random
import signal
import sys
import tempfile
import traceback
import warnings
from pathlib import Path

import numpy as np

import sparsekit as mx
from sparsekit.dist.transport import LocalCluster, set_current

sys.modules["ray"] = None  # nothing here starts processes: what passes the checks of arguments ends with a missing package
nd, sym, io, gluon, data = mx.nd, mx.sym, mx.io, mx.gluon, mx.gluon.data
HUGE = 1 << 62

#: How many of ``objects`` each argument of a listed callable meets.
SOME = 6

MODULES = {"mod": mx.mod, "model": mx.model, "optimizer": mx.optimizer, "metric": mx.metric, "data": data, "kv": mx.kv,
           "lr_scheduler": mx.lr_scheduler, "init": mx.init, "callback": mx.callback, "io": io, "dist": mx.dist}


def odd():
    """The objects that every argument meets, made anew."""
    return [None, object(), float("nan"), "x", [], {}, -1, 2**70, lambda *_: 1, [None], 1.5]


def raising(*names, error=KeyError):
    """An object whose methods of these names raise."""

    def fail(self, *args, **kwargs):
        raise error("of the object itself")

    return type("Raising_" + "_".join(names).strip("_"), (), dict.fromkeys(names, fail))()


class Answers:
    """Has attributes that arrays of others have, with nonsense in them."""

    def __init__(self, **attributes):
        self.__dict__.update(attributes)


LIST: list = []
LIST.append(LIST)
DICT: dict = {}
DICT["a"] = DICT


def objects():
    """Objects of all kinds, made anew: some are iterators."""
    return [
        None, True, 0, -1, 3, HUGE, -HUGE, 10**400, 10**5000, 1.5, float("nan"), float("inf"), 1e300, 1j, "", "x", "3", "\ud800",
        "a\0b", b"", b"\0", b"x\xff", bytearray(b"ab"), memoryview(b"abc"), (), (1,), (1, 2), (HUGE, 3), (float("nan"), 2), [],
        [[]],
        [[1, 2], [3]], {}, {"a": 1}, {1, 2}, frozenset(), range(5), LIST, DICT, (LIST, LIST), iter([1, 2]), (i for i in range(3)),
        object(), object, int, len, ..., slice(3), NotImplemented, sys, lambda *_: 1,
        np.float32(2), np.int64(3), np.float64("nan"), np.bool_(True), np.str_("x"), np.datetime64("2020-01-01"), np.array(3),
        np.array([1, 2]), np.array([[1.0, 2], [3, 4]]), np.array(["a"]), np.array([None]), np.zeros((2, 0)), np.ma.masked,
        np.array([1], "M8[s]"), np.zeros(2, [("a", int)]), np.array([1, 2], "uint16"), np.array([LIST, 1], object),
        raising("__len__", "__iter__"), raising("__iter__"), raising("__len__", "__getitem__"), raising("__array__"),
        raising("__index__"), raising("__float__", "__int__"), raising("__repr__", "__str__"), raising("__getattr__",
        error=ValueError),
        raising("__eq__", "__hash__"), raising("__eq__"), raising("__array__", "__repr__", error=RuntimeError),
        raising("__fspath__"), raising("read"), raising("keys", "items"), raising("__bool__"), raising("__dlpack__"),
        raising("tocsr"), raising("__array_interface__"), raising("__buffer__"), raising("__format__"),
        Answers(tocsr=lambda: None, shape=(2, 2)), Answers(stype="csr"), Answers(stype=3), Answers(_store=1), Answers(shape=3),
        Answers(dtype="float32", shape=3), Answers(shape=None), Answers(__array_interface__={"shape": 3}), Answers(read=3),
        Answers(read=lambda *_: 3), Answers(_layout=3, _store=4), Answers(stype="csr", _store=None),
        nd.ones((2, 2)), nd.ones((2, 2)).tostype("csr"), nd.ones((2, 2)).tostype("row_sparse"), nd.array([1.0]),
        sym.Variable("x"), mx.cpu(), nd, ([1.0], [0], [0, 1]), ([1.0], ([0], [0])), ([1], [1]), ([1.0], [0]),
    ]


def network():
    return sym.SoftmaxOutput(sym.FullyConnected(sym.Variable("data"), num_hidden=2, name="fc"), name="softmax")


def X():
    return nd.array([[1.0, 0.0], [0.0, 2.0]])


def batch():
    return io.DataBatch([X()], [nd.array([0, 1])], bucket_key=2, provide_data=[io.DataDesc("data", (2, 2))],
                        provide_label=[io.DataDesc("softmax_label", (2,))])


def batches():
    return io.NDArrayIter(np.ones((4, 2), "float32"), np.zeros(4, "float32"), batch_size=2)


def started(made, label=True):
    """A module that has computed, with an optimizer."""
    made.bind([("data", (2, 2))], [("softmax_label", (2,))], inputs_need_grad=True)
    made.init_params()
    made.init_optimizer()
    made.forward(batch(), True)
    made.backward()
    return made


def sequential():
    made = mx.mod.SequentialModule()
    made.add(mx.mod.Module(sym.FullyConnected(sym.Variable("data"), num_hidden=2, name="fc"), label_names=None))
    made.add(mx.mod.PythonLossModule(data_names=("fc_output",), grad_func=lambda scores, labels: scores), take_labels=True,
             auto_wiring=True)
    return made


def sparse():
    return X().tostype("row_sparse")


def store(kind="local"):
    made = mx.kv.create(kind)
    made.init(["a", "rows"], [X(), sparse()])
    made.set_optimizer(mx.optimizer.SGD())
    return made


def store_of_servers():
    """A store whose two servers are in this process."""
    set_current(LocalCluster(shards=2, workers=1).transport(0))
    return store("dist_sync")


def stored():
    """Checkpoints and other files, in the folder that the program runs in."""
    if not os.path.exists("made-0001.params"):
        started(mx.mod.Module(network())).save_checkpoint("made", 1, True)
        bucketing().save_checkpoint("buckets", 1)
        started(mx.mod.Module(network())).save_params("made.params")
        store().save_optimizer_states("made.states")
        Path("data.libsvm").write_text("1 0:1\n", encoding="ascii")


def bucketing():
    return started(mx.mod.BucketingModule(lambda key: (network(), ("data",), ("softmax_label",)), default_bucket_key=2))


def fitted():
    made = mx.model.FeedForward(network(), num_epoch=1, numpy_batch_size=2)
    made.fit(np.ones((4, 2), "float32"), np.zeros(4, "float32"))
    return made


#: How to make an object of each class whose methods are called; others are made of good arguments.
MADE = {
    "Module": lambda: started(mx.mod.Module(network())), "BucketingModule": bucketing,
    "SequentialModule": lambda: started(sequential()), "KVStore": store, "DistKVStore": store_of_servers, "FeedForward": fitted,
    "PythonLossModule": lambda: mx.mod.PythonLossModule(grad_func=lambda scores, labels: scores),
    "Updater": lambda: mx.optimizer.get_updater(mx.optimizer.SGD(momentum=0.5)),
    "ArrayDataset": lambda: data.ArrayDataset(X(), [1, 2]),
    "EvalMetric": lambda: mx.metric.Accuracy(), "Dataset": lambda: data.SimpleDataset([1, 2, 3]),
    "Initializer": lambda: mx.init.Uniform(), "DataIter": batches, "LRScheduler": lambda: mx.lr_scheduler.FactorScheduler(2),
    "Optimizer": lambda: mx.optimizer.SGD(momentum=0.5), "PrefetchingIter": lambda: io.PrefetchingIter(batches()),
    "PythonModule": lambda: mx.mod.PythonLossModule(grad_func=lambda scores, labels: scores),
}

#: Bases that have nothing of their own to call: their methods are those of the classes derived from them.
ABSTRACT = {"BaseModule", "KVStoreBase", "Sampler"}

#: Good arguments, by the name of the parameter; made anew for each call.
GOOD = {
    "symbol": network, "data_shapes": lambda: [("data", (2, 2))], "label_shapes": lambda: [("softmax_label", (2,))],
    "data_batch": batch, "train_data": batches, "eval_data": batches, "num_epoch": lambda: 1, "eval_metric": lambda: "acc",
    "arg_params": dict, "aux_params": dict, "fname": lambda: "made.params", "labels": lambda: [nd.array([0, 1])],
    "preds": lambda: [nd.array([[0.3, 0.7], [0.6, 0.4]])], "label": lambda: {"softmax_label": nd.array([0, 1])},
    "pred": lambda: {"softmax_output": X()}, "prefix": lambda: "made", "epoch": lambda: 1, "mon": lambda: mx.mon.Monitor(1),
    "bucket_key": lambda: 2, "module": lambda: mx.mod.Module(network()), "index": lambda: 0, "weight": X, "grad": X,
    "name": lambda: "sgd", "args_lr_mult": dict, "args_wd_mult": dict, "lr": lambda: 0.1, "key": lambda: "a", "value": X,
    "out": X, "optimizer": lambda: mx.optimizer.SGD(), "capability": lambda: "optimizer", "row_ids": lambda: nd.array([0]),
    "compression_params": lambda: {"type": "2bit"}, "feval": lambda: lambda label, pred: 1.0,
    "numpy_feval": lambda: lambda label, pred: 1.0, "metric": lambda: "acc", "metrics": lambda: ["acc"],
    "fn": lambda: lambda *given: given[0], "sampler": lambda: data.SequentialSampler(3), "num_shards": lambda: 2,
    "count": lambda: 1,
    "batch_size": lambda: 2, "dataset": lambda: data.SimpleDataset([1, 2, 3, 4]), "length": lambda: 4, "interval": lambda: 2,
    "data": lambda: [X()], "done": lambda: 0.5, "num_update": lambda: 3, "max_update": lambda: 10, "step": lambda: 2,
    "init": lambda: mx.init.Uniform(), "num_hidden": lambda: 2, "num_layers": lambda: 1, "mode": lambda: "lstm",
    "param": dict, "patterns": lambda: [".*"], "initializers": lambda: [mx.init.Zero()], "total": lambda: 10,
    "period": lambda: 1, "mod": lambda: started(mx.mod.Module(network())), "nbatch": lambda: 1, "locals": dict,
    "data_csv": lambda: ["1,2"], "data_shape": lambda: (2,), "data_libsvm": lambda: ["1 0:1"], "source": lambda: ["1 0:1"],
    "data_iter": batches, "size": lambda: 2, "iters": batches, "path": lambda: "written.libsvm", "layout": lambda: "NC",
    "shapes": lambda: [("data", (2, 2))], "types": lambda: [("data", "float32")], "limit": lambda: 100,
    "X": lambda: np.ones((4, 2)),
    "y": lambda: np.zeros(4), "states": lambda: None, "ignore_label": lambda: None, "cls": lambda: type("Made", (), {}),
    "klass": lambda: type("Made", (mx.kv.KVStoreBase,), {}),
    "sym_gen": lambda: lambda key: (network(), ("data",), ("softmax_label",)),
    "data_names": lambda: ("data",), "label_names": lambda: ("softmax_label",), "output_names": lambda: ("out",),
    "state": lambda: None, "shape": lambda: (2, 2), "_": lambda: None, "desc": lambda: mx.init.InitDesc("weight"), "arr": X,
    "default_bucket_key": lambda: 2, "grad_func": lambda: lambda scores, labels: scores, "param_idx2name": lambda: {0: "weight"},
    "states_": lambda: pickle.dumps({}), "shared_module": lambda: started(mx.mod.Module(network())), "num_parts": lambda: 1,
    "context": lambda: mx.cpu(), "idx": lambda: 0, "address": lambda: "local", "job": lambda: "job",
}

#: The same for single callables, where the name means something else.
OWN = {"kv.create": {"name": lambda: "local"}, "kv.KVStore": {"name": lambda: "local"}, "init.Constant": {"value": lambda: 1.0},
       "init.InitDesc": {"name": lambda: "weight"}, "lr_scheduler.MultiFactorScheduler": {"step": lambda: [2, 3]},
       "data.Dataset.shard": {"index": lambda: 0}, "io.save_libsvm": {"data": X, "label": lambda: nd.array([0, 1])},
       "io.NDArrayIter": {"data": lambda: np.ones((4, 2)), "label": lambda: np.zeros(4)}, "io.DataDesc": {"name": lambda: "data"},
       "data.SimpleDataset": {"data": lambda: [1, 2]}, "metric.EvalMetric": {"name": lambda: "acc"},
       "io.DataDesc.get_list": {"shapes": lambda: [("data", (2, 2))], "types": lambda: [("data", "float32")]},
       "mod.BucketingModule.load": {"prefix": lambda: "buckets"}, "mod.Module.load": {"prefix": lambda: "made"},
       "metric.TopKAccuracy": {"top_k": lambda: 2}, "data.DataLoader": {"batch_size": lambda: 2},
       "io.DataBatch": {"label": lambda: None}, "callback.BatchEndParam": {"eval_metric": lambda: mx.metric.Accuracy()},
       "model.BatchEndParam": {"eval_metric": lambda: mx.metric.Accuracy()},
       "kv.KVStore.load_optimizer_states": {"fname": lambda: "made.states"}, "kv.DistKVStore": {"name": lambda: "dist_sync"},
       "kv.DistKVStore.load_optimizer_states": {"fname": lambda: "made.states"},
       **{f"kv.{kind}.{method}": {"key": lambda: "new"} for kind in ("KVStore", "DistKVStore")
          for method in ("init", "broadcast")},
       **{f"kv.{kind}.row_sparse_pull": {"key": lambda: "rows", "out": sparse, "row_ids": lambda: nd.array([0])}
          for kind in ("KVStore", "DistKVStore")},
       "kv.DistKVStore.push_pull_rows": {"key": lambda: "rows", "value": sparse, "out": sparse},
       "mod.SequentialModule.add": {"module": lambda: mx.mod.Module(network())}, "mod.PythonLossModule": {"name": lambda: "loss"},
       "mod.PythonModule": {"data_names": lambda: ["data"]},
       "mod.SequentialModule.update_metric": {"labels": lambda: [nd.array([0, 1])]}}


class Speaks:
    """An object with the two methods of binsparse."""

    def __init__(self, described, parts):
        self.described, self.parts = described, parts

    def __binsparse_descriptor__(self):
        return self.described

    def __binsparse__(self, *, descriptor=None):
        return self.parts


def spoken(**changes):
    """``from_binsparse`` of a matrix, with something changed in the descriptor or the arrays."""
    described = {"version": "0.1", "format": "CSR", "shape": [2, 2], "number_of_stored_values": 1,
                 "data_types": {"pointers_to_1": "int64", "indices_1": "int64", "values": "float32"}}
    parts = {"pointers_to_1": np.array([0, 1, 1]), "indices_1": np.array([1]), "values": np.array([1.0])}
    parts |= {name: changes.pop(name) for name in list(changes) if name in parts}
    everything = changes.pop("everything", {"binsparse": {**described, **changes}})
    return nd.sparse.from_binsparse(Speaks(everything, changes.pop("parts", parts)))


def binsparse(version="0.1", format="CSR", shape=(2, 2), number_of_stored_values=1, data_types=None, pointers_to_1=(0, 1, 1),
              indices_1=(1,), values=(1.0,)):
    given = locals()
    return spoken(**({name: value for name, value in given.items() if value is not None}))


def binsparse_described(everything):
    return spoken(everything=everything)


def binsparse_parts(parts):
    return nd.sparse.from_binsparse(Speaks({"binsparse": {"version": "0.1", "format": "CSR", "shape": [2, 2]}}, parts))


def initialized(block, *inputs):
    block.initialize()
    block(*inputs)
    return block


ARRAY = X()

#: Listed callables and good arguments: constructors, readers and methods of arrays, and what is said in several arguments.
LISTED = {
    **{f"nd.{name}": (getattr(nd, name), good) for name, good in {
        "array": {"source_array": [[1, 2]]}, "zeros": {"shape": (2,)}, "ones": {"shape": (2,)}, "empty": {"shape": (2,)},
        "full": {"shape": (2,), "val": 1}, "arange": {"start": 0, "stop": 3}, "linspace": {"start": 0, "stop": 1, "num": 3},
        "eye": {"N": 2}, "from_numpy": {"ndarray": np.ones(2)}, "from_dlpack": {"dlpack": np.ones(2)},
        "load": {"fname": "there.params"}, "save": {"fname": "made.params", "data": [ARRAY]}, "load_frombuffer": {"buf": Path},
    }.items()},
    **{f"sparse.{name}": (getattr(nd.sparse, name), good) for name, good in {
        "csr_matrix": {"arg1": [[1, 2]]}, "row_sparse_array": {"arg1": [[1, 2]]}, "array": {"source_array": ARRAY.tostype("csr")},
        "zeros": {"stype": "csr", "shape": (2, 2)}, "empty": {"stype": "csr", "shape": (2, 2)},
        "retain": {"data": ARRAY.tostype("row_sparse"), "indices": [0]}, "from_binsparse": {"x": ARRAY.tostype("csr")},
    }.items()},
    "csr_matrix of components": (lambda data, indices, indptr, shape: nd.sparse.csr_matrix((data, indices, indptr), shape=shape),
                                 {"data": [1.0], "indices": [0], "indptr": [0, 1], "shape": (1, 1)}),
    "csr_matrix of places": (lambda data, row, col, shape: nd.sparse.csr_matrix((data, (row, col)), shape=shape),
                             {"data": [1.0], "row": [0], "col": [0], "shape": (1, 1)}),
    "row_sparse_array of components": (lambda data, indices, shape: nd.sparse.row_sparse_array((data, indices), shape=shape),
                                       {"data": [[1.0]], "indices": [0], "shape": (1, 1)}),
    "binsparse": (binsparse, {"values": np.array([1.0]), "indices_1": np.array([0]), "pointers_to_1": np.array([0, 1, 1])}),
    "binsparse described": (binsparse_described, {"everything": {}}), "binsparse parts": (binsparse_parts, {"parts": {}}),
    **{f"random.{name}": (getattr(nd.random, name), good) for name, good in {
        "uniform": {}, "normal": {}, "randint": {"low": 0, "high": 3}, "multinomial": {"data": nd.array([0.5, 0.5])},
        "shuffle": {"data": ARRAY}}.items()},
    "astype": (ARRAY.astype, {"dtype": "float32"}), "tostype": (ARRAY.tostype, {"stype": "csr"}),
    "copyto": (ARRAY.copyto, {"other": ARRAY.copy()}), "as_in_context": (ARRAY.as_in_context, {"ctx": mx.cpu()}),
    "attach_grad": (ARRAY.copy().attach_grad, {"grad_req": "write", "stype": "default"}),
    "Context": (mx.Context, {"device_type": "cpu"}), "cpu": (mx.cpu, {"device_id": 0}),
    "NDArrayIter": (io.NDArrayIter, {"data": np.ones((4, 2)), "batch_size": 2}),
    "CSVIter": (io.CSVIter, {"data_csv": ["1,2"], "data_shape": (2,), "batch_size": 1}),
    "LibSVMIter": (io.LibSVMIter, {"data_libsvm": ["1 0:1"], "data_shape": (2,), "batch_size": 1}),
    "ArrayDataset": (gluon.data.ArrayDataset, {}),
    "save_parameters": (lambda filename: initialized(gluon.nn.Dense(1), ARRAY).save_parameters(filename),
                        {"filename": "made.params"}),
    "load_parameters": (gluon.nn.Dense(1, in_units=1).load_parameters, {"filename": "none.params"}),
    **{f"update of {name}": (lambda labels, preds, kind=name: mx.metric.create(kind).update(labels, preds),
                          {"labels": [nd.array([0, 1])], "preds": [ARRAY]})
       for name in ("TopKAccuracy", "F1", "Perplexity", "CrossEntropy", "MSE", "PearsonCorrelation", "Loss")},
    "sym.linspace": (sym.linspace, {"start": 0, "stop": 1, "num": 3}),
    "sym.split_v2": (sym.split_v2, {"ary": sym.Variable("x"), "indices_or_sections": 2}),
    "infer_storage_type": (lambda x: sym.Variable("x").infer_storage_type(x=x), {"x": "csr"}),
    "infer_type": (lambda x: sym.Variable("x").infer_type(x=x), {"x": "float32"}),
    "load": (mx.profiler.load, {"path": "none.json"}),
    **{f"save {ending}": (lambda path: profile().save(path), {"path": f"made.{ending}"}) for ending in ("npz", "html", "json")},
}


def profile():
    with mx.Profiler() as prof:
        ARRAY + 1
    return prof


def event():
    return mx.callback.BatchEndParam(0, 3, mx.metric.Accuracy(), {})


def optimized(optimizer):
    weight = X()
    state = optimizer.create_state_multi_precision(0, weight)
    optimizer.update_multi_precision(0, weight, X(), state)


#: What an object of each class is made for, done once to what was made of odd arguments.
USED = [
    (mx.lr_scheduler.LRScheduler, lambda made: [made(count) for count in (0, 3, 100)]),
    (mx.optimizer.Optimizer, optimized),
    (mx.init.Initializer, lambda made: (made("weight", X()), made.dumps())),
    (mx.metric.EvalMetric, lambda made: (made.update(GOOD["labels"](), GOOD["preds"]()), made.get(), repr(made))),
    (data.Sampler, lambda made: (len(made), [one for one, _ in zip(made, range(5), strict=False)])),
    (data.Dataset, lambda made: (len(made), made[0])),
    (data.DataLoader, lambda made: next(iter(made), None)),
    (io.DataIter, lambda made: next(made, None)),
    (io.LibSVMReader, lambda made: made.read()),
    (mx.callback.Speedometer, lambda made: [made(event()) for _ in range(2)]),
    (mx.callback.ProgressBar, lambda made: made(event())),
    (mx.mod.Module, started), (io.DataBatch, repr),
]

#: Classes that do nothing by themselves.
BASES = (mx.optimizer.Optimizer, mx.metric.EvalMetric, mx.init.Initializer, mx.lr_scheduler.LRScheduler, io.DataIter,
         data.Sampler, data.Dataset)

#: Whose errors are the user's own: parameters that take a function, where they meet one that does something odd.
FUNCTIONS = {"fn", "feval", "numpy_feval", "sym_gen", "grad_func", "batchify_fn", "sparse_row_id_fn", "print_func"}


def late(*_):
    raise TimeoutError("it takes more than 20 seconds")


def callables():
    """Names of all that is called, with a function that makes it."""
    for module_name, module in MODULES.items():
        for name in module.__all__:
            thing = getattr(module, name)
            full = f"{module_name}.{name}"
            if not callable(thing):
                continue
            yield full, lambda thing=thing: thing
            if inspect.isclass(thing) and name not in ABSTRACT and name != "BatchEndParam":
                for method in dir(thing):
                    public = not method.startswith("_") or method in ("__call__", "__getitem__")
                    ours = any(method in vars(cls) for cls in thing.__mro__ if cls.__module__.startswith("sparsekit"))
                    if not public or not ours or not callable(getattr(thing, method)):
                        continue
                    bound = isinstance(inspect.getattr_static(thing, method), (classmethod, staticmethod))
                    yield f"{full}.{method}", functools.partial(found, thing, full, method, bound)


def found(cls, full, method, bound):
    return getattr(cls if bound else instance(cls, full), method)


def instance(cls, full):
    return MADE[cls.__name__]() if cls.__name__ in MADE else cls(**arguments(full, cls)[0])


def arguments(full, function):
    """Good arguments for all that a callable must have, and the names of all its parameters."""
    if full in LISTED:
        good = LISTED[full][1]
        return good, list(dict.fromkeys([*good, *(one.name for one in inspect.signature(function).parameters.values()
                                                  if one.kind in (one.KEYWORD_ONLY, one.POSITIONAL_OR_KEYWORD))]))
    good, names = {}, []
    for one in inspect.signature(function).parameters.values():
        if one.kind in (one.VAR_POSITIONAL, one.VAR_KEYWORD):
            continue
        names.append(one.name)
        own = OWN.get(full, {})
        if one.default is one.empty or one.name in own:
            good[one.name] = own.get(one.name, GOOD.get(one.name))
            if good[one.name] is None:
                raise LookupError(f"nothing good is known for {one.name} of {full}")
            good[one.name] = good[one.name]()
    return good, names


def main(kind, part, parts, *chosen):
    np.seterr(all="ignore")
    random.seed(3)
    warnings.simplefilter("ignore")
    logging.disable(logging.CRITICAL)
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(errors="backslashreplace")  # messages may hold text that no file can
    shown, sys.stdout = sys.stdout, open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115 - callbacks print
    signal.signal(signal.SIGALRM, late)
    if kind == "found":
        stored()
        store_of_servers()
    of_kind = callables() if kind == "found" else ((name, lambda name=name: LISTED[name][0]) for name in LISTED)
    calls = 0
    for full, get in list(of_kind)[int(part)::int(parts)]:
        if chosen and full not in chosen:
            continue
        try:
            names = arguments(full, get())[1]
        except (mx.SparsekitError, LookupError) as error:
            print(f"{full} has no good arguments: {error}", file=shown)
            continue
        made_anew = odd if kind == "found" else objects
        for name in names:
            count = len(made_anew())
            for place in range(count) if kind == "found" else sorted(random.sample(range(count), SOME)):
                thing = made_anew()[place]
                if name == "num_epoch" and type(thing) is int and thing == 2**70:
                    continue  # so many rounds may be asked for
                what = f"{full}({name}=object {place}, a {type(thing).__name__})"
                print(what, file=sys.stderr, flush=True)
                calls += 1
                attempt(get, full, name, thing, what, shown)
    print(f"{calls} calls", file=sys.stderr)
    print("done", file=shown)


def attempt(get, full, name, thing, what, shown):
    """Call with an object in the place of one argument, and print what is wrong."""
    function = get()
    given = {**arguments(full, function)[0], name: thing}
    signal.alarm(120)
    try:
        made = function(**given)
        for kind, use in USED:
            if full not in LISTED and isinstance(made, kind) and type(made) not in BASES:
                use(made)
                break
    except mx.base.errors.InternalError as error:
        print(f"{what}: {error!s:.200}", file=shown)
    except mx.SparsekitError:
        pass
    except BaseException as error:  # a generator's exit too
        if not (name in FUNCTIONS or name.endswith("_callback")) or not inspect.isfunction(thing):
            frames = traceback.extract_tb(error.__traceback__)
            own = [frame for frame in frames if "sparsekit" in frame.filename] or frames
            print(f"{what}: {type(error).__name__}: {error!s:.80} at {Path(own[-1].filename).name}:{own[-1].lineno}", file=shown)
    finally:
        signal.alarm(0)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):  # some of what is called writes files
        main(*sys.argv[1:])
