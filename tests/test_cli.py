"""The command ``sparsekit``: exit statuses, messages, and what each command leaves behind."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path
from xml.etree import ElementTree

import pytest

import sparsekit as mx
from sparsekit import cli, doctor, lab
from sparsekit.base.errors import DataFileError, SparsekitError
from sparsekit.base.version import __version__
from sparsekit.kernels import why_numpy

SCRIPT = """
import sys
import sparsekit as mx
print("arguments", sys.argv[1:], "name", __name__)
mx.nd.dot(mx.nd.ones((2, 3)), mx.nd.ones((3, 4))).wait_to_read()
"""


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write(folder: Path, text: str, name: str = "train.py") -> str:
    (folder / name).write_text(textwrap.dedent(text), encoding="utf-8")
    return name


def operators(path: Path) -> list[str]:
    return [record["name"] for record in mx.profiler.load(path).records]


def sparsekit(*words: str, cwd: Path) -> subprocess.CompletedProcess:
    return subprocess.run([sys.executable, "-m", "sparsekit", *words], capture_output=True, text=True, cwd=cwd,
                          timeout=400)


def test_version_and_help(capsys):
    for words, said in ((["--version"], f"sparsekit {__version__}"), (["--help"], "doctor"),
                        (["demo", "--help"], "sparsekit demo"), (["bench", "--help"], "sparsekit bench")):
        with pytest.raises(SystemExit) as leaving:
            cli.main(words)
        assert leaving.value.code == 0
        assert said in capsys.readouterr().out


@pytest.mark.parametrize("words", [[], ["no-such-command"], ["profile"], ["view"], ["diff", "only-one.json"]])
def test_a_mistaken_command_line_is_explained_with_status_2(words, capsys):
    with pytest.raises(SystemExit) as leaving:
        cli.main(words)
    assert leaving.value.code == 2
    assert "usage: sparsekit" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["profile", "missing.py"], "There is no script missing.py."),
        (["profile", "-m", "no.such.module"], "There is no module no.such.module."),
        (["profile", "-m", "nosuchmodule"], "There is no module nosuchmodule."),
        (["profile", "-o", "run.txt", "train.py"], "for a Chrome trace, got 'run.txt'"),
        (["profile", "-o", "nowhere/run.json", "train.py"], "there is no folder nowhere"),
        (["profile", "--html", ".", "train.py"], "it is a folder"),
        (["view", "missing.json"], "There is no profile missing.json."),
        (["view", "train.py"], "'train.py' is not valid JSON"),
        (["lab", "--dir", "."], "There are no notebooks in ."),
    ],
)
def test_mistakes_are_one_error_with_a_hint(words, message, here, capsys):
    write(here, "raise SystemExit('it ran')")
    assert cli.main(words) == 2
    said = capsys.readouterr().err
    assert said.startswith("error: ")
    assert message in said
    assert "Hint: " in said
    assert [path.name for path in here.iterdir()] == ["train.py"]


def test_profile_runs_the_script_as_python_would_and_writes_the_profile(here):
    done = sparsekit("profile", write(here, SCRIPT), "--depth", "3", cwd=here)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "arguments ['--depth', '3'] name __main__\n"
    assert "dot" in operators(here / "train.npz")
    assert "Sparse arrays that silently became dense:\n\nnone" in done.stderr
    missing = sparsekit("profile", "missing.py", cwd=here)
    assert (missing.returncode, "Traceback" in missing.stderr) == (2, False)


WASTE = """
import numpy as np
import sparsekit as mx
x = mx.nd.array(np.eye(40, 5000)).tostype("csr")
for _ in range(3):
    (x + 1).sum()
"""


def test_profile_prints_lines_the_ledger_and_advice_and_the_report_has_them(here, capsys):
    assert cli.main(["profile", "-o", "run.json", "--html", "run.html", write(here, WASTE)]) == 0
    said = capsys.readouterr().err
    assert "By line:" in said
    ledger = said[said.index("Sparse arrays that silently became dense:"):]
    (row,) = [line for line in ledger.splitlines() if line.startswith("_plus_scalar ")]
    assert "dense by nature  train.py:6  csr   default  40 × 5000" in row
    assert "800 kB      3 " in row
    advice = ledger[ledger.index("Advice:"):]
    assert "1. It takes a csr array of 40×5000" in advice
    assert "_plus_scalar (forward) at train.py:6, 3 times" in advice
    assert "sum" in [event["name"] for event in json.loads((here / "run.json").read_text())["traceEvents"]]
    page = (here / "run.html").read_text(encoding="utf-8")
    for words in ("Became dense", "dense by nature", "Advice", "It takes a csr array of 40×5000"):
        assert words in page
    assert 'src="http' not in page


@pytest.mark.parametrize(
    ("ending", "status", "said"),
    [
        ("sys.exit()", 0, ""),
        ("sys.exit(7)", 7, ""),
        ("sys.exit('out of cheese')", 1, "out of cheese"),
        ("{}['cheese']", 1, "KeyError: 'cheese'"),
        ("raise KeyboardInterrupt", 130, "Interrupted."),
    ],
)
def test_however_a_script_ends_its_record_is_written(ending, status, said, here, capfd):
    assert cli.main(["profile", write(here, SCRIPT + ending)]) == status
    assert "dot" in operators(here / "train.npz")
    error = capfd.readouterr().err
    assert said in error
    assert "runpy" not in error


def test_a_script_that_fails_before_anything_was_recorded_has_no_empty_tables(here, capfd):
    assert cli.main(["profile", write(here, "import not_there\n")]) == 1
    *trace, said, written = capfd.readouterr().err.splitlines()
    assert trace[0].startswith("Traceback")
    assert trace[-1] == "ModuleNotFoundError: No module named 'not_there'"
    assert said == "Nothing was recorded before the script ended with status 1."
    assert written == "Wrote train.npz"


def test_a_script_without_operators_is_told_what_is_recorded(here, capfd):
    assert cli.main(["profile", write(here, "total = 1 + 1\n")]) == 0
    said, written = capfd.readouterr().err.splitlines()
    assert said.startswith("No operator of sparsekit ran while this was recorded.")
    assert written == "Wrote train.npz"


def test_profile_leaves_the_process_as_it_was(here, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["kept"])
    path = list(sys.path)
    cli.main(["profile", write(here, SCRIPT)])
    assert (sys.argv, sys.path) == (["kept"], path)


def test_view_writes_a_page_beside_the_profile(here, capsys):
    cli.main(["profile", "-o", "run.npz", write(here, SCRIPT)])
    assert cli.main(["view", "run.npz"]) == 0
    assert capsys.readouterr().out.endswith("Wrote run.html\n")
    assert "dot" in (here / "run.html").read_text(encoding="utf-8")
    assert cli.main(["view", "run.npz", "-o", "picture.svg"]) == 0
    assert ElementTree.parse(here / "picture.svg").getroot().tag.endswith("svg")


def test_lab_becomes_jupyterlab_at_the_first_notebook(here, monkeypatch):
    monkeypatch.setattr(cli, "sign_course", lambda folder: [])
    monkeypatch.setenv("JUPYTER_CONFIG_PATH", "before")
    for name in ("02_b.ipynb", "01_a.ipynb"):
        write(here, "{}", name)
    called = []
    monkeypatch.setattr(cli.os, "execv", lambda *given: called.append(given))
    monkeypatch.setattr(cli.os, "geteuid", lambda: 1000)
    cli.open_lab(cli.build_parser().parse_args(["lab", "--dir", str(here), "--port", "8890", "--no-browser"]))
    assert called == [(sys.executable, [
        sys.executable, "-m", "jupyterlab", f"--ServerApp.root_dir={here}", "--LabApp.default_url=/lab/tree/01_a.ipynb",
        "--ServerApp.port=8890", "--no-browser"])]


def test_lab_signs_the_notebooks_of_the_course_and_no_others(here, monkeypatch):
    """In the user's own database of signatures, where JupyterLab looks."""
    nbformat = pytest.importorskip("nbformat")
    sign = pytest.importorskip("nbformat.sign")
    for name in ("JUPYTER_DATA_DIR", "JUPYTER_CONFIG_DIR"):
        monkeypatch.setenv(name, str(here / "not" / "there" / name))
    (here / "slides").mkdir()
    for name in ("01_a.ipynb", "slides/talk.ipynb", "thesis.ipynb"):
        output = nbformat.v4.new_output("display_data", data={"text/html": f"<b>{name}</b>"})
        cell = nbformat.v4.new_code_cell("1", outputs=[output])
        nbformat.write(nbformat.v4.new_notebook(cells=[cell]), here / name)
    for name, content in (("02_b.ipynb", b"{}"), ("03_c.ipynb", b"no notebook"), ("04_d.ipynb", b"[1]"), ("05_e.ipynb", b"\xff")):
        (here / name).write_bytes(content)
    assert lab.sign_course(here) == [here / "01_a.ipynb", here / "slides" / "talk.ipynb"]
    with sign.NotebookNotary(data_dir=str(here / "not" / "there" / "JUPYTER_DATA_DIR")) as notary:
        trusted = [notary.check_signature(nbformat.read(here / name, as_version=4))
                   for name in ("01_a.ipynb", "slides/talk.ipynb", "thesis.ipynb")]
    assert trusted == [True, True, False]


def test_lab_opens_the_course_where_it_cannot_sign(here, monkeypatch, capsys):
    pytest.importorskip("nbformat")
    write(here, "", "file")
    write(here, '{"cells": [], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}', "01_a.ipynb")
    monkeypatch.setenv("JUPYTER_DATA_DIR", str(here / "file" / "data"))
    monkeypatch.setenv("JUPYTER_CONFIG_DIR", str(here / "config"))
    assert lab.sign_course(here) == []
    assert "could not be signed" in capsys.readouterr().out


def test_jupyterlab_reads_the_defaults_that_lab_passes(monkeypatch):
    settings = pytest.importorskip("jupyterlab_server.settings_utils")
    monkeypatch.setenv("JUPYTER_CONFIG_PATH", str(lab.JUPYTER))
    overrides, _ = settings._get_overrides("")
    (known,) = Path(sys.prefix).glob("share/jupyter/labextensions/@jupyter-widgets/jupyterlab-manager/schemas/**/plugin.json")
    for name in overrides["@jupyter-widgets/jupyterlab-manager:plugin"]:
        assert name in json.loads(known.read_text(encoding="utf-8"))["properties"]


class Distribution:
    """What pip notes down of where a package is from."""

    def __init__(self, text):
        self.text = text

    def read_text(self, name):
        assert name == "direct_url.json"
        return self.text


def origin(folder, editable):
    return json.dumps({"url": folder.as_uri(), "dir_info": {"editable": True} if editable else {}})


def test_lab_finds_the_course_of_an_editable_checkout_from_elsewhere(shipped, monkeypatch, tmp_path):
    monkeypatch.setattr(lab, "SHIPPED", shipped / "nothing")
    checkout = tmp_path / "a check+out"
    (checkout / "notebooks").mkdir(parents=True)
    (checkout / "notebooks" / lab.FIRST_NOTEBOOK).write_text("{}")
    monkeypatch.setattr(lab, "distribution", lambda name: Distribution(origin(checkout, True)))
    assert cli.course_folder(None) == checkout / "notebooks"
    assert str(checkout) in doctor.course_finding().value
    assert list(shipped.iterdir()) == []
    wheel = '{"url": "https://host/sparsekit.whl", "archive_info": {}}'
    for text in (origin(checkout, False), origin(shipped, True), None, wheel):
        monkeypatch.setattr(lab, "distribution", lambda name, text=text: Distribution(text))
        assert lab.find_course() is None

    def missing(name):
        raise lab.PackageNotFoundError(name)

    monkeypatch.setattr(lab, "distribution", missing)
    assert lab.find_course() is None


def test_lab_takes_the_notebooks_of_a_checkout(monkeypatch):
    root = Path(__file__).resolve().parents[1]
    monkeypatch.chdir(root)
    assert cli.course_folder(None) == root / "notebooks"
    assert cli.start_notebook(root / "notebooks").name == lab.FIRST_NOTEBOOK
    assert "opens 0" in doctor.course_finding().value


@pytest.fixture
def shipped(tmp_path, monkeypatch):
    """A package that brings a course of two notebooks, and an empty current folder."""
    (tmp_path / "shipped" / "slides").mkdir(parents=True)
    for name in (lab.FIRST_NOTEBOOK, "01_b.ipynb", "slides/c.ipynb"):
        (tmp_path / "shipped" / name).write_text("{}")
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    monkeypatch.setattr(lab, "SHIPPED", tmp_path / "shipped")
    return tmp_path / "here"


@pytest.mark.parametrize("given", [None, "mine", "new/inner"])
def test_lab_copies_the_course_once_and_keeps_what_was_worked_on(shipped, given):
    assert "2 notebooks; `sparsekit lab` copies them" in doctor.course_finding().value
    folder = cli.course_folder(given and Path(given))
    assert folder == shipped / (given or lab.COPY)
    assert sorted(path.name for path in folder.rglob("*.ipynb")) == [lab.FIRST_NOTEBOOK, "01_b.ipynb", "c.ipynb"]
    (folder / lab.FIRST_NOTEBOOK).write_text("changed")
    assert cli.course_folder(given and Path(given)) == folder
    assert (folder / lab.FIRST_NOTEBOOK).read_text() == "changed"
    assert [path.name for path in folder.parent.iterdir()] == [folder.name]


def test_lab_writes_over_nothing_and_leaves_nothing_half_written(shipped, monkeypatch):
    (shipped / "mine").mkdir()
    (shipped / "mine" / "thesis.txt").write_text("years of work")
    with pytest.raises(DataFileError, match=r"There are no notebooks in mine\."):
        cli.course_folder(Path("mine"))

    def fail(*given, **more):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(lab.shutil, "copytree", fail)
    with pytest.raises(DataFileError, match="No space left on device"):
        cli.course_folder(Path("other"))
    assert [path.name for path in shipped.iterdir()] == ["mine"]


def test_without_a_course_lab_says_where_one_is(shipped, monkeypatch):
    monkeypatch.setattr(lab, "SHIPPED", shipped / "nothing")
    monkeypatch.setattr(lab, "distribution", lambda name: Distribution(None))
    with pytest.raises(DataFileError, match="in the checkout"):
        cli.course_folder(None)
    assert "checkout" in doctor.course_finding().remedy


@pytest.mark.parametrize(
    ("file", "page"),
    [("run.npz", "run.html"), ("run.trace.json.gz", "run.html"), ("run.json", "run.html"), ("a.b.json.gz", "a.b.html"),
     ("plain", "plain.html")],
)
def test_the_page_is_named_after_the_file(file, page):
    assert cli.page_beside(Path("folder") / file) == Path("folder") / page


def test_errors_and_interruption_have_their_statuses(monkeypatch, capsys):
    def fail(words):
        raise SparsekitError("no", hint="yes")

    def interrupt(words):
        raise KeyboardInterrupt

    monkeypatch.setattr(cli, "run", fail)
    assert cli.main([]) == 2
    assert capsys.readouterr().err == "error: no\nHint: yes\n"
    monkeypatch.setattr(cli, "run", interrupt)
    assert cli.main([]) == 130
    assert "Traceback" not in capsys.readouterr().err


def test_control_c_ends_a_command_without_a_traceback(here):
    write(here, "import time\nprint('ready', flush=True)\ntime.sleep(60)")
    process = subprocess.Popen([sys.executable, "-m", "sparsekit", "profile", "train.py"], cwd=here, text=True,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdout.readline() == "ready\n"
    time.sleep(0.1)
    process.send_signal(signal.SIGINT)
    _, error = process.communicate(timeout=400)
    assert process.returncode == 130
    assert "Traceback" not in error
    assert (here / "train.npz").exists()


def test_doctor_reports_every_part_and_is_content_here(capsys, monkeypatch):
    monkeypatch.setattr(doctor, "LAYER", "print('a layer')")  # what stands there takes numba ten seconds to compile
    assert doctor.main([]) == 0
    said = capsys.readouterr().out
    for name in ("a layer", "sparsekit", "python", "numpy", "numba", "kernels", "threads", "memory", "gpu", "chromium"):
        assert name in said
    assert f"{__version__}\n" in said
    assert f"in numpy, since {why_numpy()}\n" in said if why_numpy() else "numba's compile and run\n" in said


def test_doctor_names_the_remedy_of_what_is_missing(capsys, monkeypatch):
    finding = doctor.package_finding("no-such-package", "python -m pip install it", needed=True)
    assert doctor.line(finding) == f"! {'no-such-package':<22}not installed\n  {'':<22}python -m pip install it"
    monkeypatch.setattr(doctor, "examine", lambda: iter([finding]))
    assert doctor.main([]) == 1
    monkeypatch.setattr(doctor, "examine", lambda: iter([finding._replace(needed=False)]))
    assert doctor.main([]) == 0
    assert "\n- no-such" in capsys.readouterr().out


def test_doctor_survives_a_probe_that_crashes_or_hangs():
    assert doctor.ask("import os; os.abort()")[0] is False
    assert doctor.ask("import time; time.sleep(60)", seconds=0.5) == (False, "no answer in 0.5 s")
    assert doctor.ask("1 / 0") == (False, "ZeroDivisionError: division by zero")


def test_chromium_is_found_where_the_variable_says(tmp_path, monkeypatch):
    program = tmp_path / "my-chromium"
    program.write_text("#!/bin/sh\n", encoding="utf-8")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    for value, found in ((program, str(program)), (tmp_path / "absent", None), ("", None)):
        monkeypatch.setenv("SPARSEKIT_CHROMIUM", str(value))
        assert doctor.find_chromium() == found
    assert doctor.INSTALL_CHROMIUM in doctor.line(doctor.chromium_finding())


def test_profile_runs_a_module_as_python_would(here):
    (here / "package").mkdir()
    (here / "package" / "__init__.py").write_text("")
    (here / "package" / "helper.py").write_text("factor = 2\n")
    write(here / "package", SCRIPT + "from . import helper; print(helper.factor, sys.argv[0].endswith('train.py'))")
    done = sparsekit("profile", "-m", "package.train", "--depth", "3", cwd=here)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == ["arguments ['--depth', '3'] name __main__", "2 True"]
    assert "dot" in operators(here / "package.train.npz")


@pytest.fixture
def two_profiles(here):
    """Two profiles: a sum of one array, and of two."""
    for name, number in (("before", 1), ("after", 2)):
        script = f"import sparsekit as mx\nfor _ in range({number}):\n    mx.nd.sum(mx.nd.ones((20, 30))).wait_to_read()\n"
        assert cli.main(["profile", "-o", f"{name}.npz", write(here, script, f"{name}.py")]) == 0
    return here


def test_diff_says_what_changed_and_ends_with_status_1_if_asked(two_profiles, capsys):
    capsys.readouterr()
    assert cli.main(["diff", "before.npz", "after.npz"]) == 0
    said = capsys.readouterr().out
    for words in ("sum", "1 → 2", "Calls 2.00×", "mx.profiler.compare interleaves runs of both"):
        assert words in said
    assert cli.main(["diff", "--exit-code", "before.npz", "after.npz"]) == 1
    assert cli.main(["diff", "--exit-code", "before.npz", "before.npz"]) == 0
    assert "No change in calls or bytes" in capsys.readouterr().out


def test_diff_of_several_runs_is_per_run_and_has_a_page(two_profiles, capsys):
    more = [word for _ in range(4) for word in ("--before", "before.npz", "--after", "after.npz")]
    assert cli.main(["diff", "before.npz", "after.npz", *more, "--html", "diff.html"]) == 0
    said = capsys.readouterr().out
    for words in ("1 → 2", "Median recorded time of a run", "Wrote diff.html"):
        assert words in said
    page = (two_profiles / "diff.html").read_text(encoding="utf-8")
    assert "http://" not in page.replace("http://www.w3.org/", "")
    assert "1 → 2" in page


@pytest.mark.parametrize(("words", "message"), [
    (["before.npz", "missing.json"], "There is no profile missing.json."),
    (["before.npz", "before.py"], "before.py"),
    (["before.npz", "after.npz", "--html", "nowhere/diff.html"], "there is no folder nowhere"),
    (["before.npz", "after.npz", "--rows", "0"], "--rows must be at least 1, got 0"),
])
def test_what_cannot_be_compared_is_one_error_with_a_hint(two_profiles, capsys, words, message):
    capsys.readouterr()
    assert cli.main(["diff", *words]) == 2
    said = capsys.readouterr()
    assert (said.out, message in said.err, "Hint: " in said.err) == ("", True, True)


def test_doctor_says_where_compiled_kernels_are_kept(tmp_path, monkeypatch):
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "made" / "later"))
    assert doctor.cache_finding() == doctor.Finding("compiled kernels", "kept in NUMBA_CACHE_DIR")
    monkeypatch.setattr(doctor.os, "access", lambda *_: False)
    found = doctor.cache_finding()
    assert "again in every process" in found.value
    assert "NUMBA_CACHE_DIR" in found.remedy


def test_doctor_heeds_a_small_machine():
    assert doctor.memory_finding(8 << 30) == doctor.Finding("memory", "8.0 GiB free")
    assert doctor.memory_finding(1 << 30).remedy


def test_doctor_finds_the_kernel_that_runs_notebooks():
    assert doctor.kernelspec_finding().remedy == ""
