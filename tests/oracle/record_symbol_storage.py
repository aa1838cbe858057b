"""Record what ``simple_bind`` infers: the storage types of outputs and gradient arrays, for each storage type of the inputs.

This is MXNet's symbolic storage inference as users see it.  The calls are data, evaluated by the test of sparsekit too.
``error`` is there where MXNet refuses, or fails at the first forward pass (on arrays without entries); what it inferred
before that is kept.
"""

import itertools
import sys

import mxnet as mx
import recording

#: Call on symbols named as the keys of the shapes; a stype that an input is fixed to follows a colon.
CALLS = {"S.dot(a, b)": {"a": (4, 5), "b": (5, 3)}, "S.dot(a, b, transpose_a=True)": {"a": (5, 4), "b": (5, 3)},
         "S.dot(a, b, transpose_b=True)": {"a": (4, 5), "b": (3, 5)},
         "S.dot(a, b, forward_stype='csr')": {"a": (4, 5), "b": (5, 3)}, "S.elemwise_add(a, b)": {"a": (4, 5), "b": (4, 5)},
         "S.elemwise_sub(a, b)": {"a": (4, 5), "b": (4, 5)}, "S.elemwise_mul(a, b)": {"a": (4, 5), "b": (4, 5)},
         "S.elemwise_div(a, b)": {"a": (4, 5), "b": (4, 5)}, "S.broadcast_add(a, b)": {"a": (4, 5), "b": (1, 5)},
         "S.broadcast_mul(a, b)": {"a": (4, 5), "b": (1, 5)}, "S.add_n(a, b)": {"a": (4, 5), "b": (4, 5)},
         "S.concat(a, b, dim=0)": {"a": (4, 5), "b": (4, 5)}, "S.where(a, b, b)": {"a": (4, 5), "b": (4, 5)},
         "S.Embedding(a, b, input_dim=5, output_dim=3)": {"a:": (4,), "b": (5, 3)},
         "S.Embedding(a, b, input_dim=5, output_dim=3, sparse_grad=True)": {"a:": (4,), "b": (5, 3)},
         "S.contrib.SparseEmbedding(a, b, input_dim=5, output_dim=3)": {"a:": (4,), "b": (5, 3)},
         "S.FullyConnected(a, b, num_hidden=3, no_bias=True)": {"a": (4, 5), "b": (3, 5)},
         "S.LinearRegressionOutput(a, b)": {"a": (4, 5), "b": (4, 5)},
         "S.LogisticRegressionOutput(a, b)": {"a": (4, 5), "b": (4, 5)}, "S.take(a, b)": {"a": (4, 5), "b:": (3,)},
         "S.sparse.retain(a, b)": {"a": (4, 5), "b:": (3,)},
         "S.broadcast_add(S.dot(a, b), c)": {"a": (4, 5), "b": (5, 3), "c:": (3,)},
         "S.elemwise_add(S.sparse.square(a), a)": {"a": (4, 5)},
         "S.elemwise_add(S.dot(a, b), S.dot(c, b))": {"a": (4, 5), "b": (5, 3), "c": (4, 5)}, "S.sum(a, axis=0)": {"a": (4, 5)},
         "S.mean(a, axis=1)": {"a": (4, 5)}, "S.norm(a)": {"a": (4, 5)},
         "S._internal._square_sum(a, axis=1, keepdims=True)": {"a": (4, 5)}, "S._internal._square_sum(a, axis=1)": {"a": (4, 5)},
         **{f"S.{name}(a)": {"a": (4, 5)}
            for name in ("square", "abs", "sqrt", "relu", "sin", "tan", "sinh", "tanh", "arcsin", "arctan", "exp", "log", "log1p",
                         "expm1", "negative", "sign", "ceil", "floor", "round", "cos", "sigmoid", "identity", "BlockGrad",
                         "make_loss", "radians", "cbrt", "zeros_like", "softmax", "transpose", "Flatten")},
         "S.cast_storage(a, stype='default')": {"a": (4, 5)}, "S.cast_storage(a, stype='row_sparse')": {"a": (4, 5)},
         "S.cast_storage(a, stype='csr')": {"a": (4, 5)}, "S.clip(a, -1, 1)": {"a": (4, 5)},
         "S.slice(a, begin=(1, 0), end=(3, 5))": {"a": (4, 5)}, "S.Activation(a, act_type='relu')": {"a": (4, 5)},
         "S.Cast(a, dtype='float64')": {"a": (4, 5)}, "a * 2": {"a": (4, 5)}, "a + 2": {"a": (4, 5)}, "a / 2": {"a": (4, 5)},
         "2 - a": {"a": (4, 5)}, "a ** 2": {"a": (4, 5)}, "-a": {"a": (4, 5)}}


def cases():
    for call, shapes in CALLS.items():
        free = [("default",) if name.endswith(":") else ("default", "row_sparse", "csr") for name in shapes]
        for stypes in itertools.product(*free):
            yield call, {name.rstrip(":"): list(shape) for name, shape in shapes.items()}, list(stypes)


def record(case):
    call, shapes, stypes = case
    names = {"S": mx.sym, **{name: mx.sym.Variable(name) for name in "abc"}}
    given = dict(zip(shapes, stypes, strict=True))
    made = {"call": call, "shapes": shapes, "stypes": stypes}
    try:
        symbol = eval(call, names)
        executor = symbol.simple_bind(mx.cpu(), stype_dict=given, **{name: tuple(shape) for name, shape in shapes.items()})
        made["outputs"] = [array.stype for array in executor.outputs]
        made["gradients"] = {name: array.stype for name, array in executor.grad_dict.items()}
        executor.forward(is_train=True)  # MXNet finds only then that a kernel is missing
        executor.outputs[0].wait_to_read()
    except Exception as error:
        made["error"] = type(error).__name__
    return made


found = list(cases())
records = recording.record_each(len(found), lambda number: record(found[number]))
for (call, shapes, stypes), made in zip(found, records, strict=True):
    made.update(call=call, shapes=shapes, stypes=stypes)
recording.save(sys.argv[1], {"cases": records})
