"""Imports go one way, and importing sparsekit stays light."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "sparsekit"

#: Parts of the package by height; a part may import its own height and what is lower.
LAYERS: tuple[tuple[str, ...], ...] = (
    ("base",),
    ("storage", "kernels"),
    ("core",),
    ("ops",),
    ("ndarray", "autograd", "symbol"),
    ("callback", "datasets", "dist", "engine", "initializer", "io", "kvstore", "lr_scheduler", "metric", "optimizer",
     "random"),
    ("gluon", "model", "module"),
    ("", "__main__", "bench", "cli", "course", "demo", "docs", "doctor", "examples", "fixes",
     "lab", "sklearn"),  # "" is sparsekit/__init__.py
)
HEIGHT = {part: height for height, parts in enumerate(LAYERS) for part in parts}
TOP = len(LAYERS) - 1

#: Beside the tower rather than in it: what each may import, as prefixes below ``sparsekit``.
BESIDE = {
    "figures": ("base", "figures", "profiler.columns", "profiler.groups"),
    "profiler": ("base", "core.hooks", "figures", "profiler"),
}

#: What exists for old programs alone may import anything below the top, and nothing outside imports it.  One module names it, and
#: asks it for a name or a module that is not elsewhere.
COMPAT_DOOR = "base.lazy"


class Import(NamedTuple):
    """One import of a part of sparsekit: dotted names below ``sparsekit``; ``""`` is the package itself."""

    source: str
    target: str
    line: int
    annotations: bool = False  # whether it stands under ``if TYPE_CHECKING`` and never runs


def part_of(module: str) -> str:
    return module.partition(".")[0]


def module_name(path: Path) -> str:
    parts = path.relative_to(PACKAGE).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {module_name(path): path for path in sorted(PACKAGE.rglob("*.py"))}


def absolute(node: ast.ImportFrom, source: str) -> str | None:
    """The dotted name below ``sparsekit`` that a ``from`` import starts at; None outside the package."""
    if not node.level:
        head, _, rest = (node.module or "").partition(".")
        return rest if head == "sparsekit" else None
    package = source.split(".") if MODULES[source].name == "__init__.py" else source.split(".")[:-1]
    up = node.level - 1
    base = [name for name in package if name][: len(package) - up if up else None]
    return ".".join([*base, *([node.module] if node.module else [])])


def targets(node: ast.AST, source: str) -> Iterator[str]:
    """Modules of sparsekit that one statement or call imports."""
    if isinstance(node, ast.Import):
        for alias in node.names:
            head, _, rest = alias.name.partition(".")
            if head == "sparsekit":
                yield rest
    elif isinstance(node, ast.ImportFrom):
        start = absolute(node, source)
        if start is not None:
            for alias in node.names:
                inner = f"{start}.{alias.name}".lstrip(".")
                yield inner if inner in MODULES else start
    elif isinstance(node, ast.Call) and getattr(node.func, "attr", getattr(node.func, "id", "")) == "import_module":
        first = node.args[0] if node.args else None
        if isinstance(first, ast.Constant) and str(first.value).partition(".")[0] == "sparsekit":
            yield str(first.value).partition(".")[2]


def imports_of(source: str) -> Iterator[Import]:
    """Every import of a module, those inside functions with the rest: being late hides no cycle here."""
    nodes = list(ast.walk(ast.parse(MODULES[source].read_text(encoding="utf-8"))))
    unrun = {id(inner) for node in nodes if isinstance(node, ast.If) and getattr(node.test, "id", "") == "TYPE_CHECKING"
             for statement in node.body for inner in ast.walk(statement)}
    for node in nodes:
        for target in targets(node, source):
            yield Import(source, target, getattr(node, "lineno", 0), id(node) in unrun)


@cache
def all_imports() -> list[Import]:
    return [found for source in MODULES for found in imports_of(source)]


def broken(found: Import) -> str | None:
    """Why an import goes the wrong way, or None."""
    source, target = part_of(found.source), part_of(found.target)
    if target == "compat":
        return None if source == "compat" or found.annotations else f"only {COMPAT_DOOR} asks it for a name"
    if source == "compat":
        return f"{target!r} is at the top" if HEIGHT.get(target, 0) == TOP else None
    if source in BESIDE:
        allowed = any(found.target == name or found.target.startswith(name + ".") for name in BESIDE[source])
        return None if allowed else f"{source} may import only {', '.join(BESIDE[source])}"
    if target in BESIDE:
        return None if HEIGHT[source] == TOP else f"nothing below the top imports {target}"
    return None if HEIGHT[target] <= HEIGHT[source] else f"{target!r} is above {source!r}"


def test_every_part_of_the_package_has_its_place():
    unknown = {part_of(module) for module in MODULES} - set(HEIGHT) - set(BESIDE) - {"compat"}
    assert not unknown, f"give these a layer in {Path(__file__).name}: {sorted(unknown)}"


def test_imports_go_one_way():
    reasons = ((found, broken(found)) for found in all_imports())
    wrong = [f"{found.source}:{found.line} imports {found.target}: {why}" for found, why in reasons if why]
    assert not wrong, "\n".join(wrong)


def test_no_import_hides_a_cycle():
    edges: dict[str, set[str]] = {module: set() for module in MODULES}
    for found in all_imports():
        if found.target != found.source and not found.annotations:
            edges[found.source].add(found.target)
    TopologicalSorter(edges).prepare()  # raises CycleError, which names the modules


def test_no_string_outside_compat_names_it():
    texts = {module: path.read_text(encoding="utf-8") for module, path in MODULES.items() if part_of(module) != "compat"}
    named = [f"{module}:{node.lineno}" for module, text in texts.items() if "compat." in text
             for node in ast.walk(ast.parse(text))
             if isinstance(node, ast.Constant) and isinstance(node.value, str)
             and node.value.removeprefix("sparsekit.").startswith("compat.")]
    assert [one.partition(":")[0] for one in named] == [COMPAT_DOOR], named


def test_the_rule_itself():
    fits = (("ops.sparse.dot", "core.op"), ("profiler.recorder", "core.hooks"), ("cli", "figures.page"),
            ("compat.operator", "ndarray"))
    others = (("ops.sparse.dot", "ndarray"), ("core.dispatch", "profiler.recorder"), ("profiler.recorder", "core.op"),
              ("profiler.recorder", ""), ("figures.live", "profiler.recorder"),
              ("module.module", "compat.module.bucketing_module"), ("compat.operator", "cli"))
    assert [pair for pair in fits if broken(Import(*pair, 1))] == []
    assert [pair for pair in others if not broken(Import(*pair, 1))] == []


IMPORTED = """
import json, sys
before = set(sys.modules)
import numpy
calls = 0
def count(frame, event, argument):
    global calls
    calls += event in ("call", "c_call")
sys.setprofile(count)
import sparsekit
sys.setprofile(None)
loaded = {name.partition(".")[0] for name in set(sys.modules) - before}
foreign = sorted(name for name in loaded - set(sys.stdlib_module_names) if name not in ("numpy", "sparsekit"))
print(json.dumps({"foreign": foreign, "calls": calls}))
"""


def test_importing_sparsekit_loads_numpy_and_nothing_else_and_is_little_work():
    """54,000 calls of functions beside numpy's own, most of them to declare operators; `bench import` measures the time."""
    done = subprocess.run([sys.executable, "-c", IMPORTED], capture_output=True, text=True, cwd=ROOT, timeout=400)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["foreign"] == []
    assert found["calls"] < 80_000


LATE = """
import json, sys
import sparsekit as mx
def loaded():
    return sorted(name for name in sys.modules if name.startswith("sparsekit.compat"))
data = mx.nd.array([[1, 0], [0, 2]]).tostype("csr")
net = mx.gluon.nn.HybridSequential()
net.add(mx.gluon.nn.Embedding(5, 3, sparse_grad=True), mx.gluon.nn.Dense(2))
net.initialize()
net.hybridize()
trainer = mx.gluon.Trainer(net.collect_params(), "adam")
with mx.autograd.record():
    loss = (net(mx.nd.array([1, 2])) ** 2).sum() + mx.nd.sparse.dot(data, mx.nd.ones((2, 2))).sum()
loss.backward()
trainer.step(1)
bound = (mx.sym.var("x") * 2).simple_bind(mx.cpu(), x=(2,))
bound.forward(is_train=True)
mx.sym.load_json(mx.sym.sin(mx.sym.var("x")).tojson()).graph(x=(2,))
mx.io.NDArrayIter, mx.mod.Module, mx.model.load_params, mx.metric.Accuracy, mx.kv.create, mx.Profiler, mx.datasets, mx.course
unnamed = loaded()
for group in (mx.nd, mx.sym, mx.nd.contrib, mx.sym.contrib):
    assert "Custom" in dir(group) or "foreach" in dir(group)
for name in dir(mx):
    getattr(mx, name)
print(json.dumps([unnamed, loaded()]))
"""


def test_what_exists_for_old_programs_alone_loads_when_it_is_named():
    done = subprocess.run([sys.executable, "-c", LATE], capture_output=True, text=True, cwd=ROOT, timeout=400)
    assert done.returncode == 0, done.stderr
    loaded, listed = json.loads(done.stdout)
    assert loaded == []
    named = ("log", "monitor", "names", "operator", "registry", "runtime", "test_checks", "test_utils", "util", "visualization")
    assert listed == ["sparsekit.compat", *(f"sparsekit.compat.{name}" for name in named)]
