"""Every public name of MXNet 1.9.1's gluon, with its signature, is here or absent with a reason."""

import importlib
import inspect
import json
from pathlib import Path

import pytest

GOLDEN = json.loads((Path(__file__).parents[1] / "golden" / "gluon_api.json").read_text(encoding="utf-8"))["modules"]

CONVOLUTION = "convolutions, pooling and image layers are not here"
GPUS = "it is for several GPUs"
NO_BACKENDS = {"optimize_for": "there are no backends to partition for",
               "infer_type": "parameters have the types that they were given; cast() changes them"}
#: Names of MXNet that are not here, by module or class, and why.
ABSENT = {
    "gluon.nn": {name: CONVOLUTION for name in GOLDEN["gluon.nn"]
                 if name.startswith(("Conv", "AvgPool", "MaxPool", "GlobalAvg", "GlobalMax", "ReflectionPad", "Deformable",
                                     "ModulatedDeformable"))},
    "gluon.contrib.nn": {"SyncBatchNorm": GPUS, **dict.fromkeys(("PixelShuffle1D", "PixelShuffle2D", "PixelShuffle3D"),
                                                               CONVOLUTION)},
    "HybridBlock": NO_BACKENDS, "SymbolBlock": NO_BACKENDS,
}
#: Names that another part of the library brings.
ELSEWHERE = {"gluon": {"data", "model_zoo", "rnn"}, "Parameter": {"var"}, "Constant": {"var"},
             "HybridBlock": {"export"}}
#: Defaults that are written in another way and mean the same: class or function, argument -> ours.
SAME = {("Parameter", "dtype"), ("PReLU", "alpha_initializer"), ("initialize", "init"), ("initialize", "default_init")}


def module_of(key):
    return importlib.import_module(f"sparsekit.{key}")


def named():
    return [(key, name) for key, names in GOLDEN.items() for name in names
            if name not in ABSENT.get(key, {}) and name not in ELSEWHERE.get(key, ())]


@pytest.mark.parametrize(("key", "name"), named(), ids=lambda word: word)
def test_the_name_is_here_with_its_signature(key, name):
    facts = GOLDEN[key][name]
    ours = getattr(module_of(key), name)
    if facts["kind"] == "function":
        compare(name, facts["signature"], ours)
    if facts["kind"] == "class":
        if facts["init"] is not None and name not in ("KVStore", "KVStoreBase"):  # which create() makes
            compare(name, facts["init"], ours)
        check_members(name, facts["members"], ours)


def check_members(name, members, ours):
    skipped = {*ABSENT.get(name, ()), *ELSEWHERE.get(name, ())}
    for member, signature in members.items():
        if member in skipped:
            continue
        assert hasattr(ours, member) or signature == "attribute", f"{name}.{member} is missing"
        if isinstance(signature, list) and member != "hybrid_forward":
            compare(member, signature, inspect.getattr_static(ours, member))


def compare(name, expected, function):
    """MXNet's arguments come first, under their names and with their defaults; more may follow, with defaults."""
    function = getattr(function, "__func__", function)
    found = list(inspect.signature(function).parameters.values())
    if found and found[0].name == "self":
        del found[0]
    expected = [one for one in expected if one[0] != "self"]
    ours = {one.name: one for one in found}
    takes_any = any(one.kind.name == "VAR_KEYWORD" for one in found)
    order = [one[0] for one in expected if one[1] == "POSITIONAL_OR_KEYWORD" and one[0] in ours]
    assert order == [one.name for one in found if one.name in order], f"{name}: another order"
    for argument, kind, default in expected:
        if kind.startswith("VAR_"):
            assert any(one.kind.name == kind for one in found), f"{name} lacks *{argument}"
            continue
        assert argument in ours or (takes_any and argument in ("prefix", "params")), f"{name} lacks the argument {argument}"
        if argument in ours and (name, argument) not in SAME:
            check_default(f"{name}({argument})", default, ours[argument].default)
    wanted = {one[0] for one in expected}
    for one in found:
        assert one.name in wanted or one.kind.name.startswith("VAR_") or one.default is not one.empty, f"{name}: {one} is extra"


def check_default(what, expected, ours):
    if expected[0] == "required":
        assert ours is inspect.Parameter.empty, what
    elif expected[0] == "value":
        given = list(ours) if isinstance(ours, tuple) else ours
        assert given == expected[1] or (expected[1] == [] and ours == ()), what


def test_what_is_called_absent_is_absent():
    for key, names in ABSENT.items():
        owner = module_of(key) if "." in key else getattr(module_of("gluon"), key)
        assert [name for name in names if hasattr(owner, name)] == []


def test_public_names_have_docstrings():
    for key in GOLDEN:
        module = module_of(key)
        for name in getattr(module, "__all__", ()):
            value = getattr(module, name)
            if inspect.isclass(value) or inspect.isfunction(value):
                assert inspect.getdoc(value), f"{key}.{name}"
