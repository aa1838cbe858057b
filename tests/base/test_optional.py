"""Without an optional package, what needs it is refused by name with the way to install it, and the rest works."""

import ast
import functools
import json
import subprocess
import sys
from pathlib import Path

import pytest

import sparsekit as mx

PACKAGE = Path(mx.__file__).parent

#: Optional package -> what needs it, as expressions of the program below.
NEEDED = {
    "anywidget": ["profile.timeline().live()", "x.inspect().live()", "net.graph(x).live()", "load('course.live')"],
    "traitlets": ["profile.timeline().live()", "x.inspect().live()", "net.graph(x).live()", "load('course.live')"],
    "IPython": ["mx.load_ipython_extension(None)", "load('course.saved')"],
    "matplotlib": ["mx.figures.curves_figure({'a': [1, 2]}).on(None)", "mx.progress().on(None)"],
    "ray": ["mx.dist.run(print)", "main('bench', 'dist')"],
    "psutil": ["load('dist.ray_cluster').Cluster._start(None, None)"],
    "torch": ["x.astorch()", "mx.Profiler(torch=True)", "main('bench', 'torch')",
              "load('examples.training_run')._by_torch(None, None)"],
    "jax": ["x.asjax()"],
    "jupyterlab": ["main('lab')"],
    "ipykernel": ["main('lab')"],
    "sklearn": ["load('sklearn')", "main('bench', 'sklearn')", "load('examples.training_run')._by_sklearn(None, None)"],
    "tensorboardX": ["mx.gluon.contrib.estimator.TensorBoardHandler('logs')"],
    "cupy": ["mx.nd.ones(2, ctx=mx.gpu(0))", "mx.gpu(0).empty_cache()",
              "mx.context.gpu_memory_info()", "x.as_in_context(mx.gpu(0))"],
}

#: What else is imported and need not be installed, and why nothing here asks for it.
OTHERS = {
    "numba": "kernels in numpy take its place: tests/faults/test_environment.py", "llvmlite": "it comes with numba",
    "nbformat": "it comes with JupyterLab",
    "cupyx": "it comes with cupy", "docutils": "it comes with Sphinx", "sphinx": "it imports docs/registry_pages.py itself",
    "pytest": "it imports the plugin itself",
}

#: Optional packages whose absence changes how something is shown, and nothing else.
SHOWN = {
    "tqdm": ["mx.callback.Speedometer(1)", "mx.callback.ProgressBar(3)"],
    "IPython": ["mx.predict('start.rows')", "mx.figures.monitor(None)", "profile._repr_mimebundle_()"],
    "ipywidgets": ["mx.predict('start.rows')", "profile.table()"],
    "matplotlib": ["profile.timeline().svg()", "x._repr_html_()"],
    "jupyter_client": ["load('doctor').kernelspec_finding()"],
    "tensorboard": ["profile.summary()"],
}

#: Packages that are missing together -> what is used without them.
PROBES = {**{(package,): uses for package, uses in NEEDED.items()},
          tuple(SHOWN): [use for found in SHOWN.values() for use in found]}

PROGRAM = """
import contextlib, io, json, os, sys
import sparsekit as mx
from sparsekit.base.errors import GPUNotFound, MissingPackageError

def load(name):
    import importlib
    return importlib.import_module("sparsekit." + name)

def main(*words):
    from sparsekit.cli import main
    told = io.StringIO()
    with contextlib.redirect_stdout(told), contextlib.redirect_stderr(told):
        status = main(list(words))
    if status == 2:
        raise MissingPackageError(told.getvalue())

x = mx.nd.array([[0, 1], [2, 0]]).tostype("csr")
net = mx.gluon.nn.Dense(1, in_units=2)
net.initialize()
with mx.Profiler() as profile:
    net(x)

def uses_without(missing, uses):
    for name in missing:
        sys.modules[name] = None
    for use in uses:
        try:
            eval(use)
            yield use, ""
        except (GPUNotFound, MissingPackageError) as error:
            yield use, str(error)

probes = json.loads(sys.argv[1])
assert not {name for missing, _ in probes for name in missing} & sys.modules.keys()
for missing, uses in probes:  # nothing that is optional has been imported: a child finds what a new process would
    sys.stdout.flush()
    if not os.fork():
        print(json.dumps([missing, dict(uses_without(missing, uses))]), flush=True)
        os._exit(0)
    assert os.wait()[1] == 0, missing
"""


@functools.cache
def probed():
    """What each use says in a process that lacks the packages, by packages."""
    done = subprocess.run([sys.executable, "-W", "error", "-c", PROGRAM, json.dumps(list(PROBES.items()))], capture_output=True,
                          text=True, timeout=400)
    assert done.returncode == 0, done.stderr[-2000:]
    found = (json.loads(line) for line in done.stdout.splitlines() if line.startswith("[["))
    return {tuple(missing): said for missing, said in found}


@pytest.mark.parametrize("package", NEEDED)
def test_what_needs_a_package_names_it_and_how_to_install_it(package):
    for use, text in probed()[package,].items():
        assert package in text, use
        assert "Hint:" in text, use
        assert "pip install" in text, use


def test_what_only_shows_with_a_package_works_without_all_of_them():
    assert set(probed()[tuple(SHOWN)].values()) == {""}


@functools.cache
def imported():
    """The packages that the source imports and that are not required, each with what ``optional_import`` says it is for."""
    found = {}
    for path in PACKAGE.rglob("*.py"):
        nodes = list(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))
        typing = {id(node) for one in nodes if isinstance(one, ast.If) and getattr(one.test, "id", "") == "TYPE_CHECKING"
                  for node in ast.walk(one)}
        for node in nodes:
            if id(node) in typing:
                continue
            for name, purpose in named(node):
                found.setdefault(name.partition(".")[0], set()).update({purpose} - {None})
    known = {"", "filelock", "numpy", "scipy", "sparsekit", *sys.stdlib_module_names}
    return {name: purposes for name, purposes in found.items() if name not in known}


def named(node):
    """The modules that a statement or a call imports, and what for."""
    if isinstance(node, ast.Import):
        yield from ((one.name, None) for one in node.names)
    elif isinstance(node, ast.ImportFrom) and not node.level:
        yield node.module, None
    elif isinstance(node, ast.Call):
        called = getattr(node.func, "id", getattr(node.func, "attr", ""))
        if called in ("optional_import", "whole_import", "import_module", "find_spec", "is_installed") and node.args:
            name = node.args[0]
            parts = name.values if isinstance(name, ast.JoinedStr) else [name]
            text = parts[0].value if isinstance(parts[0], ast.Constant) else ""
            yield text, node.args[2].value if called == "optional_import" else None


def test_every_optional_package_is_tried():
    """Whatever way it is imported, at the top of a module or within a function."""
    assert set(imported()) <= {*NEEDED, *SHOWN, *OTHERS}
    assert {"ray", "tqdm", "cupy", "sphinx"} <= set(imported())  # by each of the ways


def test_everything_that_needs_a_package_is_tried():
    """Each purpose that the source names stands in an error above."""
    for name, purposes in imported().items():
        said = " ".join(probed()[name,].values()) if purposes else ""
        assert [purpose for purpose in purposes if purpose not in said] == [], name
