"""Weak references are listed without a crash while the garbage collector frees some of them, and cleared without Python code."""

import ast
import gc
import weakref
from pathlib import Path

import numpy as np

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
            assert any(one is mine for one in found)  # an equal one is another reference to the array, which has no truth value
            assert gc.isenabled()
            del found
    finally:
        gc.set_threshold(*before)
    gc.disable()
    try:
        assert any(one is mine for one in weak_references(held))
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


def test_no_python_code_runs_when_a_watched_object_dies():
    """Python forgets a KeyboardInterrupt that arrives in the callbacks of these classes."""
    refused, wrong = ("WeakKeyDictionary", "WeakMethod", "WeakSet", "WeakValueDictionary"), []
    for path in PACKAGE.rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        for node in ast.walk(ast.parse(text)) if any(name in text for name in refused) else ():
            names = [alias.name for alias in node.names] if isinstance(node, ast.ImportFrom) else [getattr(node, "attr", "")]
            wrong += [f"{path}: {name}" for name in names if name in refused]
    assert wrong == []
