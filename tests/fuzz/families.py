"""Random programs that say themselves what is wrong: the classes of defects that are not graphs of operators.

A family is a function of a ``Choices``; it gives a label and lines of Python that raise if something is wrong, and pass
where a named error stops them.  Options stand in the order of simplicity, so that a smaller list of choices is a simpler
program.  What may crash is not here: ``tests/faults`` goes through doors to structure, absurd sizes and odd objects one by one.
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


def program(name: str, choices: Choices) -> tuple[str, str]:
    """Label and text of one program."""
    label, lines = families[name](choices)
    return label, "\n".join([*HEAD, *lines]) + "\n"


__all__ = ["Choices", "families", "mx", "program", "smaller_choices"]
