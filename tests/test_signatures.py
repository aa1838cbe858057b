"""Every public name of some modules of MXNet 1.9.1, with its arguments and defaults, is here or absent for a reason."""

import functools
import inspect
import json
from pathlib import Path

import pytest

import sparsekit as mx
from sparsekit.compat import names

GOLDEN = json.loads((Path(__file__).parent / "golden" / "signatures.json").read_text(encoding="utf-8"))

#: Arguments that differ, and why.
OTHERWISE = {
    "gluon.rnn.SequentialRNNCell.hybrid_forward": "it is not a HybridBlock",
    **{f"metric.PearsonCorrelation.{name}": "a helper of its own" for name in ("reset_micro", "update_cov", "update_variance")},
    **{f"{module}.{name}": "a method of a registry" for module in ("initializer", "metric") for name in ("alias", "register")},
    **{f"gluon.{name}.initialize": "None stands for Uniform()" for name in ("Block", "Parameter", "ParameterDict")},
    **dict.fromkeys(("executor.Executor", "kvstore.KVStore", "symbol.symbol.Symbol"), "other functions make these"),
}

#: Modules whose functions may take more than MXNet's, such as lazy_update, and what **kwargs takes in MXNet by name.
MORE = ("optimizer.", "gluon.Hybrid", "gluon.Symbol", "gluon.nn.", "gluon.loss.", "gluon.contrib.nn.", "gluon.contrib.estimator.",
        "symbol.")

#: Arguments of optimizers that have another name here.
RENAMED = {"klass": "cls", "states": "states_"}


def found_at(module, name):
    return functools.reduce(getattr, [*module.split("."), name], mx)


def arguments(function):
    def default(parameter):
        if parameter.default is inspect.Parameter.empty:
            return "required"
        value = parameter.default
        named = callable(value) or inspect.ismodule(value)
        return getattr(value, "__name__", type(value).__name__) if named else repr(value)

    return [[("*" * {"VAR_POSITIONAL": 1, "VAR_KEYWORD": 2}.get(one.kind.name, 0)) + one.name, default(one)]
            for one in inspect.signature(function).parameters.values() if one.name != "self"]


def check(where, function, expected):
    if where in OTHERWISE or [name for name, _ in expected] == ["*args", "**kwargs"]:
        return
    found = arguments(function)
    if where.startswith(MORE):
        stars = [{name.count("*") for name, _ in one} for one in (expected, found)]
        assert stars[0] <= {0, *stars[1]} or where.startswith("symbol.symbol.Symbol."), where
        found = [one for one in found if not one[0].startswith("*")]
        expected = [[RENAMED.get(name, name), default] for name, default in expected if not name.startswith("*")]
        if not where.startswith("symbol.symbol.Symbol."):  # operators as methods have all their attributes
            assert "required" not in [default for _, default in found[len(expected):]], where
            found = found[:len(expected)]
        found = [one for one in found if one in expected]
    assert found == expected, where


@pytest.mark.parametrize("case", GOLDEN["cases"], ids=lambda case: f"{case['module']}.{case['name']}")
def test_a_name_and_its_arguments(case):
    where = f"{case['module']}.{case['name']}"
    if names.kind_of(where) is not None:
        with pytest.raises(AttributeError):
            found_at(case["module"], case["name"])
        return
    found = found_at(case["module"], case["name"])
    assert found.__doc__
    check(where, found.__init__ if "members" in case else found, case["arguments"])
    for name, expected in case.get("members", {}).items():
        path = f"{where}.{name}"
        if names.kind_of(path) is not None:
            assert not hasattr(found, name)
        elif expected == "property":
            assert isinstance(inspect.getattr_static(found, name), property), path
        elif path not in OTHERWISE:
            check(path, getattr(found, name), expected)


def test_what_is_listed_is_recorded():
    """No reason outlives what it is for."""
    known = {f"{case['module']}.{case['name']}" for case in GOLDEN["cases"]}
    methods = {f"{case['module']}.{case['name']}.{name}" for case in GOLDEN["cases"] for name in case.get("members", {})}
    assert set(OTHERWISE) <= known | methods
