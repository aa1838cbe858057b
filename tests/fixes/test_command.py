"""``sparsekit fix``: the step is found, the script stays as it is, the patch and the test are written."""

import os
import subprocess
import sys

import pytest

from sparsekit.base.errors import DataFileError, ProfilerError
from sparsekit.cli import main
from sparsekit.fixes.command import main as fix

from . import wasteful

LOOP = wasteful.HEAD + wasteful.dense() + '''
data = mx.io.NDArrayIter(batch(), mx.nd.ones((ROWS, UNITS)), batch_size=8)
for epoch in range(2):
    data.reset()
    for one in data:
        with autograd.record():
            loss = loss_function(net(one.data[0]), one.label[0])
        loss.backward()
        trainer.step(8)
print("trained")
'''
STEP = wasteful.HEAD + wasteful.dense() + "data = batch()\n" + wasteful.TRAIN.format(data="data")
CALLED = STEP.replace("step():", "train(times):") + '''
def main():
    for _ in range(3):
        train(1)


main()
'''
FUNCTION = STEP + "\n\nfor _ in range(3):\n    step()\n"

#: Script -> what the command says that its step is.
SCRIPTS = {"loop": (LOOP, "the loop in line 26, once"), "called": (CALLED, "the statement in line"),
           "function": (FUNCTION, "the function step in line")}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    return tmp_path


@pytest.mark.parametrize("name", SCRIPTS)
def test_the_step_is_found_and_the_script_stays_as_it_is(name, folder, capsys, request):
    if name == "loop":  # in a process of its own, as a user's
        request.getfixturevalue("fresh")
    text, words = SCRIPTS[name]
    script = folder / f"{name}.py"
    script.write_text(text)
    assert main(["fix", str(script)]) == 0
    printed = capsys.readouterr()
    assert words in printed.err
    assert "row-sparse gradient: " in printed.out
    assert script.read_text() == text
    patch = (folder / f"{name}.patch").read_text()
    assert "+net = gluon.nn.Dense(UNITS, in_units=FEATURES, weight_grad_stype=\"row_sparse\")" in patch
    assert patch.startswith(f"--- a/{name}.py\n+++ b/{name}.py\n")


def test_apply_changes_the_script_and_the_written_test_keeps_it(folder, capsys):
    script = folder / "kept.py"
    script.write_text(FUNCTION)
    assert fix(["--contract", "test_kept.py", str(script)]) == 0
    assert outcome(folder) == 1
    assert fix(["--apply", str(script)]) == 0
    assert "weight_grad_stype" in script.read_text()
    assert outcome(folder) == 0
    capsys.readouterr()
    assert fix([str(script)]) == 0
    assert "row-sparse gradient" not in capsys.readouterr().out


def outcome(folder):
    """The exit status of pytest on the written test, in a process of its own."""
    environment = {**os.environ, "PYTHONPATH": f"{folder}:{os.environ.get('PYTHONPATH', '')}",
                   "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}  # other plugins take most of the time of a start
    done = subprocess.run([sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_kept.py"], cwd=folder,
                          env=environment, capture_output=True, text=True, timeout=400)
    assert "1 passed" in done.stdout or "1 failed" in done.stdout, done.stdout + done.stderr
    return done.returncode


def test_a_script_that_fails_or_does_not_train(folder, capsys):
    (folder / "ends.py").write_text("import sys\nsys.exit(3)\n")
    assert fix(["ends.py"]) == 3
    capsys.readouterr()  # where PyTorch is installed, the script might train with it, and the command says what it runs
    (folder / "raises.py").write_text("import sparsekit as mx\nmx.nd.ones(2)\nraise ValueError('of the script')\n")
    assert fix(["raises.py"]) == 1
    assert capsys.readouterr().err == ('Traceback (most recent call last):\n  File "raises.py", line 3, in <module>\n'
                                       "    raise ValueError('of the script')\nValueError: of the script\n")
    (folder / "stopped.py").write_text("import sparsekit\nraise KeyboardInterrupt\n")
    assert fix(["stopped.py"]) == 130
    (folder / "idle.py").write_text("x = 1\n")
    with pytest.raises(ProfilerError, match="No step of training"):
        fix(["idle.py"])
    with pytest.raises(DataFileError, match="There is no script"):
        fix(["missing.py"])
    with pytest.raises(ProfilerError, match="--steps"):
        fix(["--steps", "0", "idle.py"])
