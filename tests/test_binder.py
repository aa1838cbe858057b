"""The Binder configuration: rendered by repo2docker and checked, without building an image."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tomllib
from importlib.util import find_spec
from pathlib import Path

import pytest

from sparsekit.lab import JUPYTER

ROOT = Path(__file__).resolve().parents[1]
BINDER = ROOT / "binder"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def text_of(name: str) -> str:
    return (BINDER / name).read_text(encoding="utf-8")


def test_the_pinned_python_is_one_that_the_project_supports():
    pinned = int(re.fullmatch(r"python-3\.(\d+)", text_of("runtime.txt").strip()).group(1))
    assert pinned >= int(re.fullmatch(r">=3\.(\d+)", PROJECT["requires-python"]).group(1))


def test_the_cached_layer_holds_what_the_course_needs_and_the_project_takes():
    wanted = dict(re.match(r"([\w-]+)>=([\d.]+)", line).groups()
                  for line in PROJECT["dependencies"] + PROJECT["optional-dependencies"]["lab"])
    lines = [line for line in text_of("requirements.txt").splitlines() if line[:1] not in ("", "#")]
    pinned = dict(re.fullmatch(r"([\w-]+)==([\d.]+)", line).groups() for line in lines)
    assert pinned.keys() == wanted.keys()
    for name, version in pinned.items():
        assert [int(part) for part in version.split(".")] >= [int(part) for part in wanted[name].split(".")], name


@pytest.mark.skipif(not find_spec("repo2docker"), reason="no repo2docker: python -m pip install 'sparsekit[test]'")
def test_repo2docker_renders_what_binder_would_build():
    command = [sys.executable, "-m", "repo2docker", "--no-build", "--debug", "--user-name", "jovyan", "--user-id", "1000",
               str(ROOT)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=400)
    assert done.returncode == 0, done.stderr[-3000:]
    rendered = done.stdout + done.stderr
    for line in ("binder/requirements.txt", "binder/postBuild", "binder/start"):
        assert re.search(rf"^.*(?:COPY|RUN|ENV|ENTRYPOINT|chmod).*{line}.*$", rendered, re.M), line
    minor = text_of("runtime.txt").strip().rpartition(".")[2]
    assert f"python=3.{minor}" in rendered


def test_binder_opens_the_start_page_of_the_course():
    settings = json.loads(re.search(r"^echo '(\{\"LabApp\".*\})'", text_of("postBuild"), re.M).group(1))
    page = settings["LabApp"]["default_url"].removeprefix("/lab/tree/")
    assert (ROOT / page).is_file()
    assert page == "notebooks/00_start_here.ipynb"


def test_binder_signs_every_notebook_and_keeps_the_state_of_live_views():
    text = text_of("postBuild")
    signed = {path for names in re.search(r"^jupyter trust (.*)$", text, re.M)[1].split() for path in ROOT.glob(names)}
    assert signed == {path for path in (ROOT / "notebooks").rglob("*.ipynb") if path.parent.name[0] != "."}
    plugin = re.search(r"^settings=\S+/user-settings/(@jupyter-widgets/\S+)\"$", text, re.M)[1] + ":plugin"
    defaults = json.loads((JUPYTER / "labconfig" / "default_setting_overrides.json").read_text(encoding="utf-8"))
    assert {plugin: json.loads(re.search(r"^echo '(.*)' > \S+/plugin.jupyterlab-settings", text, re.M)[1])} == defaults


@pytest.mark.parametrize("script", ["postBuild", "start"])
def test_scripts_run_and_parse(script):
    path = BINDER / script
    assert text_of(script).startswith("#!/bin/bash\n")
    assert os.access(path, os.X_OK)
    subprocess.run(["bash", "-n", str(path)], check=True)
    place = r'NUMBA_CACHE_DIR="([^"]+)"'  # kernels are compiled where the start looks for them
    assert re.search(place, text_of(script)).group(1) == re.search(place, text_of("start")).group(1)


def test_start_runs_the_command_that_it_is_given(tmp_path):
    program = "import os; print(os.environ['NUMBA_CACHE_DIR'])"
    done = subprocess.run([str(BINDER / "start"), sys.executable, "-c", program], cwd=tmp_path, text=True,
                          capture_output=True, check=True)
    assert done.stdout.strip() == str(tmp_path / ".numba_cache")


#: Training of the usual kind: as it is written, hybridized, and by TrainStep.
TRAINING = """
import numpy as np
import sparsekit as mx

batch = mx.nd.sparse.csr_matrix((np.ones(100, "float32"), np.arange(100), np.arange(0, 101, 10)), shape=(10, 1000))
label, loss = mx.nd.array([[0], [1]] * 5), mx.gluon.loss.SigmoidBinaryCrossEntropyLoss()
for optimizer in ("sgd", "adam"):
    for way in ("written", "hybridized", "TrainStep"):
        net = mx.gluon.nn.HybridSequential()
        net.add(mx.gluon.nn.Dense(32, in_units=1000, activation="sigmoid", weight_grad_stype="row_sparse"),
                mx.gluon.nn.Dense(1, in_units=32))
        net.initialize()
        if way == "hybridized":
            net.hybridize()
        trainer = mx.gluon.Trainer(net.collect_params(), optimizer)
        step = mx.gluon.TrainStep(net, loss, trainer)
        for _ in range(6):
            if way == "TrainStep":
                step(batch, label)
                continue
            with mx.autograd.record():
                result = loss(net(batch), label)
            result.backward()
            trainer.step(10)
"""


@pytest.mark.thorough
@pytest.mark.slow
def test_warming_leaves_compiled_kernels_in_the_given_folder(tmp_path):
    program = "import sparsekit.kernels; print(sparsekit.kernels.warm())"
    for given in ("", str(tmp_path)):  # the second time, the kernels' own folder has them already
        environment = {**os.environ, "NUMBA_CACHE_DIR": given}
        done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, env=environment, text=True,
                              capture_output=True, timeout=400)
        assert done.returncode == 0, done.stderr
        assert int(done.stdout) > 5
    assert len(list(tmp_path.rglob("*.nbc"))) > 5
    refuse = "import numba.core.compiler as c\ndef refuse(*_, **__): raise SystemExit('compiled')\nc.compile_extra = refuse\n"
    lazy = "ignore:Optimizer with lazy_update = True detected"  # which the training is told, as any is
    done = subprocess.run([sys.executable, "-W", lazy, "-c", refuse + program + TRAINING], cwd=ROOT, env=environment, text=True,
                          capture_output=True, timeout=400)
    assert (done.returncode, done.stderr) == (0, "")  # all kernels are kept, those of the first training too
