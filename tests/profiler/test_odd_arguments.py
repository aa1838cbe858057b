"""Every parameter of every public function, given values of every kind: what is no answer is refused in words.

The parameters come from the signatures, so that a new one is tried too.
"""

import functools
import inspect

import numpy as np
import pytest

import sparsekit as mx
from sparsekit import profiler
from sparsekit.base.errors import InternalError, SparsekitError
from sparsekit.profiler.profile import Profile
from sparsekit.profiler.turns import Comparison, Turn
from sparsekit.profiler.what_if import what_if


class _Fails:
    """No value at all: whatever reads it fails."""

    def __repr__(self):
        raise RuntimeError("no text")


TEXTS = ["x", "", "\ud800", "x" * 200, "a\nb"]
FLAGS = [True, False, np.True_]
WHOLES = [-1, 0, 1, 10**30, np.int64(3)]
NUMBERS = [-2.5, float("nan"), float("inf"), np.float32(1.5), *WHOLES]
OTHERS = [None, b"x", [1], ["x"], {}, {"x": -1}, {"x": None}, object(), _Fails(), lambda: 0, int, 1j, np.array([1, 2]), (2, 1)]
VALUES = {"text": TEXTS, "flag": FLAGS, "number": NUMBERS, "other": OTHERS}

#: What an annotation may mean; every other kind of value is an error where the annotation is one of these alone.
MEANT = {"str": "text", "bool": "flag", "int": "number", "float": "number", "int | None": "number", "bool | None": "flag"}

#: What is noted or stored as it is.
ANYTHING = {("set_kvstore_handle", "handle"), ("marker", "value")}


@pytest.fixture(scope="module")
def calls(tmp_path_factory):
    """By name: a function that makes the callable, and arguments with which it works."""
    folder = tmp_path_factory.mktemp("odd")
    with mx.Profiler() as prof:
        with profiler.scope("layer"):
            made = mx.nd.ones((4, 3)).tostype("csr") + 1
        made.wait_to_read()
    saved = str(prof.save(folder / "run.npz"))
    domain = profiler.Domain("d")
    compared = Comparison(["a", "b"], [1, 1], [[Turn(place, 1.0) for place in (0, 1, 1, 0)]] * 9, 0.99, [])
    found = {"compare": (profiler.compare, {"programs": {"a": int, "b": int}, "rounds": 8, "turn": 1e-9, "profile": False}),
             "diff": (profiler.diff, {"before": prof, "after": prof}), "expect": (profiler.expect, {}),
             "load": (profiler.load, {"path": saved}), "merge": (profiler.merge, {"profiles": [prof]}),
             "schedule": (profiler.schedule, {"wait": 1, "warmup": 1, "active": 1}),
             "what_if": (functools.partial(what_if, prof), {}),
             "Comparison.__getitem__": (compared.__getitem__, {"name": "a"}), "WhatIf.table": (prof.what_if().table, {}),
             "Diff.table": (prof.diff(prof).table, {}), "Diff.save": (prof.diff(prof).save, {"path": folder / "d.html"}),
             "RunMemory.figure": (prof.memory.figure, {}), "Profiler": (mx.Profiler, {})}
    given = {"Domain": {"name": "d"}, "Event": {"name": "e"}, "set_config": {}, "dump_profile": {},
             **{name: {"domain": domain, "name": "x"} for name in ("Counter", "Frame", "Marker", "Task")},
             "set_kvstore_handle": {"handle": None}}
    for name in profiler.__all__:
        if name not in found and name not in ("Profile", "active"):
            found[name] = getattr(profiler, name), given.get(name, {})
    needed = {"diff": {"other": prof}, "process": {"name": "x"}, "save": {"path": folder / "a.npz"}, "span": {"name": "s"},
              "marker": {"name": "m"}, "counter": {"name": "c", "value": 1}}
    for owner, one in ((Profile, prof), (mx.Profiler, mx.Profiler())):
        for name, method in vars(owner).items():
            if not name.startswith("_") and inspect.isfunction(method) and name not in ("what_if", "try_fixes"):
                found[name] = getattr(one, name), needed.get(name, {})
    for cls in (profiler.Counter, profiler.Marker, profiler.Domain):
        one = cls(domain, "x") if cls is not profiler.Domain else domain
        for name, method in vars(cls).items():
            if not name.startswith("_") and inspect.isfunction(method):
                found[f"{cls.__name__}.{name}"] = getattr(one, name), {"name": "n"} if "name" in inspect.signature(
                    method).parameters else {parameter: 1 for parameter in inspect.signature(method).parameters
                                             if parameter in ("value", "delta")}
    return found


def outcome(function, arguments):
    """None if it works, the error in words if one of ours says what to do, and else a failure."""
    try:
        made = function(**arguments)
    except SparsekitError as error:
        if isinstance(error, InternalError) or "failed with these arguments" in str(error) or "Hint: " not in str(error):
            raise RuntimeError(f"not said in words: {error}") from error
        return str(error)
    for shown in (repr(made), getattr(made, "finding", ""), getattr(made, "title", "")):
        str(shown).encode("utf-8")  # what is shown can be written
    return None


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_values_of_every_kind_are_taken_or_refused_in_words(calls, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    tried, wrong = 0, []
    for name, (function, arguments) in calls.items():
        for parameter in inspect.signature(function).parameters.values():
            if parameter.kind in (parameter.VAR_KEYWORD, parameter.VAR_POSITIONAL):
                continue
            meant = MEANT.get(str(parameter.annotation))
            for kind, values in VALUES.items():
                for value in values:
                    tried += 1
                    try:
                        said = outcome(function, {**arguments, parameter.name: value})
                    except Exception as error:
                        wrong.append(f"{name}({parameter.name}={kind} {type(value).__name__}): {error!r}"[:300])
                        continue
                    optional = value is None and (parameter.default is None or "None" in str(parameter.annotation))
                    if said is None and meant not in (None, kind) and not optional and (name, parameter.name) not in ANYTHING:
                        wrong.append(f"{name}({parameter.name}={kind} {type(value).__name__}) is taken")
    profiler.set_state("stop")
    assert tried > 2000
    assert not wrong, "\n".join(wrong)
