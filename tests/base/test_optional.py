"""Without an optional package, what needs it is refused by name with the way to install it, and the rest works."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from pathlib import Path

import pytest

import sparsekit as mx

PACKAGE = Path(mx.__file__).parent

#: Optional package -> what needs it, as expressions of the program below.
NEEDED = {
    "anywidget": ["profile.timeline()", "x.inspect()", "net.graph(x).live()"],
    "traitlets": ["profile.timeline()", "x.inspect()"],
    "IPython": ["mx.load_ipython_extension(None)"],
    "matplotlib": ["mx.widgets.curves_figure({'a': [1, 2]}).plot()"],
    "pandas": ["profile.to_dataframe()"],
    "ray": ["mx.dist.run(print)"],
    "torch": ["x.astorch()"],
    "jax": ["x.asjax()"],
    "jupyterlab": ["main('lab')"],
    "ipykernel": ["main('lab')"],
    "sklearn": ["__import__('sparsekit.sklearn')"],
    "tensorboardX": ["mx.gluon.contrib.estimator.TensorBoardHandler('logs')"],
    "cupy": ["mx.nd.ones(2, ctx=mx.gpu(0))", "mx.gpu(0).empty_cache()",
              "mx.context.gpu_memory_info()", "x.as_in_context(mx.gpu(0))"],
}

#: Optional packages whose absence changes how something is shown, and nothing else.
SHOWN = {
    "tqdm": ["mx.callback.Speedometer(1)", "mx.callback.ProgressBar(3)"],
    "IPython": ["mx.predict('start.rows')", "mx.widgets.monitor(None)", "profile._repr_mimebundle_()"],
    "ipywidgets": ["mx.predict('start.rows')", "profile.table()"],
    "matplotlib": ["profile.timeline_figure().svg", "x._repr_html_()"],
    "psutil": ["main('doctor')"],
    "tensorboard": ["profile.summary()"],
}

PROGRAM = """
import io, contextlib, json, sys
for name in {missing!r}:
    sys.modules[name] = None
import sparsekit as mx
from sparsekit.base.errors import GPUNotFound, MissingPackageError

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
said = {{}}
for use in {uses!r}:
    try:
        eval(use)
        said[use] = ""
    except (GPUNotFound, MissingPackageError) as error:
        said[use] = str(error)
print(json.dumps(said))
"""


def without(missing, uses):
    """What each expression says in a process that lacks the packages."""
    done = subprocess.run([sys.executable, "-W", "error", "-c", PROGRAM.format(missing=missing, uses=uses)], capture_output=True,
                          text=True, timeout=120)
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(done.stdout.splitlines()[-1])


@pytest.mark.parametrize("package", NEEDED)
def test_what_needs_a_package_names_it_and_how_to_install_it(package):
    for use, text in without([package], NEEDED[package]).items():
        assert package in text, use
        assert "Hint:" in text, use
        assert "pip install" in text, use


def test_what_only_shows_with_a_package_works_without_all_of_them():
    uses = [use for found in SHOWN.values() for use in found]
    assert set(without([*SHOWN], uses).values()) == {""}


def test_every_optional_package_is_tried():
    """Those that the source imports by ``optional_import`` or by a line of its own within a function."""
    found = set()
    for path in PACKAGE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "optional_import":
                found.add(node.args[0].value if isinstance(node.args[0], ast.Constant) else "matplotlib")
    names = {name.partition(".")[0] for name in found}
    assert names - {"sparsekit"} <= set(NEEDED), names - set(NEEDED)
