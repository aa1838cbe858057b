"""Processes that are forked from one which has only imported, and what stands for them."""

from __future__ import annotations

import os
import random
import sys

import pytest

from sparsekit.fixes import origin as module
from sparsekit.fixes.origin import Origin
from sparsekit.fixes.processes import Lost, asked
from tests.fixes import processes_of_tests as there


@pytest.mark.parametrize("way", ["forked", "where nothing forks", "after the origin was ended"])
def test_each_request_gets_a_process_of_its_own_in_this_folder_and_environment(way, monkeypatch, tmp_path):
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    monkeypatch.setattr(module, "can_fork", lambda: way != "where nothing forks")
    with Origin(["random", "json", "no_such_module"]) as origin:
        first = asked(there.place, ("MARK",), 60, origin.start)
        if way == "after the origin was ended":
            origin._process.kill()
            origin._process.wait()
        monkeypatch.setenv("MARK", "1")
        monkeypatch.chdir(tmp_path)
        second = asked(there.place, ("MARK",), 60, origin.start)
    assert [first.mark, second.mark] == [None, "1"]
    assert second.folder == str(tmp_path) != first.folder
    assert str(tmp_path) in second.path
    assert len({os.getpid(), first.process, second.process}) == 3
    assert first.numbers != second.numbers
    assert first.parent == os.getpid() if way == "where nothing forks" else first.parent != os.getpid()


def test_what_an_import_prints_is_no_answer(monkeypatch, tmp_path):
    (tmp_path / "prints.py").write_text("print(1)\nprint('two')\n")
    monkeypatch.setattr(sys, "path", [*sys.path, str(tmp_path)])
    with Origin(["prints"]) as origin:
        assert asked(there.place, ("MARK",), 60, origin.start).parent != os.getpid()


def test_an_import_that_ends_the_origin_ends_nothing_else(monkeypatch, tmp_path):
    (tmp_path / "ends_all.py").write_text("import os\nos._exit(3)\n")
    monkeypatch.setattr(sys, "path", [*sys.path, str(tmp_path)])
    with Origin(["ends_all"]) as origin:
        assert asked(there.place, ("MARK",), 60, origin.start).parent == os.getpid()


def test_a_process_that_ends_or_does_not_is_lost_and_the_next_one_answers():
    with Origin([]) as origin:
        with pytest.raises(Lost, match="ended without an answer, with status 7"):
            asked(os._exit, (7,), 60, origin.start)
        with pytest.raises(Lost, match=r"did not end within 0\.001 seconds"):
            asked(there.place, ("MARK",), 0.001, origin.start)
        assert asked(there.place, ("MARK",), 60, origin.start).parent != os.getpid()


def test_what_this_process_has_imported_of_libraries_is_imported_there():
    random.seed(0)
    with Origin(module.imported()) as origin:
        there_too = asked(there.modules, (), 60, origin.start)
    assert {"numpy", "sparsekit.ndarray"} <= set(there_too)
    assert not any(name.partition(".")[0] == "pytest" for name in there_too)
