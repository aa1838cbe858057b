"""Record values, types and gradients of the operators that the Gluon tutorial and its tests use."""

import expressions

SETUP = ["x = mx.nd.array([[1, 0, 2, 0, -3], [0, 0, 0, 0, 0], [0, 0, 4, 5, 0], [-1, 0, 0, 2, 3]])",
         "p = mx.nd.array([[0.5, 1.25, 2], [3, 0.125, 1]])", "row = mx.nd.array([1, -1, 2, 0.5, 4])",
         "column = mx.nd.array([[1], [2], [-1], [0.5]])", "c = x.tostype('csr')", "r = x.tostype('row_sparse')",
         "i = mx.nd.array([[1, 2, 3], [4, 5, 6]], dtype='int32')",
         "w = mx.nd.array([[0.5, -1, 0.25, 2, 1], [1, 0, -2, 0.5, 0.75]])", "b = mx.nd.array([0.5, -0.25])",
         "cube = mx.nd.array(np.arange(24).reshape(2, 3, 4) / 8)", "cw = mx.nd.array(np.arange(24).reshape(2, 12) / 16)"]

# fmt: off
REDUCTIONS = [f"{array}.{name}({argument})" for name in ("sum", "mean") for array in ("x", "c", "r")
              for argument in ("", "axis=0", "axis=1", "axis=1, keepdims=True")]
COMPARISONS = [f"{array} {sign} {other}" for array in ("x", "c", "r") for sign in ("==", "!=", ">", ">=", "<", "<=")
               for other in ("0", "1")]
ARITHMETIC = [f"{array} {sign} {other}" for array in ("x", "c", "r") for sign in ("+", "-", "*", "/")
              for other in ("2", "row", "column", "x")]
REVERSED = [f"2 {sign} {array}" for array in ("p", "c", "r") for sign in ("+", "-", "*", "/")]
PAIRS = [f"{left} {sign} {right}" for left, right in ("cc", "rr", "xc", "xr", "cr") for sign in ("+", "-", "*")]
MORE = ["x > x.mean()", "x.sum(axis=1) > x.sum(axis=1).mean()", "c.sum(axis=1) > c.sum(axis=1).mean()", "x == x", "x > row",
        "x ** 2", "p ** p", "-x", "-c", "-r", "abs(x)", "x % 2", "mx.nd.maximum(x, 1)", "mx.nd.minimum(x, row.reshape((1, 5)))",
        "mx.nd.maximum(x, 0)", "mx.nd.sum(x, axis=(0, 1))", "mx.nd.sum(x, axis=0, exclude=True)", "x.max()", "x.min(axis=0)",
        "mx.nd.norm(x)", "mx.nd.norm(c)", "x.argmax(axis=1)", "mx.nd.broadcast_add(x, row.reshape((1, 5)))",
        "mx.nd.broadcast_sub(x, column)", "mx.nd.broadcast_mul(x, row.reshape((1, 5)))", "mx.nd.broadcast_div(x, column)",
        "mx.nd.sparse.broadcast_mul(c, row.reshape((1, 5)))", "mx.nd.broadcast_greater(x, column)", "mx.nd.elemwise_add(x, x)",
        "mx.nd.elemwise_mul(c, x)", "mx.nd.elemwise_add(x, row)", "mx.nd.add_n(x, x, x)", "x[2]", "x[1:3]", "x[:]", "x[-1]",
        "x[::2]", "x[1, 2]", "x[1:3, 2:]", "x[7]", "c[2]", "c[1:3]", "c[:]", "c[-1]", "c[:2]", "c[3:]", "c[2:2]", "c[::2]",
        "c[1, 2]", "c[7]", "c[1].indices", "r[:]", "r[1]", "len(x)", "len(c)", "x.size", "x.shape", "x.ndim", "c.shape",
        "c.stype", "c.data.size", "c.data", "c.indices", "c.indptr", "r.data", "r.indices", "c.indices.dtype", "x.dtype",
        "i.dtype", "i + i", "i * 2", "i > 2", "i + 1.5", "i.astype('float32')", "c.astype('float64')", "x.astype('float16')",
        "i / 2", "x.sum().asscalar()", "x[0, 0].asscalar()", "label_sample(x)", "x.asscalar()", "float(x[0, 0])", "int(i[1, 2])",
        "bool(x[0, 0])", "bool(x)", "x.T", "x.reshape((5, 4))", "x.reshape((-1,))", "x.reshape((0, -1))", "x.reshape((3, 3))",
        "x.expand_dims(axis=0)", "x.flatten()", "cube.flatten()", "x.copy()", "c.copy()", "r.copy()", "c.tostype('default')",
        "r.tostype('default')", "c.tostype('row_sparse')", "r.tostype('csr')", "x.tostype('coo')", "mx.nd.concat(x, x, dim=0)",
        "mx.nd.stack(row, row)", "mx.nd.transpose(x)", "mx.nd.clip(x, -1, 2)", "mx.nd.clip(c, -1, 2)",
        "mx.nd.slice(x, begin=(1, 1), end=(3, 4))", "mx.nd.slice_axis(x, axis=1, begin=1, end=3)",
        "mx.nd.take(x, mx.nd.array([0, 2]))", "mx.nd.pick(x, mx.nd.array([0, 1, 2, 3]))", "mx.nd.one_hot(mx.nd.array([0, 2]), 3)",
        "mx.nd.where(x > 0, x, x * 2)", "mx.nd.sparse.retain(r, mx.nd.array([0, 2]))",
        "mx.nd.sparse.retain(r, mx.nd.array([1, 3]))", "mx.nd.zeros((2, 3))", "mx.nd.ones((2, 3), dtype='int64')",
        "mx.nd.full((2,), 7)", "mx.nd.arange(5)", "mx.nd.arange(2, 8, 2)", "mx.nd.zeros((2, 3), stype='csr')",
        "mx.nd.sparse.zeros('row_sparse', (2, 3))", "mx.nd.zeros_like(x)", "mx.nd.zeros_like(c)", "mx.nd.ones_like(x)",
        "mx.nd.array([1, 2, 3])", "mx.nd.array(np.array([1, 2, 3]))", "mx.nd.array(np.float64(3.5))",
        "mx.nd.array([[1, 2], [3, 4]], dtype='int8')",
        "mx.nd.sparse.csr_matrix(([1, 2, 3], [0, 2, 1], [0, 2, 2, 3]), shape=(3, 4))",
        "mx.nd.sparse.csr_matrix(([1, 2], ([0, 1], [2, 0])), shape=(2, 3))", "mx.nd.sparse.csr_matrix([[0, 1], [2, 0]])",
        "mx.nd.sparse.csr_matrix((2, 3))", "mx.nd.sparse.row_sparse_array(([[1, 2]], [1]), shape=(3, 2))",
        "mx.nd.sparse.row_sparse_array([[0, 0], [2, 0]])", "mx.nd.sparse.array(c)", "mx.nd.FullyConnected(x, w, b, num_hidden=2)",
        "mx.nd.FullyConnected(x, w, num_hidden=2, no_bias=True)", "mx.nd.FullyConnected(c, w, b, num_hidden=2)",
        "mx.nd.FullyConnected(x, w, b, num_hidden=3)", "mx.nd.FullyConnected(cube, cw, b, num_hidden=2)",
        "mx.nd.FullyConnected(cube, cw[:, :4], b, num_hidden=2, flatten=False)", "mx.nd.dot(x, x)", "mx.nd.dot(x, row)",
        "mx.nd.dot(x, w, transpose_b=True)", "mx.nd.batch_dot(cube, cube, transpose_b=True)", "x + p", "p * x",
        "mx.nd.softmax(x)", "mx.nd.log_softmax(x, axis=0)", "mx.nd.Activation(x, act_type='cubic')", "x.nnz", "c.size"]
UNARY = ["sigmoid", "relu", "exp", "square", "sqrt", "log", "log1p", "expm1", "tanh", "sin", "cos", "abs", "sign",
         "negative", "floor", "ceil", "round", "rsqrt", "reciprocal", "softsign", "erf"]
GRADIENTS = ([(f"mx.nd.{name}(p)", "p") for name in UNARY] + [(f"mx.nd.Activation(x, act_type='{kind}')", "x")
    for kind in ("relu", "sigmoid", "tanh", "softrelu", "softsign")] + [("mx.nd.FullyConnected(x, w, b, num_hidden=2)", "x",
    "w", "b"), ("mx.nd.FullyConnected(x, w, num_hidden=2, no_bias=True)", "x", "w"),
    ("mx.nd.FullyConnected(cube, cw, b, num_hidden=2) * b", "cube", "cw", "b"), ("x * row", "x", "row"),
    ("x / row.reshape((1, 5)) + 1", "x"), ("x - column", "x", "column"), ("x * x", "x"), ("p ** 2", "p"), ("2 / p", "p"),
    ("p ** p", "p"), ("x.mean(axis=0)", "x"), ("x.sum(axis=1) * b[0]", "x", "b"), ("mx.nd.clip(x, -1, 2)", "x"),
    ("x[1:3] * 2", "x"), ("x.T * column.reshape((1, 4))", "x", "column"), ("x.reshape((5, 4)) * 3", "x"),
    ("mx.nd.softmax(x) * row", "x"), ("mx.nd.log_softmax(x) * row", "x"), ("mx.nd.maximum(x, column)", "x", "column"),
    ("mx.nd.concat(x, x * 2, dim=1)", "x"), ("mx.nd.broadcast_add(x, row.reshape((1, 5)))", "row"),
    ("mx.nd.pick(x, mx.nd.array([0, 1, 2, 3]))", "x"), ("mx.nd.square(r)", "r"), ("mx.nd.relu(r)", "r"), ("r * 2", "r"),
    ("r + r", "r"), ("mx.nd.square(c)", "c"), ("mx.nd.dot(c, w, transpose_b=True)", "w"),
    ("mx.nd.sparse.dot(c, x[:, :5].T) * 2", "x")])
# fmt: on

setup = [*SETUP, "label_sample = lambda array: array.sum(axis=1)[2].asscalar()"]
texts = dict.fromkeys([*REDUCTIONS, *COMPARISONS, *ARITHMETIC, *REVERSED, *PAIRS, *MORE])
expressions.save(setup, [*((text,) for text in texts), *GRADIENTS])
