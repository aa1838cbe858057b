"""Random programs that say themselves what is wrong: the classes of defects that are not graphs of operators.

A family is a function of a ``Choices``; it gives a label and lines of Python that raise if something is wrong, and pass
where a named error stops them.  Options stand in the order of simplicity, so that a smaller list of choices is a simpler
program.  Families in ``DANGEROUS`` run in another process with a limit on memory, as what they look for are crashes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from graphs import literal

import sparsekit as mx
from sparsekit.core.op import registry

HEAD = ["import numpy as np", "from numpy import array, inf, nan", "import sparsekit as mx"]


class Choices:
    """Draws numbers and remembers them, or gives the remembered ones again."""

    def __init__(self, rng: Any = None, given: tuple[int, ...] = ()) -> None:
        self.rng, self.given, self.made = rng, given, []

    def below(self, count: int) -> int:
        place = len(self.made)
        number = int(self.rng.integers(count)) if self.rng is not None else self.given[place] if place < len(self.given) else 0
        self.made.append(number % count)
        return number % count

    def choose(self, items: Any) -> Any:
        items = list(items)
        return items[self.below(len(items))]

    def flip(self) -> bool:
        return self.below(2) == 1


def smaller_choices(given: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    """Lists of choices with smaller numbers, or fewer."""
    for place in range(len(given)):
        yield given[:place] + given[place + 1 :]
    for place, number in enumerate(given):
        for new in sorted({0, number // 2, number - 1} - {number, -1}):
            yield (*given[:place], new, *given[place + 1 :])


families: dict[str, Callable[[Choices], tuple[str, list[str]]]] = {}
DANGEROUS = {"doors", "huge_attributes", "odd_attributes", "odd_objects"}


def family(function: Callable[[Choices], tuple[str, list[str]]]) -> Callable[[Choices], tuple[str, list[str]]]:
    families[function.__name__] = function
    return function


def refused(call: str, *otherwise: str) -> list[str]:
    """Lines that let the call raise a named error, and go on if it does not."""
    return [
        "try:",
        f"    made = {call}",
        "except mx.SparsekitError:",
        "    pass",
        "else:",
        *[f"    {line}" for line in otherwise or ("pass",)],
    ]


OPS = {op.name: op for op in registry.values()}
#: Operators that any caller may name, with a sample of inputs and attributes that they take.
SAMPLED = sorted(
    name for name, op in OPS.items() if not name.startswith(("_random", "_sample", "_shuffle")) and op.inputs and not op.mutates
)


def sampled_call(c: Choices, name: str) -> tuple[list[str], str, dict[str, Any]]:
    """Lines that make a sample's inputs, their names, and its attributes."""
    op = OPS[name]
    samples = list(op.sample())
    arrays, attrs = samples[c.below(len(samples))]
    lines = []
    for place, x in enumerate(arrays):
        stypes = ["default"] + ["csr"] * (x.ndim == 2) + ["row_sparse"] * (x.ndim > 0)
        stype = c.choose(stypes)
        lines.append(
            f"x{place} = mx.nd.array({literal(x)}, dtype={str(x.dtype)!r}){'' if stype == 'default' else f'.tostype({stype!r})'}"
        )
    return lines, ", ".join(f"x{place}" for place in range(len(arrays))), dict(attrs)


def written(attrs: dict[str, Any]) -> str:
    return "".join(f", {name}={value!r}" for name, value in attrs.items())


# keywords

CREATION = {
    "mx.nd.ones": "(2, 3)",
    "mx.nd.zeros": "(2, 3)",
    "mx.nd.full": "(2, 3), 1.5",
    "mx.nd.empty": "(2, 3)",
    "mx.nd.arange": "3",
    "mx.nd.eye": "3",
    "mx.nd.linspace": "0, 1, 3",
    "mx.nd.array": "[1, 2]",
    "mx.nd.sparse.zeros": "'csr', (2, 3)",
    "mx.nd.sparse.csr_matrix": "[[1, 0]]",
    "mx.nd.sparse.row_sparse_array": "[[1, 0]]",
    "mx.nd.sparse.array": "mx.nd.ones((2, 2)).tostype('csr')",
    "mx.nd.random.uniform": "0, 1, (2, 3)",
    "mx.nd.random.normal": "0, 1, (2, 3)",
    "mx.nd.random.randint": "0, 5, (2, 3)",
    "mx.nd.random.poisson": "1, (2, 3)",
    "mx.nd.random.exponential": "1, (2, 3)",
    "mx.nd.random.gamma": "1, 1, (2, 3)",
    "mx.nd.from_numpy": "np.ones((2, 3), 'float32')",
    "mx.nd.sparse.empty": "'csr', (2, 3)",
    "mx.sym.zeros": "(2, 3)",
    "mx.sym.ones": "(2, 3)",
    "mx.sym.full": "(2, 3), 1.5",
    "mx.sym.arange": "3",
    "mx.sym.eye": "3",
}


@family
def misspelt(c: Choices) -> tuple[str, list[str]]:
    """A keyword that a function does not have is an error."""
    word = c.choose(["dtypes", "outs", "Shape", "contexts", "Axis", "keepdim", "_x"])
    value = c.choose(["1", "'float64'", "None"])
    if c.flip():
        name = c.choose(CREATION)
        lines, call = [], f"{name}({CREATION[name]}, {word}={value})"
    else:
        op = c.choose(SAMPLED)
        name = f"mx.nd.{op}"
        lines, args, attrs = sampled_call(c, op)
        call = f"{name}({args}{written(attrs)}, {word}={value})"
    return name, [
        *lines,
        "try:",
        f"    made = {call}",
        "except (mx.SparsekitError, TypeError):",
        "    pass",
        "else:",
        f"    raise AssertionError('the keyword {word} was swallowed')",
    ]


@family
def out_of_creation(c: Choices) -> tuple[str, list[str]]:
    """``out=`` of a function that makes an array receives it, or is refused."""
    name = c.choose(
        [name for name in CREATION if name not in ("mx.nd.array", "mx.nd.from_numpy") and not name.startswith("mx.sym")]
    )
    kind = c.choose(["float32", "float64", "int32"])
    shape = {
        "mx.nd.arange": (3,),
        "mx.nd.eye": (3, 3),
        "mx.nd.linspace": (3,),
        "mx.nd.sparse.csr_matrix": (1, 2),
        "mx.nd.sparse.row_sparse_array": (1, 2),
        "mx.nd.sparse.array": (2, 2),
    }.get(name, (2, 3))
    if "random" in name:
        kind = "int32" if "randint" in name else "float32"
    return name, [
        f"out = mx.nd.full({shape}, 77, dtype={kind!r})",
        "try:",
        f"    made = {name}({CREATION[name]}, out=out)",
        "except (mx.SparsekitError, TypeError):",
        "    pass",
        "else:",
        "    assert made is out, 'out= was swallowed: another array came back'",
        "" if "empty" in name else "    assert 77 not in out.asnumpy(), 'out= kept its old values'",
    ]


# blocks


@family
def changed_children(c: Choices) -> tuple[str, list[str]]:
    """A hybridized block whose children change computes with the new ones."""
    lines = ["x = mx.nd.ones((2, 3))"]
    kind = c.choose(["attribute", "sequential", "nested"])
    how = c.choose(["add", "replace", "register", "remove"])
    call_before = not c.flip()
    if kind == "sequential" or (kind == "nested" and how in ("add", "register")):
        lines += ["net = mx.gluon.nn.HybridSequential()", "net.add(mx.gluon.nn.Dense(4))"]
        if kind == "nested":
            lines += ["inner = net", "net = mx.gluon.nn.HybridSequential()", "net.add(inner)"]
        target = "inner" if kind == "nested" else "net"
        lines += ["net.initialize(mx.init.One())", "net.hybridize()"] + (["net(x)"] if call_before else [])
        lines += {
            "add": [f"{target}.add(mx.gluon.nn.Dense(5))"],
            "replace": [f"{target}._children['0'] = mx.gluon.nn.Dense(5)"],
            "register": [f"{target}.register_child(mx.gluon.nn.Dense(5))"],
            "remove": [
                f"{target}.add(mx.gluon.nn.Dense(5))",
                "net.initialize(mx.init.One())",
                "net(x)",
                f"{target}._children.popitem()",
            ],
        }[how]
        if how == "replace" and kind == "sequential":
            return "no program", ["pass"]  # _children is not public
        lines += ["net.initialize(mx.init.One())"]
    else:
        lines += [
            "class Net(mx.gluon.HybridBlock):",
            "    def __init__(self):",
            "        super().__init__()",
            "        self.a = mx.gluon.nn.Dense(4)",
            "    def hybrid_forward(self, F, x):",
            "        for child in self._children.values():",
            "            x = child(x)",
            "        return x",
            "net = Net()",
        ]
        if kind == "nested":
            lines += ["inner = net", "net = mx.gluon.nn.HybridSequential()", "net.add(inner)"]
        target = "inner" if kind == "nested" else "net"
        lines += ["net.initialize(mx.init.One())", "net.hybridize()"] + (["net(x)"] if call_before else [])
        lines += {
            "add": [f"{target}.b = mx.gluon.nn.Dense(5)"],
            "replace": [f"{target}.a = mx.gluon.nn.Dense(5)"],
            "register": [f"{target}.register_child(mx.gluon.nn.Dense(5), 'c')"],
            "remove": [f"{target}.a = mx.gluon.nn.Dense(7)"],
        }[how]
        lines += ["net.initialize(mx.init.One())"]
    lines += [
        "got = net(x)",
        "net.hybridize(False)",
        "wanted = net(x)",
        "assert got.shape == wanted.shape and (got.asnumpy() == wanted.asnumpy()).all(), (got.shape, wanted.shape)",
    ]
    return f"{kind} {how}", lines


@family
def initializers(c: Choices) -> tuple[str, list[str]]:
    """The initializer given to ``initialize()`` fills every parameter that has none of its own, whatever it is called."""
    name = c.choose(
        [
            "weight",
            "alpha",
            "my_gamma",
            "w",
            "beta",
            "bias",
            "my_bias",
            "running_mean",
            "moving_var",
            "x_weight",
            "scale",
            "gamma",
            "min",
            "max",
            "mean",
            "var",
            "parameters",
            "state_h",
            "q_min",
        ]
    )
    value = c.choose([5, 0.5, -1])
    own = c.flip()
    return "own" if own else "given", [
        "class Net(mx.gluon.HybridBlock):",
        "    def __init__(self):",
        "        super().__init__()",
        f"        self.p = self.params.get({name!r}, shape=(2, 3){', init=mx.init.Constant(9)' if own else ''})",
        "    def hybrid_forward(self, F, x, p):",
        "        return x + p",
        "net = Net()",
        f"net.initialize(mx.init.Constant({value}))",
        "got = net.p.data().asnumpy()",
        f"assert (got == {9 if own else value}).all(), got",
    ]


# symbols


STEPS = [
    "{0}",
    "F.transpose({0})",
    "F.SwapAxis({0}, dim1=0, dim2=1)",
    "F.sin({0})",
    "F.expand_dims({0}, axis=0).reshape((-3, 0))",
    "F.reverse({0}, axis=0)",
    "({0} + 1)",
    "F.transpose({0}, axes=(1, 0))",
    "F.Cast({0}, dtype='float64')",
]
PAIRS = [
    "F.elemwise_add({0}, {1})",
    "F.elemwise_mul({0}, {1})",
    "F.dot({0}, {1})",
    "F.concat({0}, {1}, dim=0)",
    "F.where({0}, {1}, {1})",
    "F.broadcast_add({0}, {1})",
    "F.FullyConnected({0}, {1}, num_hidden=3, no_bias=True)",
    "F.add_n({0}, {1})",
    "F.batch_dot(F.expand_dims({0}, axis=0), F.expand_dims({1}, axis=0)).reshape((-3, 0))",
    "F.LinearRegressionOutput({0}, {1})",
    "F.broadcast_like({0}, {1})",
    "F.slice_like({0}, {1})",
]


@family
def contradictions(c: Choices) -> tuple[str, list[str]]:
    """Inference from all shapes gives what arrays give; from some of them, arrays of the inferred shapes run to that result."""

    def moved(text: str) -> str:
        for _ in range(c.below(3)):
            text = c.choose(STEPS).format(text)
        return text

    op = c.choose(PAIRS)
    text = op.format(moved("x"), moved("y"))
    if c.flip():
        text = c.choose(PAIRS).format(moved(text), moved(c.choose("yxz")))
    sizes = [(2, 3), (3, 2), (3, 3), (1, 3)]
    shapes = {name: c.choose(sizes) for name in ("x", "y", "z")}
    given = {
        name: shape for name, shape in shapes.items() if f"{name}" in text.replace("axes", "") and (name == "x" or not c.flip())
    }
    if c.flip():
        given["x"] = (given["x"][0], 0)  # an unknown size
    return op, [
        "def graph(F, x, y, z):",
        f"    return {text}",
        "def on_arrays(shapes):",
        "    try:",
        "        return graph(mx.nd, *[mx.nd.ones(shapes.get(name, (1, 1))) for name in 'xyz']).shape",
        "    except mx.SparsekitError:",
        "        return None",
        "symbol = graph(mx.sym, *[mx.sym.Variable(name) for name in 'xyz'])",
        "names = symbol.list_arguments()",
        f"given = {{name: shape for name, shape in {given!r}.items() if name in names}}",
        "try:",
        "    found, (inferred,), _ = symbol.infer_shape(**given)",
        "except (mx.SparsekitError, TypeError):",  # None, None, None: not decided
        "    inferred = found = None",
        "try:",
        "    made = symbol.simple_bind(mx.cpu(), **given).forward()[0].shape",
        "except mx.SparsekitError:",
        "    made = None",
        "complete = set(given) == set(names) and not any(0 in shape for shape in given.values())",
        "wanted = on_arrays(given) if complete else on_arrays(dict(zip(names, found))) if found else None",
        "assert inferred == wanted, ('inferred', inferred, found, 'arrays', wanted)",
        "assert made == wanted, ('simple_bind', made, 'arrays', wanted)",
    ]


# reading and writing places

KEYS_OF = [
    "0",
    "-1",
    "slice(None)",
    "slice(1, 3)",
    "slice(None, None, 2)",
    "slice(None, None, -1)",
    "slice(2, 1)",
    "[0, 2]",
    "[-1, 0, 0]",
    "np.array([1, 0])",
    "np.array([True, False, True])",
    "Ellipsis",
    "None",
    "slice(-2, None)",
    "slice(5, 9)",
    "mx.nd.array([2, 0])",
    "2",
]


@family
def places(c: Choices) -> tuple[str, list[str]]:
    """``x[key]`` and ``x[key] = value`` are numpy's, for every storage type that takes them."""
    kind = c.choose(["float32", "float64", "int32", "uint8", "float16", "bool"])
    shape = c.choose([(3, 3), (3,), (3, 4), (3, 2, 2)])
    values = np.arange(np.prod(shape)).reshape(shape) % 4
    stype = c.choose(["default"] + ["csr"] * (len(shape) == 2) + ["row_sparse"])
    keys = [c.choose(KEYS_OF) for _ in range(c.choose([1, 2]) if len(shape) > 1 else 1)]
    key = ", ".join(keys)
    lines = [
        f"values = {literal(values)}.astype({kind!r})",
        f"x = mx.nd.array(values, dtype={kind!r}).tostype({stype!r})",
        f"key = {key}",
        "plain = lambda one: one.asnumpy().astype(int) if hasattr(one, 'asnumpy') else one",
        "at = tuple(map(plain, key)) if isinstance(key, tuple) else plain(key)",
    ]
    if c.flip():
        value = c.choose(
            [
                "1",
                "0",
                "2.0",
                "values[at]",
                "mx.nd.array(values[at], dtype=values.dtype)",
                "mx.nd.ones((1,))",
                "[1]",
                "np.ones((1, 1))",
            ]
        )
        return f"write {stype}", [
            *lines,
            "try:",
            f"    value = {value}",
            "    wanted = values.copy()",
            "    wanted[at] = value.asnumpy() if hasattr(value, 'asnumpy') else value",
            "except (IndexError, ValueError, TypeError, mx.SparsekitError):",
            "    wanted = None",
            *refused("x.__setitem__(key, value) if wanted is not None else None", "pass"),
            "got = x.asnumpy()",
            "assert wanted is None or (got == wanted).all() or (got == values).all(), (got, wanted)",
        ]
    return f"read {stype}", [
        *lines,
        "try:",
        "    wanted = values[at]",
        "except IndexError:",
        "    wanted = None",
        *refused(
            "x[key]",
            "assert wanted is not None, ('numpy refuses', made)",
            "assert made.dtype == values.dtype, made.dtype",
            "assert made.shape == wanted.shape or x.stype != 'default' or wanted.ndim == 0, made.shape",
            "np.testing.assert_array_equal(made.asnumpy().ravel(), wanted.ravel())",
        ),
    ]


# gradients and values that MXNet 1.9.1 gives, recorded from it

NAN = float("nan")
SLOPES: list[tuple[str, str, list[float], list[float]]] = [
    ("{0} % 2", "int32", [3, 5], [0, 0]),
    ("{0} % {0}", "int32", [3, 5], [0, 0]),
    ("{0} % 2", "float32", [3, 5], [1, 1]),
    ("mx.nd.relu({0})", "float32", [NAN, -1, 0, 1], [NAN, 0, 0, 1]),
    ("mx.nd.Activation({0}, act_type='relu')", "float32", [NAN, -1, 0, 1], [NAN, 0, 0, 1]),
    ("mx.nd.sign({0})", "float32", [-1, 0, 1], [0, 0, 0]),
    ("mx.nd.floor({0})", "float32", [-1.5, 0, 1], [0, 0, 0]),
    ("mx.nd.broadcast_mod({0}, mx.nd.array([2, 2], dtype='int32'))", "int32", [3, 5], [0, 0]),
    ("2 % {0}", "int32", [3, 5], [0, 0]),
]


@family
def odd_slopes(c: Choices) -> tuple[str, list[str]]:
    """Gradients where no difference quotient tells them are MXNet's."""
    text, kind, values, wanted = c.choose(SLOPES)
    return f"{text} {kind}", [
        f"x = mx.nd.array({values!r}, dtype={kind!r})",
        "x.attach_grad()",
        "with mx.autograd.record():",
        f"    y = {text.format('x')}",
        "y.backward()",
        f"np.testing.assert_array_equal(x.grad.asnumpy(), np.array({wanted!r}))",
    ]


@family
def ranges(c: Choices) -> tuple[str, list[str]]:
    """``arange`` of an integer type: as many values as of floats; start and step are cut off to integers first, as in MXNet."""
    start, step = c.choose([0, 1, 0.5, -2, 2.7, 10.2]), c.choose([1, 0.5, 2, 1.5, 0.1, -1, -0.5, 2.9])
    stop = c.choose([5, 3, 7.5, 0, -4])
    kind = c.choose(["int32", "uint8", "int64", "int8", "float32", "float64", "float16"])
    count = int(np.ceil((stop - start) / step))
    if count <= 0 or (kind == "uint8" and (start < 0 or stop < 0 or step < 0)):
        return "empty", ["pass"]
    wanted = np.arange(count) * (int(step) if "int" in kind else step) + (int(start) if "int" in kind else start)
    call = c.choose(["mx.nd.arange({})", "mx.sym.arange({}).eval(ctx=mx.cpu())[0]"])
    return kind, [
        f"got = {call.format(f'{start}, {stop}, {step}, dtype={kind!r}')}",
        f"wanted = {literal(wanted)}.astype({kind!r})",
        "assert got.dtype == wanted.dtype, got.dtype",
        "assert got.shape == wanted.shape, (got.shape, wanted.shape)",
        "rounding = 2e-3 if wanted.dtype == 'float16' else 1e-6",
        "np.testing.assert_allclose(got.asnumpy().astype(float), wanted.astype(float), rtol=rounding)",
    ]


@family
def shared_with_numpy(c: Choices) -> tuple[str, list[str]]:
    """``from_numpy`` without a copy takes the right to write from the source, as in MXNet."""
    kind, shape = c.choose(["float32", "float64", "int32"]), c.choose([(3,), (2, 2), (1, 1)])
    return "from_numpy", [
        f"a = np.ones({shape}, {kind!r})",
        "x = mx.nd.from_numpy(a, zero_copy=True)",
        "try:",
        "    a[:] = 7",
        "except ValueError:",
        "    pass",
        "else:",
        "    raise AssertionError('the source of a shared array is still writable')",
        "assert (x.asnumpy() == 1).all()",
    ]


# index values


@family
def indices(c: Choices) -> tuple[str, list[str]]:
    """Indices that are fractions, infinite or no numbers mean one row, whatever the mode's name, operator and storage type."""
    value = c.choose(["1", "-1", "9", "1.7", "-0.5", "-1.5", "1e20", "-1e20", "2.0**63", "inf", "-inf", "nan", "3e9", "2.0**31"])
    kind = c.choose(["float32", "float64", "float16", "int32", "int64"])
    if "int" in kind and value not in ("1", "-1", "9"):
        value = c.choose(["1", "-1", "9"])
    if kind == "float16" and value in ("1e20", "-1e20", "2.0**63", "3e9", "2.0**31"):
        value = "inf"
    mode = c.choose(["clip", "wrap"])
    lines = [
        f"index = mx.nd.array([{value}], dtype={kind!r})",
        "table = np.arange(10, dtype='float32').reshape(5, 2) + 1",
        "rows = {}",
        "for stype in ('default', 'csr', 'row_sparse'):",
        "    w = mx.nd.array(table).tostype(stype)",
        f"    calls = {{'take': lambda: mx.nd.take(w, index, mode={mode!r})}}",
    ]
    if value == "nan":
        lines += [
            "    calls['other mode'] = lambda: mx.nd.take(w, index, mode={'clip': 'wrap', 'wrap': 'clip'}[" + repr(mode) + "])"
        ]
    if mode == "clip":
        lines += [
            "    calls['Embedding'] = lambda: mx.nd.Embedding(index, w, input_dim=5, output_dim=2)",
            "    turned, twice = mx.nd.array(table.T), mx.nd.concat(index, index, dim=0)",
            "    calls['pick'] = lambda: mx.nd.pick(turned, twice).reshape((1, 2))",
            "    calls['batch_take'] = lambda: mx.nd.batch_take(turned, twice).reshape((1, 2))",
        ]
    lines += [
        "    for name, call in calls.items():",
        "        try:",
        "            rows[name, stype] = call().asnumpy().tolist()",
        "        except mx.SparsekitError:",
        "            rows[name, stype] = 'refused'",
        "assert len(set(map(str, rows.values()))) == 1, rows",
        f"v = float({value})",
        "if np.isfinite(v):",
        f"    wanted = {'int(v) % 5' if mode == 'wrap' else 'min(max(int(v), 0), 4)'}"
        if "int" in kind or value in ("1", "-1", "9", "1.7", "-0.5", "-1.5")
        else f"    wanted = {'int(index.asnumpy()[0]) % 5' if mode == 'wrap' else '0 if v < 0 else 4'}",
        "    assert rows['take', 'default'] in ('refused', [table[wanted].tolist()]), rows",
        "elif np.isinf(v):",
        f"    assert rows['take', 'default'] in ('refused', [table[{'4 if v > 0 else 0'}].tolist()]), rows"
        if mode == "clip"
        else "    pass",
    ]
    return f"{mode} {value}", lines


# arrays of others


@family
def masked(c: Choices) -> tuple[str, list[str]]:
    """A value that a numpy mask hides is never seen."""
    source = c.choose(["np.ma.array([[1., 77.], [3., 4.]], mask=[[0, 1], [0, 0]])", "np.ma.masked_equal([[1, 77], [3, 4]], 77)"])
    call = c.choose(
        [
            "mx.nd.array(m)",
            "mx.nd.array(m, dtype='float64')",
            "mx.nd.sparse.csr_matrix(m)",
            "mx.nd.sparse.row_sparse_array(m)",
            "mx.nd.ones((2, 2)) + m",
            "mx.nd.from_numpy(m)",
            "mx.nd.sparse.array(m)",
            "mx.nd.add(mx.nd.ones((2, 2)), m)",
            "[x := mx.nd.ones((2, 2)), x.__setitem__(slice(None), m)][0]",
            "mx.nd.from_numpy(m, zero_copy=False)",
            "np.add(mx.nd.zeros((2, 2)), m)",
            "mx.nd.sparse.csr_matrix((m[0], [0, 1], [0, 2]), shape=(1, 2))",
            "mx.gluon.data.ArrayDataset(m)[0]",
            "next(iter(mx.io.NDArrayIter(m, batch_size=2))).data[0]",
            "mx.nd.sparse.row_sparse_array((m, [0, 1]), shape=(3, 2))",
        ]
    )
    return call, [
        f"m = {source}",
        *refused(
            call,
            "assert not {77, 78} & set(np.asarray(made.asnumpy() if hasattr(made, 'asnumpy') else made).ravel().tolist()), made",
        ),
    ]


# doors to the structure of sparse arrays

PARTS = {"csr": ("indices", "indptr"), "row_sparse": ("indices",)}
KEYS = {"indices": "indices_1", "indptr": "pointers_to_1"}


@family
def doors(c: Choices) -> tuple[str, list[str]]:
    """Whatever is written through what a sparse array gives out, its structure stays as it is."""
    stype = c.choose(["csr", "row_sparse"])
    part = c.choose(PARTS[stype])
    key = KEYS[part] if stype == "csr" else "indices_0"
    value = c.choose(["10**11", "-1", "7", "2**62"])
    door = c.choose(
        [
            f"x.{part}",
            f"x.{part}.asnumpy()",
            f"np.asarray(x.{part})",
            f"np.from_dlpack(x.{part})",
            f"x.__binsparse__()[{key!r}]",
            f"x.{part}[:]",
            f"x.{part}[0:1]",
            f"x.{part}.reshape((-1,))",
            f"x.{part}.T",
            f"x.{part}.detach()",
            f"x.{part}.__array__()",
            f"mx.nd.from_dlpack(x.{part})",
            f"mx.nd.from_dlpack(x.{part}.to_dlpack_for_write())",
            f"mx.nd.from_dlpack(x.{part}.to_dlpack_for_read())",
            f"x.asscipy().{part}" if stype == "csr" else f"x.{part}.as_in_context(mx.cpu())",
            f"x.{part}.as_nd_ndarray()",
            "source",
            f"x.copy().{part}",
            f"mx.nd.sparse.from_binsparse(x).{part}",
            f"np.from_dlpack(x.__binsparse__()[{key!r}])",
            f"x.{part}.astype('int64', copy=False)",
            f"np.array(x.{part}, copy=None)",
            f"x.{part}.expand_dims(axis=0)",
            f"x.{part}.squeeze()",
            f"x.tostype({stype!r}).{part}",
            f"x.{part}.writable" if False else f"x.{part}[0:2][0:1]",
            f"next(iter(x.{part}))",
            f"np.asarray(x.{part}).base",
            f"x.{part}.asnumpy().base",
        ]
    )
    write = c.choose(
        [
            "door[:] = {v}",
            "door += {v}",
            "mx.nd.add(door, {v}, out=door)",
            "np.add(door, {v}, out=door)",
            "mx.nd.reset_arrays(door, num_arrays=1)",
            "door.flags.writeable = True; door[:] = {v}",
            "mx.nd.array([{v}], dtype='int64').copyto(door)",
            "door.fill({v})",
            "mx.nd.full(door.shape, {v}, dtype='int64').copyto(door)",
            "door.sort(); door[:] = {v}",
            "np.asarray(door)[:] = {v}",
            "np.asarray(door).setflags(write=True); np.asarray(door)[:] = {v}",
            "np.from_dlpack(door)[:] = {v}",
            "door.setfield({v}, 'int64')",
            "door.itemset({v})",
            "memoryview(door)[0] = {v}",
            "door.byteswap(True)",
            "door.partition(0); door[...] = {v}",
            "np.copyto(door, {v})",
            "np.copyto(np.asarray(door), {v}, casting='unsafe')",
            "mx.nd.full(door.shape, {v}, dtype='int64', out=door)",
        ]
    ).format(v=value)
    compute = c.choose(
        [
            "mx.nd.dot(x, mx.nd.ones((3, 2)))",
            "mx.nd.sum(x, axis=1)",
            "x.tostype('default')",
            "x + x",
            "x * 2",
            "mx.nd.dot(x.T, mx.nd.ones((2, 2)))",
            "x[0:1]",
            "x.tostype('row_sparse')",
            "x.asnumpy()",
            "mx.nd.elemwise_mul(x, x)",
            "mx.nd.concat(x, x, dim=0)",
            "x.copy()",
        ]
    )
    if stype == "csr":
        make = [
            "columns, starts = np.array([0, 2, 1]), np.array([0, 2, 3])",
            f"source = {'columns' if part == 'indices' else 'starts'}",
            "x = mx.nd.sparse.csr_matrix((np.array([1., 2., 3.]), columns, starts), shape=(2, 3))",
        ]
    else:
        make = [
            "source = np.array([0, 1])",
            "x = mx.nd.sparse.row_sparse_array((np.array([[1., 0., 2.], [0., 3., 0.]]), source), shape=(2, 3))",
        ]
    return f"{door} {write.partition('(')[0].partition(' ')[0]}", [
        *make,
        f"wanted = {compute}",
        "wanted = wanted.asnumpy() if hasattr(wanted, 'asnumpy') else wanted",
        "try:",
        f"    door = {door}",
        f"    {write}",
        "except Exception:",
        "    pass",
        f"got = {compute}",
        "got = got.asnumpy() if hasattr(got, 'asnumpy') else got",
        "np.testing.assert_array_equal(got, wanted)",
        f"assert x.{part}.asnumpy().max() < 9, x.{part}",
    ]


# sizes

HUGE = ["2**62", "2**40", "10**9", "10**5", "1000", "2**63 - 1", "2**64", "-2**62"]
SIZED = [
    "mx.nd.tile(x, reps=({n},))",
    "mx.nd.tile(x, reps=(1, {n}))",
    "mx.nd.repeat(x, repeats={n})",
    "mx.nd.repeat(x, repeats={n}, axis=0)",
    "mx.nd.broadcast_to(x[0:1], shape=({n}, 100))",
    "mx.nd.khatri_rao(x, x)",
    "mx.nd.khatri_rao(x, x, x)",
    "mx.nd.one_hot(mx.nd.arange(3), depth={n})",
    "mx.nd.zeros(({n},))",
    "mx.nd.full(({n}, 3), 1)",
    "mx.nd.eye({n})",
    "mx.nd.arange({n})",
    "mx.nd.linspace(0, 1, {n})",
    "mx.nd.diag(mx.nd.ones((3,)), k={n})",
    "mx.nd.pad(x, mode='constant', pad_width=(0, {n}, 0, 0))",
    "mx.nd.broadcast_axis(x[0:1], axis=0, size={n})",
    "mx.nd.ones(({n}, {n}))",
    "mx.nd.random.uniform(shape=({n},))",
    "mx.nd.random.normal(shape=({n}, 2))",
    "mx.nd.topk(x, k={n})",
    "mx.nd.expand_dims(x, axis={n})",
    "mx.nd.slice_axis(x, axis=0, begin={n}, end=None)",
    "mx.nd.slice_axis(x, axis=0, begin=0, end={n})",
    "mx.nd.sum(x, axis={n})",
    "x.reshape(({n}, -1))",
    "mx.nd.sparse.zeros('csr', ({n}, 3))",
    "mx.nd.sparse.zeros('row_sparse', ({n}, 3))",
    "mx.nd.sparse.zeros('csr', ({n}, {n})).tostype('default')",
    "mx.nd.sparse.csr_matrix(([1.], [0], [0, 1]), shape=(1, {n})) + 1",
    "mx.nd.stack(*[x] * 300)",
    "mx.nd.SwapAxis(x, dim1=0, dim2={n})",
    "mx.nd.scatter_nd(mx.nd.ones((1,)), mx.nd.zeros((1, 1)), shape=({n},))",
    "mx.nd.broadcast_like(x[0:1], mx.nd.sparse.zeros('csr', ({n}, 100)))",
    "mx.nd.SliceChannel(x, num_outputs={n})",
    "mx.nd.im2col(mx.nd.ones((1, 1, 3, 3)), kernel=({n}, 1))",
    "mx.nd.concat(*[x] * 200, mx.nd.ones((1, 100)), dim=0)",
    "mx.nd.random.multinomial(mx.nd.array([0.5, 0.5]), shape={n})",
    "mx.nd.batch_dot(mx.nd.ones((1, 2, 3)), mx.nd.sparse.zeros('row_sparse', (1, 3, {n})))",
    "mx.nd.dot(x, mx.nd.sparse.zeros('csr', (100, {n})))",
    "mx.nd.unravel_index(mx.nd.array([1]), shape=({n}, {n}))",
    "mx.nd.histogram(mx.nd.ones((3,)), bins={n})",
    "mx.nd.Embedding(mx.nd.zeros((1,)), x, input_dim={n}, output_dim=100)",
    "mx.nd.maximum(x, 1)",
    "mx.nd.sparse.row_sparse_array((mx.nd.ones((1, 2)), [0]), shape=({n}, 2)) + 1",
]


@family
def huge_attributes(c: Choices) -> tuple[str, list[str]]:
    """Sizes that no memory holds give a named error, and the limit on dense results of sparse arrays holds for all of them."""
    call = c.choose(SIZED)
    size = c.choose(HUGE)
    stype = c.choose(["csr", "row_sparse", "default"])
    limit = c.choose([10**6, 1 << 30]) if stype != "default" and ("(x" in call or "*[x]" in call) else 1 << 40
    return call, [
        "x = mx.nd.sparse.csr_matrix(([1.], [5], np.concatenate([[0], np.ones(100, int)])), shape=(100, 100))",
        f"x = x.tostype({stype!r})",
        f"mx.config.densify_limit = {limit}",
        *refused(
            call.format(n=size),
            "for one in made if isinstance(made, list) else [made]:",
            f"    assert one.stype != 'default' or one.nbytes <= {limit}, ('beyond densify_limit', one.shape, one.nbytes)",
        ),
    ]


# values that attributes do not take

ODD = [
    "None",
    "'x'",
    "nan",
    "inf",
    "1e308",
    "-1",
    "2**40",
    "()",
    "(1, 2, 3)",
    "[]",
    "{}",
    "object()",
    "b'1'",
    "1j",
    "True",
    "''",
    "0",
    "(None,)",
    "('a',)",
    "np.float32(1)",
    "np.array([1, 2])",
    "(-1,)",
    "((1,),)",
    "int",
    "'float32'",
    "0.5",
    "10**400",
    "'\\ud800'",
]


@family
def odd_attributes(c: Choices) -> tuple[str, list[str]]:
    """An attribute of any value gives a result or a named error."""
    name = c.choose([name for name in SAMPLED if OPS[name].attrs and not name.startswith("_") and name not in ("RNN",)])
    lines, args, attrs = sampled_call(c, name)
    attribute = c.choose(sorted(OPS[name].attrs))
    value = c.choose(ODD)
    rest = {key: one for key, one in attrs.items() if key != attribute}
    return f"{name} {attribute}", [
        *lines,
        *refused(
            f"mx.nd.{name}({args}{written(rest)}, {attribute}={value})",
            "for one in made if isinstance(made, list) else [made]:",
            "    one.asnumpy()",
        ),
    ]


OBJECTS = [
    *ODD,
    "range(3)",
    "iter([1])",
    "(i for i in [1])",
    "{1: 2}",
    "{1, 2}",
    "'abc'",
    "np.datetime64('2020-01-01')",
    "np.array(['a'])",
    "np.array([1j])",
    "np.array([object()])",
    "np.array(None)",
    "np.array([[1], [2]], dtype=object)",
    "np.zeros((0, 3))",
    "np.matrix([[1, 2]])",
    "memoryview(b'abc')",
    "bytearray(b'ab')",
    "(lambda: 1)",
    "Ellipsis",
    "slice(1)",
    "type",
    "mx",
    "np.ma.masked",
    "[[1, 2], [3]]",
    "[[[]]]",
    "[None, 1]",
    "[[1], 2]",
    "(1 << 100)",
    "np.array([1, 2], '>f4')",
    "np.array([1], 'u8')",
    "np.array([2**63], 'u8')",
    "__import__('decimal').Decimal('1.5')",
    "__import__('fractions').Fraction(1, 3)",
    "type('A', (), {'__array__': lambda self, *a, **k: 1})()",
    "type('A', (), {'__len__': lambda self: -1, '__getitem__': lambda self, i: [1, 2][i]})()",
    "type('A', (), {'shape': (2, 2), 'dtype': 'float32'})()",
    "type('A', (), {'tocsr': lambda self: 3})()",
    "type('A', (), {'__array_interface__': {}})()",
    "type('A', (), {'__dlpack__': lambda self, **k: 3})()",
    "type('A', (), {'__float__': lambda self: 1 / 0})()",
    "type('A', (), {'__iter__': lambda self: 1 / 0})()",
    "type('A', (), {'__binsparse_descriptor__': lambda self: {}, '__binsparse__': lambda self, **k: {}})()",
    "type('A', (list,), {})([1])",
    "float('1e400')",
    "np.array([nan])",
    "[1e400]",
    "np.rec.array([(1, 2.0)])",
    "mx.sym.Variable('a')",
    "mx.nd",
    "mx.nd.ones((2,))",
    "mx.nd.ones((2, 2)).tostype('csr')",
    "(2, 3)",
    "(1e20,)",
    "('2',)",
    "(True, 2)",
    "(2.5,)",
    "(-1, 2)",
    "(np.int8(2),)",
    "mx.cpu()",
    "np.float16",
    "'csr'",
    "'nonsense'",
    "NotImplemented",
]
TAKERS = [
    "mx.nd.array({0})",
    "mx.nd.sparse.csr_matrix({0})",
    "mx.nd.sparse.row_sparse_array({0})",
    "mx.nd.sparse.array({0})",
    "mx.nd.zeros({0})",
    "mx.nd.ones((2,), dtype={0})",
    "mx.nd.full((2,), {0})",
    "mx.nd.empty({0})",
    "mx.nd.sparse.zeros({0}, (2, 2))",
    "mx.nd.sparse.zeros('csr', {0})",
    "mx.nd.arange({0})",
    "mx.nd.eye({0})",
    "mx.nd.linspace({0}, 1, 3)",
    "mx.nd.linspace(0, 1, {0})",
    "mx.nd.array([1], ctx={0})",
    "mx.nd.array([1], dtype={0})",
    "mx.nd.sparse.csr_matrix(({0}, {1}))",
    "mx.nd.sparse.csr_matrix(({0}, {1}, [0, 1]))",
    "mx.nd.sparse.csr_matrix(([1], {0}, {1}), shape=(1, 3))",
    "mx.nd.sparse.csr_matrix(([1], [0], [0, 1]), shape={0})",
    "mx.nd.sparse.row_sparse_array(({0}, {1}))",
    "mx.nd.sparse.row_sparse_array(([[1]], {0}), shape={1})",
    "mx.nd.sparse.csr_matrix(([1], ({0}, {1})))",
    "mx.nd.sparse.from_binsparse({0})",
    "mx.nd.from_dlpack({0})",
    "mx.nd.from_numpy({0})",
    "mx.nd.ones((2, 2))[{0}]",
    "mx.nd.ones((2, 2)) + {0}",
    "mx.nd.ones((2, 2)).tostype('csr')[{0}]",
    "mx.nd.ones((2, 2)).__setitem__({0}, 1)",
    "mx.nd.ones((2, 2)).__setitem__(0, {0})",
    "mx.nd.ones((2, 2)).reshape({0})",
    "mx.nd.ones((2, 2)).astype({0})",
    "mx.nd.ones((2, 2)).tostype({0})",
    "mx.nd.ones((2, 2)).copyto({0})",
    "mx.nd.ones((2, 2)).attach_grad({0})",
    "mx.nd.dot({0}, {1})",
    "mx.nd.ones((2, 2)).attach_grad(stype={0})",
    "mx.sym.Variable({0})",
    "mx.sym.Variable('a', shape={0})",
    "mx.sym.Variable('a', dtype={0})",
    "mx.sym.Variable('a').infer_shape(a={0})",
    "mx.sym.Variable('a').infer_type(a={0})",
    "mx.sym.Variable('a').infer_storage_type(a={0})",
    "mx.sym.load_json({0})",
    "mx.sym.Group({0})",
    "mx.gluon.nn.Dense({0})",
    "mx.gluon.Parameter({0}, shape=(2,))",
    "mx.gluon.Parameter('a', shape={0})",
    "mx.gluon.Parameter('a', shape=(2,), init={0}).initialize()",
    "mx.init.create({0})",
    "mx.init.Constant({0})",
    "mx.optimizer.create({0})",
    "mx.optimizer.create('sgd', learning_rate={0})",
    "mx.metric.create({0})",
    "mx.gluon.data.ArrayDataset({0})",
    "mx.io.NDArrayIter({0}, batch_size=1)",
    "mx.io.NDArrayIter(np.ones((3, 2)), batch_size={0})",
    "mx.nd.concat({0}, {1})",
    "mx.nd.maximum({0}, {1})",
    "mx.autograd.backward({0})",
    "mx.autograd.grad({0}, {1})",
    "mx.nd.random.uniform({0}, {1}, shape=(2,))",
    "mx.nd.random.normal(shape={0})",
    "mx.random.seed({0})",
    "mx.Context({0})",
    "mx.kv.create({0})",
    "mx.nd.save({0}, {1}) if not isinstance({0}, (str, bytes, int)) else None",
    "mx.nd.load({0}) if not isinstance({0}, int) else None",
    "mx.nd.load_frombuffer({0})",
    "mx.gluon.nn.Embedding({0}, 2)",
    "mx.gluon.nn.Dropout({0})",
    "mx.gluon.nn.Activation({0})",
    "mx.lr_scheduler.FactorScheduler({0})",
    "mx.nd.array({0}, dtype='int8')",
]


@family
def odd_objects(c: Choices) -> tuple[str, list[str]]:
    """Functions given anything return, or raise a named error; a call without an argument is Python's TypeError."""
    call = c.choose(TAKERS)
    text = call.format(c.choose(OBJECTS), c.choose(OBJECTS))
    return call, ["import warnings", "warnings.simplefilter('ignore')", *refused(text)]


def program(name: str, choices: Choices) -> tuple[str, str]:
    """Label and text of one program."""
    label, lines = families[name](choices)
    return label, "\n".join([*HEAD, *lines]) + "\n"


__all__ = ["DANGEROUS", "Choices", "families", "mx", "program", "smaller_choices"]
