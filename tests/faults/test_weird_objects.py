"""Objects of every kind in the place of every argument: whatever they are, the error is one of the library's."""

from __future__ import annotations

from pathlib import Path

import programs

PROGRAM = Path(__file__).with_name("weird.py").read_text(encoding="utf-8")


def test_weird_objects_for_constructors_and_readers():
    """Each argument meets six of the objects."""
    done = programs.run(PROGRAM, "0", "1", "6", "3", memory=4000 * programs.MIB, timeout=400)
    assert done.check().splitlines() == ["done"], done.stderr[-300:]
