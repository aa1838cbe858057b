import re

import numpy as np
import pytest

pytest.importorskip("IPython")

from IPython.utils.capture import capture_output

from sparsekit.base.errors import ProfilerError, UnsupportedError
from sparsekit.profiler import Profiler
from sparsekit.profiler.magics import _split, load_ipython_extension
from tests.fixes.conftest import origin, shared  # noqa: F401 - tries start from one process
from tests.ipython_shell import ipython


@pytest.fixture
def shell(library, tmp_path):
    with ipython(tmp_path, load_ipython_extension) as made:
        made.user_ns.update(library=library, np=np)
        yield made


CELL = "%%profile {options}\nx = library.run('add', (), np.zeros(3))\n{last}"


def run(shell, options="", last="41 + 1"):
    with capture_output() as captured:
        result = shell.run_cell(CELL.format(options=options, last=last), store_history=False)
    return result, captured


def test_a_profiled_cell_behaves_like_a_cell(shell):
    result, captured = run(shell, "-o prof")
    assert result.success
    assert "42" in captured.stdout
    assert shell.user_ns["x"].shape == (3,)
    prof = shell.user_ns["prof"]
    assert isinstance(prof, Profiler)
    assert [record["name"] for record in prof.records] == ["add"]


def test_the_profile_is_shown_with_picture_and_text(shell):
    _, captured = run(shell)
    assert len(captured.outputs) == 1
    data = captured.outputs[0].data
    assert set(data) == {"text/plain", "text/html"}
    assert "<img " in data["text/html"]
    assert re.search(r"Arrays held at most [\d.]+ [kMG]?B in this run; [\d.]+ [kMG]?B of what operators made in it are kept",
                     captured.stdout)
    _, captured = run(shell, "--no-display")
    assert captured.outputs == []
    assert "held at most" not in captured.stdout


def test_an_error_propagates_and_the_events_are_kept(shell):
    result, _ = run(shell, "-o prof", "1 / 0")
    assert isinstance(result.error_in_exec, ZeroDivisionError)
    trace = result.error_in_exec.__traceback__
    while trace.tb_next is not None:
        trace = trace.tb_next
    assert trace.tb_lineno == 3  # the magic is the first line
    assert len(shell.user_ns["prof"].records) == 1


def test_a_syntax_error_is_the_users_own(shell):
    result, _ = run(shell, "", "1 +")
    assert isinstance(result.error_in_exec, SyntaxError)


def test_other_magics_and_shell_lines_work_inside(shell):
    result, captured = run(shell, "--no-display", "%pprint\nx.shape")
    assert result.success
    assert "(3,)" in captured.stdout


def test_a_line_is_profiled(shell):
    with capture_output() as captured:
        line = "%profile -o prof --no-display library.run('add', (), np.zeros(3)).shape"
        result = shell.run_cell(line, store_history=False)
    assert result.success
    assert "(3,)" in captured.stdout
    assert len(shell.user_ns["prof"].records) == 1


def test_what_cannot_be_profiled_is_named(shell):
    for options in ("-o 3x", "what"):
        assert isinstance(run(shell, options)[0].error_in_exec, ProfilerError)
    result = shell.run_cell("%profile -o prof", store_history=False)  # there is nothing to run
    assert isinstance(result.error_in_exec, ProfilerError)
    result, _ = run(shell, "", "import asyncio\nawait asyncio.sleep(0)")
    assert isinstance(result.error_in_exec, UnsupportedError)
    with Profiler():
        result, _ = run(shell)
    assert isinstance(result.error_in_exec, ProfilerError)


@pytest.mark.parametrize(("line", "options", "code"), [
    ("net(x)", "", "net(x)"),
    ("-o prof a - b", "-o prof", "a - b"),
    ("--save=run.npz --no-display f('-o')", "--save=run.npz --no-display", "f('-o')"),
    ("-o prof", "-o prof", ""),
    ("-x", "", "-x"),
])
def test_options_end_where_the_code_begins(line, options, code):
    assert _split(line) == (options, code)


PROGRAM = """
import numpy as np
import sparsekit as mx
from sparsekit import autograd, gluon
net = gluon.nn.Dense(8, in_units=3000)
net.initialize()
trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.1})
data = mx.nd.sparse.csr_matrix((np.ones(12, "float32"), np.arange(12), np.arange(5) * 3), shape=(4, 3000), index_dtype="int32")
label, loss_function = mx.nd.ones((4, 8)), gluon.loss.L2Loss()
"""
STEP = """def step():
    with autograd.record():
        loss = loss_function(net(data), label)
    loss.backward()
    trainer.step(4)
    return loss
"""


def test_fixes_of_a_profiled_cell_are_tried_and_its_patch_names_the_cell(shell):
    for cell in (PROGRAM, STEP):
        assert shell.run_cell(cell, store_history=False).success
    before = shell.user_ns["net"].weight.data().asnumpy()
    with capture_output() as captured:
        result = shell.run_cell("%%profile -o prof --no-display\nstep()", store_history=False)
    assert result.success
    trained = shell.user_ns["net"].weight.data().asnumpy()
    assert not (trained == before).all()
    fixes = shell.user_ns["prof"].try_fixes()
    assert fixes["row-sparse gradient"].holds
    assert "-net = gluon.nn.Dense(8, in_units=3000)\n" in fixes.patch
    assert (shell.user_ns["net"].weight.data().asnumpy() == trained).all()
    with pytest.raises(UnsupportedError, match="is not in a file"):
        fixes.apply()
    with capture_output() as captured:
        assert shell.run_cell("%%profile --fix --no-display\nstep()", store_history=False).success
    assert "The patch" in captured.outputs[0].data["text/html"]


def test_functions_of_a_cell_that_imports_what_they_call_are_edited(shell):
    cell = f"{PROGRAM}\n{STEP}\nwith mx.Profiler() as prof:\n    step()"
    with capture_output():
        assert shell.run_cell(cell, store_history=False).success
        fixes = shell.user_ns["prof"].try_fixes(shell.user_ns["step"])
    assert fixes.applied
    assert not any(fix.verdict == "refused" for fix in fixes.fixes), fixes


def test_a_profile_of_unknown_code_wants_the_step():
    with Profiler() as prof:
        pass
    with pytest.raises(ProfilerError, match="does not know the code"):
        prof.try_fixes()
