"""A program: every public constructor and reader with every kind of object in the place of each argument.

``weird.py PART PARTS OBJECTS SEED [NAME ...]`` takes every PARTS-th callable from PART on, and OBJECTS of the objects for
each argument, all for 0.  It prints a line for each error that is none of ``SparsekitError``.
"""

from __future__ import annotations

import contextlib
import inspect
import random
import sys
import tempfile
import traceback
import warnings
from pathlib import Path

import numpy as np

import sparsekit as mx

nd, sym, gluon, io = mx.nd, mx.sym, mx.gluon, mx.io
HUGE = 1 << 62


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
    """All kinds of objects, made anew: some are iterators."""
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


def started(block, *inputs):
    block.initialize()
    return block(*inputs)


def module():
    return mx.mod.Module(sym.FullyConnected(sym.Variable("data"), num_hidden=2, name="fc"), label_names=None)


def bound():
    made = module()
    made.bind([("data", (2, 2))])
    return made


def ready():
    made = bound()
    made.init_params()
    return made


X = nd.array([[1.0, 0.0], [0.0, 2.0]])
ONE = {"data": X}

#: Callables and good arguments; each argument, and each further parameter, is replaced in turn.
CALLS = {
    "nd.array": (nd.array, {"source_array": [[1, 2]]}), "nd.zeros": (nd.zeros, {"shape": (2,)}),
    "nd.ones": (nd.ones, {"shape": (2,)}), "nd.full": (nd.full, {"shape": (2,), "val": 1}), "nd.empty": (nd.empty,
    {"shape": (2,)}),
    "nd.arange": (nd.arange, {"start": 0, "stop": 3}), "nd.linspace": (nd.linspace, {"start": 0, "stop": 1, "num": 3}),
    "nd.eye": (nd.eye, {"N": 2}), "nd.from_numpy": (nd.from_numpy, {"ndarray": np.ones(2)}),
    "nd.from_dlpack": (nd.from_dlpack, {"dlpack": np.ones(2)}),
    "nd.load": (nd.load, {"fname": "there.params"}), "nd.save": (nd.save, {"fname": "made.params", "data": [X]}),
    "nd.load_frombuffer": (nd.load_frombuffer, {"buf": Path}),
    "csr_matrix": (nd.sparse.csr_matrix, {"arg1": [[1, 2]]}),
    "csr_matrix of components": (lambda data, indices, indptr, shape: nd.sparse.csr_matrix((data, indices, indptr), shape=shape),
                                 {"data": [1.0], "indices": [0], "indptr": [0, 1], "shape": (1, 1)}),
    "csr_matrix of places": (lambda data, row, col, shape: nd.sparse.csr_matrix((data, (row, col)), shape=shape),
                             {"data": [1.0], "row": [0], "col": [0], "shape": (1, 1)}),
    "row_sparse_array": (nd.sparse.row_sparse_array, {"arg1": [[1, 2]]}),
    "row_sparse_array of components": (lambda data, indices, shape: nd.sparse.row_sparse_array((data, indices), shape=shape),
                                       {"data": [[1.0]], "indices": [0], "shape": (1, 1)}),
    "sparse.array": (nd.sparse.array, {"source_array": X.tostype("csr")}),
    "sparse.zeros": (nd.sparse.zeros, {"stype": "csr", "shape": (2, 2)}),
    "sparse.empty": (nd.sparse.empty, {"stype": "csr", "shape": (2, 2)}),
    "sparse.retain": (nd.sparse.retain, {"data": X.tostype("row_sparse"), "indices": [0]}),
    "from_binsparse": (nd.sparse.from_binsparse, {"x": X.tostype("csr")}),
    "binsparse": (binsparse, {"values": np.array([1.0]), "indices_1": np.array([0]), "pointers_to_1": np.array([0, 1, 1])}),
    "binsparse described": (binsparse_described, {"everything": {}}), "binsparse parts": (binsparse_parts, {"parts": {}}),
    **{f"random.{name}": (getattr(nd.random, name), good) for name, good in {
        "uniform": {}, "normal": {}, "gamma": {}, "exponential": {}, "poisson": {}, "negative_binomial": {},
        "generalized_negative_binomial": {}, "randint": {"low": 0, "high": 3}, "multinomial": {"data": nd.array([0.5, 0.5])},
        "shuffle": ONE}.items()},
    "random.seed": (mx.random.seed, {"seed_state": 3}),
    "asnumpy": (lambda key: X[key], {"key": 0}), "x[key] = value": (lambda key, value: X.copy().__setitem__(key, value),
                                                                 {"key": 0, "value": 1}),
    "csr[key]": (lambda key: X.tostype("csr")[key], {"key": 0}),
    "row_sparse[:] =": (lambda value: X.tostype("row_sparse").__setitem__(slice(None), value), {"value": 0}),
    "csr[:] =": (lambda value: X.tostype("csr").__setitem__(slice(None), value), {"value": 0}),
    "x + value": (lambda value: X + value, {"value": 1}), "csr * value": (lambda value: X.tostype("csr") * value, {"value": 1}),
    "astype": (X.astype, {"dtype": "float32"}), "tostype": (X.tostype, {"stype": "csr"}), "reshape": (X.reshape, {"shape": (4,)}),
    "copyto": (X.copyto, {"other": X.copy()}), "as_in_context": (X.as_in_context, {"ctx": mx.cpu()}),
    "attach_grad": (X.copy().attach_grad, {"grad_req": "write", "stype": "default"}),
    "Context": (mx.Context, {"device_type": "cpu"}), "cpu": (mx.cpu, {"device_id": 0}),
    "NDArrayIter": (io.NDArrayIter, {"data": np.ones((4, 2)), "batch_size": 2}),
    "CSVIter": (io.CSVIter, {"data_csv": ["1,2"], "data_shape": (2,), "batch_size": 1}),
    "LibSVMIter": (io.LibSVMIter, {"data_libsvm": ["1 0:1"], "data_shape": (2,), "batch_size": 1}),
    "ResizeIter": (lambda data_iter, size: next(io.ResizeIter(data_iter, size)),
                   {"data_iter": io.NDArrayIter(np.ones((4, 2)), batch_size=2), "size": 2}),
    "DataDesc": (io.DataDesc, {"name": "data", "shape": (2,)}),
    "load_libsvm": (io.load_libsvm, {"source": ["1 0:1"]}) if hasattr(io, "load_libsvm") else (io.LibSVMIter, {}),
    "ArrayDataset": (gluon.data.ArrayDataset, {}), "SimpleDataset": (gluon.data.SimpleDataset, {"data": [1]}),
    "DataLoader": (lambda **given: next(iter(gluon.data.DataLoader(**given))),
                   {"dataset": gluon.data.SimpleDataset([1, 2]), "batch_size": 1}),
    "BatchSampler": (gluon.data.BatchSampler, {"sampler": gluon.data.SequentialSampler(3), "batch_size": 2}),
    "SequentialSampler": (gluon.data.SequentialSampler, {"length": 3}), "RandomSampler": (gluon.data.RandomSampler,
    {"length": 3}),
    "Dense": (lambda **given: started(gluon.nn.Dense(**given), X), {"units": 2}),
    "Embedding": (lambda **given: started(gluon.nn.Embedding(**given), X), {"input_dim": 3, "output_dim": 2}),
    "Dropout": (lambda **given: started(gluon.nn.Dropout(**given), X), {"rate": 0.5}),
    "BatchNorm": (lambda **given: started(gluon.nn.BatchNorm(**given), X), {"axis": 1}),
    "LayerNorm": (lambda **given: started(gluon.nn.LayerNorm(**given), X), {"axis": 1}),
    "Activation": (lambda **given: started(gluon.nn.Activation(**given), X), {"activation": "relu"}),
    "LeakyReLU": (lambda **given: started(gluon.nn.LeakyReLU(**given), X), {"alpha": 0.5}),
    "LSTM": (lambda **given: started(gluon.rnn.LSTM(**given), nd.ones((2, 1, 2))), {"hidden_size": 2}),
    "LSTMCell": (gluon.rnn.LSTMCell, {"hidden_size": 2}),
    "Parameter": (gluon.Parameter, {"name": "weight", "shape": (2,)}), "Constant": (gluon.Constant, {"name": "c", "value": X}),
    "Trainer": (gluon.Trainer, {"params": gluon.nn.Dense(1, in_units=1).collect_params(), "optimizer": "sgd"}),
    "SoftmaxCrossEntropyLoss": (lambda **given: gluon.loss.SoftmaxCrossEntropyLoss(**given)(X, nd.array([0, 1])), {"axis": -1}),
    "HuberLoss": (lambda **given: gluon.loss.HuberLoss(**given)(X, X), {"rho": 1}),
    "split_data": (gluon.utils.split_data, {"data": X, "num_slice": 2}),
    "split_and_load": (gluon.utils.split_and_load, {"data": X, "ctx_list": [mx.cpu()]}),
    "clip_global_norm": (gluon.utils.clip_global_norm, {"arrays": [X.copy()], "max_norm": 1.0}),
    "save_parameters": (lambda filename: started(gluon.nn.Dense(1), X) is not None and
                        gluon.nn.Dense(1, in_units=1).save_parameters(filename), {"filename": "made.params"}),
    "load_parameters": (gluon.nn.Dense(1, in_units=1).load_parameters, {"filename": "none.params"}),
    "metric.create": (mx.metric.create, {"metric": "acc"}), "Accuracy": (mx.metric.Accuracy, {}),
    "TopK": (mx.metric.TopKAccuracy, {}),
    "Accuracy.update": (lambda labels, preds: mx.metric.Accuracy().update(labels, preds), {"labels": [nd.array([0, 1])],
    "preds": [X]}),
    **{f"metric.{name}": (lambda labels, preds, kind=name: mx.metric.create(kind).update(labels, preds),
                          {"labels": [nd.array([0, 1])], "preds": [X]})
       for name in ("TopKAccuracy", "F1", "Perplexity", "CrossEntropy", "MSE", "PearsonCorrelation", "Loss")},
    "metric.CompositeEvalMetric": (mx.metric.CompositeEvalMetric, {"metrics": ["acc"]}),
    "metric.CustomMetric": (mx.metric.CustomMetric, {"feval": len}),
    **{f"optimizer.{name}": (getattr(mx.optimizer, name), {"learning_rate": 0.1})
       for name in ("SGD", "Adam", "AdaGrad", "Ftrl", "RMSProp")},
    "SGD.update": (lambda index, weight, grad, state: mx.optimizer.SGD().update(index, weight, grad, state),
                   {"index": 0, "weight": X.copy(), "grad": X, "state": None}),
    "set_lr_mult": (lambda args_lr_mult: mx.optimizer.SGD().set_lr_mult(args_lr_mult), {"args_lr_mult": {}}),
    "Module.bind": (lambda **given: module().bind(**given), {"data_shapes": [("data", (2, 2))]}),
    "Module.init_params": (lambda **given: bound().init_params(**given), {}),
    "Module.init_optimizer": (lambda **given: ready().init_optimizer(**given), {}),
    "Module.forward": (lambda data_batch: ready().forward(data_batch), {"data_batch": io.DataBatch([X])}),
    "Module.set_params": (lambda **given: bound().set_params(**given), {"arg_params": {}, "aux_params": {}}),
    "Module.save_checkpoint": (lambda prefix, epoch: ready().save_checkpoint(prefix, epoch), {"prefix": "made", "epoch": 1}),
    "DataBatch": (io.DataBatch, {"data": [X]}), "FilterSampler": (gluon.data.FilterSampler, {"fn": bool, "dataset": [0, 1]}),
    "sym.full": (sym.full, {"shape": (2,), "val": 1}), "sym.arange": (sym.arange, {"start": 0, "stop": 3}),
    "sym.linspace": (sym.linspace, {"start": 0, "stop": 1, "num": 3}), "sym.eye": (sym.eye, {"N": 2}),
    "sym.split_v2": (sym.split_v2, {"ary": sym.Variable("x"), "indices_or_sections": 2}),
    "sym.concatenate": (sym.concatenate, {"arrays": [sym.Variable("x")]}),
    "sym.histogram": (sym.histogram, {"a": sym.Variable("x"), "bins": 3, "range": (0, 1)}),
    "infer_storage_type": (lambda x: sym.Variable("x").infer_storage_type(x=x), {"x": "csr"}),
    "infer_type": (lambda x: sym.Variable("x").infer_type(x=x), {"x": "float32"}),
    "optimizer.create": (mx.optimizer.create, {"name": "sgd"}), "SGD": (mx.optimizer.SGD, {}), "Adam": (mx.optimizer.Adam, {}),
    "FactorScheduler": (mx.lr_scheduler.FactorScheduler, {"step": 2}),
    "MultiFactorScheduler": (mx.lr_scheduler.MultiFactorScheduler, {"step": [2, 3]}),
    "PolyScheduler": (mx.lr_scheduler.PolyScheduler, {"max_update": 3}),
    "init.create": (mx.init.create, {"name": "zeros"}) if hasattr(mx.init, "create") else (mx.init.Zero, {}),
    "Constant initializer": (lambda value: mx.init.Constant(value)("weight", X.copy()), {"value": 1}),
    "Uniform": (lambda scale: mx.init.Uniform(scale)("weight", X.copy()), {"scale": 1.0}),
    "Xavier": (lambda **given: mx.init.Xavier(**given)("weight", X.copy()), {"magnitude": 3}),
    "kv.create": (mx.kv.create, {"name": "local"}),
    "kv.init": (lambda key, value: mx.kv.create("local").init(key, value), {"key": "a", "value": X}),
    "Variable": (sym.Variable, {"name": "x"}), "sym.load": (sym.load, {"fname": "none.json"}),
    "sym.load_json": (sym.load_json, {"json_str": "{}"}), "Group": (sym.Group, {"symbols": [sym.Variable("x")]}),
    "sym.zeros": (lambda **given: sym.zeros(**given).eval(), {"shape": (2,)}),
    "sym.save": (sym.Variable("x").save, {"fname": "made.json"}),
    "infer_shape": (lambda x: sym.FullyConnected(sym.Variable("x"), num_hidden=2).infer_shape(x=x), {"x": (2, 2)}),
    "simple_bind": (lambda x, ctx: sym.FullyConnected(sym.Variable("x"), num_hidden=2).simple_bind(ctx, x=x),
                    {"x": (2, 2), "ctx": mx.cpu()}),
    "Module": (mx.mod.Module, {"symbol": sym.Variable("x")}),
    "load_checkpoint": (mx.model.load_checkpoint, {"prefix": "none", "epoch": 1}),
    "load_trace": (mx.load_trace if hasattr(mx, "load_trace") else mx.profiler.load_trace, {"path": "none.json"}),
    "Profiler": (mx.Profiler, {}), "to_html": (lambda path: profile().to_html(path), {"path": "made.html"}),
    "save_trace": (lambda path: profile().save_trace(path), {"path": "made.json"}),
    "profiler.set_config": (mx.profiler.set_config, {"filename": "made.json"}),
    "config.set": (lambda **given: mx.config.set(**given).__enter__() and None, {}),
    **{f"config.{name}": (lambda value, name=name: changed(name, value), {"value": None}) for name in mx.config.__slots__},
}


def profile():
    with mx.Profiler() as prof:
        X + 1
    return prof


def changed(name, value):
    with mx.config.set(**{name: value}):
        pass


#: What raises errors of what it was given: functions and files of the user, whose errors are theirs.
THEIRS = ("of the object itself",)


def parameters(function, good):
    """The arguments to replace: those given, and all others that have names."""
    names = dict.fromkeys(good)
    try:
        found = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return names
    names.update(dict.fromkeys(one.name for one in found if one.kind in (one.KEYWORD_ONLY, one.POSITIONAL_OR_KEYWORD)))
    return names


def main(part, parts, amount, seed, *names):
    random.seed(int(seed))
    calls = 0
    count = len(objects())
    np.seterr(all="ignore")
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(errors="backslashreplace")  # messages may hold text that no file can
    warnings.simplefilter("ignore")
    for name in names or list(CALLS)[int(part)::int(parts)]:
        function, good = CALLS[name]
        for parameter in parameters(function, good):
            places = range(count) if amount == "0" else sorted(random.sample(range(count), int(amount)))
            for place in places:
                thing = objects()[place]
                what = f"{name}({parameter}=object {place}, a {type(thing).__name__})"
                print(what, file=sys.stderr, flush=True)
                calls += 1
                try:
                    function(**{**good, parameter: thing})
                except mx.SparsekitError as error:
                    if "Hint:" not in str(error) and "-v" in sys.argv:
                        print(f"{what}: no hint: {error}")
                except BaseException as error:  # a generator's exit too
                    frames = traceback.extract_tb(error.__traceback__)
                    place = f"{Path(frames[-1].filename).name}:{frames[-1].lineno}"
                    print(f"{what}: {type(error).__name__}: {error!s:.100} at {place}")
    print(f"{calls} calls", file=sys.stderr)
    print("done")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):  # some of what is called writes files
        main(*sys.argv[1:])
