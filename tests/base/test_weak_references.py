"""Weak references are listed without a crash while the garbage collector frees some of them, and cleared without Python code."""

from __future__ import annotations

import ast
import gc
import weakref
from pathlib import Path

import numpy as np
import pytest

import sparsekit as mx
from sparsekit.base.weak_references import Living, weak_references

PACKAGE = Path(mx.__file__).parent


def test_the_collector_does_not_run_between_counting_and_reading():
    """With ``weakref.getweakrefs``, CPython 3.11 reads a null pointer here."""
    held = np.zeros(3)
    mine = weakref.ref(held, print)
    before = gc.get_threshold()
    try:
        for _ in range(200):
            garbage = []
            garbage += [garbage, weakref.ref(held, repr), weakref.ref(held, repr)]
            del garbage
            gc.set_threshold(1)
            found = weak_references(held)
            gc.set_threshold(*before)
            assert mine in found
            assert gc.isenabled()
            del found
    finally:
        gc.set_threshold(*before)
    gc.disable()
    try:
        assert mine in weak_references(held)
        assert not gc.isenabled()
    finally:
        gc.enable()



class Subject:
    pass


def test_living_objects_are_held_as_long_as_they_live():
    living, one, two = Living[Subject](), Subject(), Subject()
    living.add(one)
    living.add(two)
    living.add(one)
    assert set(living) == {one, two}
    for _ in living:  # objects may come and go meanwhile
        living.add(three := Subject())
    assert set(living) == {one, two, three}
    assert one in living
    assert Subject() not in living
    del one, three, _
    assert set(living) == {two}


@pytest.mark.parametrize("path", sorted(PACKAGE.rglob("*.py")), ids=lambda path: str(path.relative_to(PACKAGE)))
def test_no_python_code_runs_when_a_watched_object_dies(path):
    """Python forgets a KeyboardInterrupt that arrives in the callbacks of these classes."""
    tree = ast.parse(path.read_text())
    names = {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
    names |= {alias.name for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) for alias in node.names}
    assert not names & {"WeakKeyDictionary", "WeakMethod", "WeakSet", "WeakValueDictionary"}
