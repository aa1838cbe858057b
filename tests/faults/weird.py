"""A program: every public constructor and reader with every kind of object in the place of each argument.

``weird.py PART PARTS OBJECTS SEED [NAME ...]`` takes every PARTS-th callable from PART on, and OBJECTS of the objects for
each argument, all for 0.  It prints a line for each error that is none of ``SparsekitError``, or a fault of the library.
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
    block(*inputs)
    return block


X = nd.array([[1.0, 0.0], [0.0, 2.0]])

#: Callables and good arguments; each argument, and each further parameter, is replaced in turn.
CALLS = {
    **{f"nd.{name}": (getattr(nd, name), good) for name, good in {
        "array": {"source_array": [[1, 2]]}, "zeros": {"shape": (2,)}, "ones": {"shape": (2,)}, "empty": {"shape": (2,)},
        "full": {"shape": (2,), "val": 1}, "arange": {"start": 0, "stop": 3}, "linspace": {"start": 0, "stop": 1, "num": 3},
        "eye": {"N": 2}, "from_numpy": {"ndarray": np.ones(2)}, "from_dlpack": {"dlpack": np.ones(2)},
        "load": {"fname": "there.params"}, "save": {"fname": "made.params", "data": [X]}, "load_frombuffer": {"buf": Path},
    }.items()},
    **{f"sparse.{name}": (getattr(nd.sparse, name), good) for name, good in {
        "csr_matrix": {"arg1": [[1, 2]]}, "row_sparse_array": {"arg1": [[1, 2]]}, "array": {"source_array": X.tostype("csr")},
        "zeros": {"stype": "csr", "shape": (2, 2)}, "empty": {"stype": "csr", "shape": (2, 2)},
        "retain": {"data": X.tostype("row_sparse"), "indices": [0]}, "from_binsparse": {"x": X.tostype("csr")},
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
        "shuffle": {"data": X}}.items()},
    "astype": (X.astype, {"dtype": "float32"}), "tostype": (X.tostype, {"stype": "csr"}),
    "copyto": (X.copyto, {"other": X.copy()}), "as_in_context": (X.as_in_context, {"ctx": mx.cpu()}),
    "attach_grad": (X.copy().attach_grad, {"grad_req": "write", "stype": "default"}),
    "Context": (mx.Context, {"device_type": "cpu"}), "cpu": (mx.cpu, {"device_id": 0}),
    "NDArrayIter": (io.NDArrayIter, {"data": np.ones((4, 2)), "batch_size": 2}),
    "CSVIter": (io.CSVIter, {"data_csv": ["1,2"], "data_shape": (2,), "batch_size": 1}),
    "LibSVMIter": (io.LibSVMIter, {"data_libsvm": ["1 0:1"], "data_shape": (2,), "batch_size": 1}),
    "ArrayDataset": (gluon.data.ArrayDataset, {}),
    "save_parameters": (lambda filename: started(gluon.nn.Dense(1), X).save_parameters(filename), {"filename": "made.params"}),
    "load_parameters": (gluon.nn.Dense(1, in_units=1).load_parameters, {"filename": "none.params"}),
    **{f"metric.{name}": (lambda labels, preds, kind=name: mx.metric.create(kind).update(labels, preds),
                          {"labels": [nd.array([0, 1])], "preds": [X]})
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
        X + 1
    return prof


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
                except mx.base.errors.InternalError as error:
                    print(f"{what}: {error!s:.200}")
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
