"""A program: each parameter of each public constructor, function and method of the modules below meets odd objects in turn.

``odd.py PART PARTS [NAME ...]`` takes every PARTS-th callable from PART on.  It finds them by itself: all of ``__all__``
of the modules, and the public methods of classes.
A callable that needs an argument for which ``GOOD`` has nothing is an error here.  What could be made is also used once.
A line is printed for each error that is none of ``SparsekitError``, or a fault of the library.
"""

from __future__ import annotations

import contextlib
import functools
import inspect
import logging
import os
import pickle
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
nd, sym, io, data = mx.nd, mx.sym, mx.io, mx.gluon.data

MODULES = {"mod": mx.mod, "model": mx.model, "optimizer": mx.optimizer, "metric": mx.metric, "data": data, "kv": mx.kv,
           "lr_scheduler": mx.lr_scheduler, "init": mx.init, "callback": mx.callback, "io": io, "dist": mx.dist}


def odd():
    """The objects, made anew."""
    return [None, object(), float("nan"), "x", [], {}, -1, 2**70, lambda *_: 1, [None], 1.5]


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


def main(part, parts, *chosen):
    np.seterr(all="ignore")
    warnings.simplefilter("ignore")
    logging.disable(logging.CRITICAL)
    sys.stdout.reconfigure(errors="backslashreplace")
    shown, sys.stdout = sys.stdout, open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115 - callbacks print
    signal.signal(signal.SIGALRM, late)
    stored()
    store_of_servers()
    calls = 0
    for full, get in list(callables())[int(part)::int(parts)]:
        if chosen and full not in chosen:
            continue
        try:
            names = arguments(full, get())[1]
        except (mx.SparsekitError, LookupError) as error:
            print(f"{full} has no good arguments: {error}", file=shown)
            continue
        for name in names:
            for place in range(len(odd())):
                thing = odd()[place]
                if name == "num_epoch" and thing == 2**70:
                    continue  # so many rounds may be asked for
                what = f"{full}({name}={type(thing).__name__} {thing!s:.20})"
                print(what, file=sys.stderr, flush=True)
                calls += 1
                function = get()
                given = {**arguments(full, function)[0], name: thing}
                signal.alarm(120)
                try:
                    made = function(**given)
                    for kind, use in USED:
                        if isinstance(made, kind) and type(made) not in BASES:
                            use(made)
                            break
                except mx.base.errors.InternalError as error:
                    print(f"{what}: {error!s:.200}", file=shown)
                except mx.SparsekitError:
                    pass
                except BaseException as error:
                    if not (name in FUNCTIONS or name.endswith("_callback")) or not inspect.isfunction(thing):
                        frames = traceback.extract_tb(error.__traceback__)
                        own = [frame for frame in frames if "sparsekit" in frame.filename] or frames
                        print(f"{what}: {type(error).__name__}: {error!s:.80} at {Path(own[-1].filename).name}:{own[-1].lineno}",
                              file=shown)
                finally:
                    signal.alarm(0)
    print(f"{calls} calls", file=sys.stderr)
    print("done", file=shown)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):  # some of what is called writes files
        main(*sys.argv[1:])
