"""Record values, element types, shapes, gradients and refusals of the dense operators.

The expressions are the lines of ``dense_expressions.txt``; those that end in ``# by x t`` are differentiated by x and t.
"""

from pathlib import Path

import expressions

SETUP = [
    "x = mx.nd.array([[1, 2, 3], [4, 5, 6]])",
    "p = mx.nd.array([[0.5, 1.25, 2], [3, 0.125, 1]])",
    "t = mx.nd.array([[1, 3, 3], [2, 2, 1]])",
    "z = mx.nd.array([[0, 2, 0], [0, -3, 4]])",
    "n = mx.nd.array([[1, float('nan'), -2], [0, 5, 5]])",
    "u = mx.nd.array([[-0.5, 0.25, 0.75], [0.5, -0.125, 0]])",
    "i = mx.nd.array([[1, 2, 3], [4, 5, 6]], dtype='int32')",
    "j = mx.nd.array([[-7, 7, -8], [2, -3, 5]], dtype='int32')",
    "d = mx.nd.array([[1.5, 2.5], [-1, 4]], dtype='float64')",
    "v = mx.nd.array([2, 1, 2, 1, 2])",
    "cube = mx.nd.array(np.arange(24).reshape(2, 3, 4) / 8)",
    "image = mx.nd.array(np.arange(16).reshape(1, 4, 2, 2))",
    "one = mx.nd.array(np.arange(1, 5).reshape(1, 4))",
    "rows = mx.nd.array([0, 2])",
    "lengths = mx.nd.array([1, 2, 0])",
    "positive = mx.nd.array([[4, 1], [1, 3]])",
    "batch = mx.nd.array([[[4, 1], [1, 3]], [[2, 0.5], [0.5, 1]]])",
    "wide = mx.nd.array([[1, 2, 3], [4, 5, 7]])",
    "weigh = lambda a: a * (mx.nd.arange(a.size, dtype=a.dtype).reshape(a.shape) - 1)",
    "nd = mx.nd",
    "linalg = mx.nd.linalg",
    "contrib = mx.nd.contrib",
    """
def assign(name, statement):
    arrays = {"x": x.copy(), "t": t.copy(), "i": i.copy(), "v": v.copy(), "cube": cube.copy()}
    exec(statement, {"nd": mx.nd, "np": np}, arrays)
    return arrays[name]
""",
]

lines = Path(__file__).with_name("dense_expressions.txt").read_text(encoding="utf-8").splitlines()
parts = [line.partition("  # by ") for line in lines]
expressions.save(SETUP, [(expression, *variables.split()) for expression, _, variables in parts], crashes=False)
