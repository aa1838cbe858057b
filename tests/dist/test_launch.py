"""What starts a run, as far as it needs no Ray; ``tests/dist_ray`` has the rest."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

import sparsekit as mx
from sparsekit.dist import launch
from sparsekit.dist.files import Snapshots
from sparsekit.dist.output import Outputs


def test_a_missing_ray_is_named_with_the_extra():
    if importlib.util.find_spec("ray") is not None:
        pytest.skip("Ray is installed")
    with pytest.raises(mx.MissingPackageError, match=r"'ray'(.|\n)*sparsekit\[dist\]"):
        mx.dist.run(int)


@pytest.mark.parametrize(("given", "named"), [
    ({"workers": 0}, "workers must be an integer of at least 1"), ({"servers": True}, "servers must be an integer of at least 1"),
    ({"workers": 1.5}, "workers must be an integer of at least 1"), ({"every": 0}, "every must be an integer of at least 1"),
    ({"every": "5"}, "every must be an integer of at least 1"), ({"seconds": -1}, "seconds must be a number of seconds above 0"),
    ({"staleness": -1}, "staleness must be"), ({"staleness": 1.5}, "staleness must be"),
    ({"timeout": float("nan")}, "timeout must be a number of seconds above 0"), ({"timeout": "10"}, "timeout must be"),
    ({"frozen_after": 0}, "frozen_after must be")])
def test_arguments_are_checked_before_anything_is_started(given, named):
    for start in (lambda **more: mx.dist.run(int, **more), mx.dist.connect):
        with pytest.raises(mx.DistError, match=named):
            start(**given)


@pytest.mark.parametrize(("start", "named"), [
    (lambda: mx.dist.run(int, restarts=-1), "restarts must be an integer of at least 0"),
    (lambda: mx.dist.run(int, restarts=True), "restarts must be an integer of at least 0"),
    (lambda: mx.dist.run(3), "fn must be callable"),
    (lambda: mx.dist.connect(rank=2, workers=2), "rank must be an integer of at most 1, got 2")])
def test_arguments_of_one_function_are_checked(start, named):
    with pytest.raises(mx.DistError, match=named):
        start()


def folder_of(*arguments):
    with launch.job_folder(*arguments) as found:
        return found


def test_lives_of_later_runs_in_a_folder_are_above_earlier_ones_and_draw_the_same_numbers(tmp_path):
    assert folder_of(tmp_path, None) == str(tmp_path)
    first, second = Snapshots(tmp_path), Snapshots(tmp_path)
    assert (first.life, second.life) == (1, 2)
    assert first.seed == second.seed


def test_a_temporary_folder_that_a_killed_run_has_left_goes_and_that_of_a_living_one_stays(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    left, young = tmp_path / "sparsekit-job-left", tmp_path / "sparsekit-job-young"
    for place in (left, young):
        place.mkdir()
        (place / "lock").touch()
    os.utime(left / "lock", (1, 1))
    with launch.job_folder(None, None) as place:
        os.utime(Path(place, "lock"), (1, 1))
        assert folder_of(None, None) != place
        assert sorted(tmp_path.iterdir()) == sorted([young, Path(place)])


def test_folders_that_do_not_fit(tmp_path):
    with pytest.raises(mx.DataFileError, match="There is no run to continue"):
        folder_of(tmp_path, True)
    (tmp_path / "step-000000005.1000001.json").touch()
    with pytest.raises(mx.DistError, match="There is a run in"):
        folder_of(tmp_path, False)
    assert folder_of(None, tmp_path) == str(tmp_path)


def test_other_machines_see_one_new_file_of_a_run(tmp_path):
    first, second = launch.new_token(str(tmp_path)), launch.new_token(str(tmp_path))
    assert [path.name for path in tmp_path.iterdir()] == [second] != [first]


def test_a_folder_serves_one_run_at_a_time(tmp_path):
    with launch.locked(tmp_path), pytest.raises(mx.DistError, match="in use by another run"), launch.locked(tmp_path):
        pass


def test_lines_of_workers_are_shown_whole_and_each_once(tmp_path, capsys):
    outputs = Outputs(tmp_path, 2)
    (tmp_path / "rank-1.out").write_bytes(b":actor_name:rank 1\nfirst\nhal")
    outputs.show()
    assert capsys.readouterr().out == "[rank 1] first\n"
    with (tmp_path / "rank-1.out").open("ab") as file:
        file.write(b"f\nlast")
    (tmp_path / "rank-0.err").write_bytes(b"\xff trouble\n")
    outputs.show()
    assert capsys.readouterr() == ("[rank 1] half\n", "[rank 0] \ufffd trouble\n")
    outputs.show(last=True)
    outputs.show(last=True)
    assert capsys.readouterr() == ("[rank 1] last\n", "")


def test_what_a_process_and_its_children_print_goes_to_the_files(tmp_path):
    program = ("import os, sys; from pathlib import Path; from sparsekit.dist.output import redirect\n"
               f"redirect(Path({str(tmp_path)!r}), 3); print('one'); print('two', file=sys.stderr); os.system('echo three')")
    subprocess.run([sys.executable, "-c", program], check=True)
    assert (tmp_path / "rank-3.out").read_text() == "one\nthree\n"
    assert (tmp_path / "rank-3.err").read_text() == "two\n"


def test_a_script_runs_as_python_would_run_it(tmp_path, monkeypatch, capsys):
    (tmp_path / "beside.py").write_text("value = 7\n")
    (tmp_path / "train.py").write_text("import sys, beside\nprint(__name__, sys.argv[1:], beside.value)\nsys.exit(0)\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["x"])
    monkeypatch.setattr(sys, "path", list(sys.path))
    launch.Script(str(tmp_path / "train.py"), ("a", "b"), str(tmp_path))()
    assert capsys.readouterr().out == "__main__ ['a', 'b'] 7\n"
