"""Every public name of some modules of MXNet 1.9.1, with its arguments and defaults, is here or absent for a reason."""

import functools
import inspect
import json
from pathlib import Path

import pytest

import sparsekit as mx

GOLDEN = json.loads((Path(__file__).parent / "golden" / "signatures.json").read_text(encoding="utf-8"))

#: Names that are not here, and why.
ABSENT = {f"gluon.contrib.rnn.Conv{dimensions}D{kind}Cell": "convolutions are not part of this library"
          for dimensions in "123" for kind in ("RNN", "LSTM", "GRU")}

#: Arguments that differ, and why.
OTHERWISE = {
    **{f"{name}.begin_state": "there are arrays to begin with, not symbols" for name in (
        "gluon.rnn.ModifierCell", "gluon.rnn.ZoneoutCell", "gluon.rnn.ResidualCell", "gluon.contrib.rnn.VariationalDropoutCell")},
    "gluon.rnn.SequentialRNNCell.hybrid_forward": "it is not a HybridBlock",
    "metric.PearsonCorrelation.reset_micro": "a helper of its own", "metric.PearsonCorrelation.update_cov": "a helper of its own",
    "metric.PearsonCorrelation.update_variance": "a helper of its own",
    "metric.register": "a method of a registry", "metric.alias": "a method of a registry",
    "initializer.alias": "a method of a registry", "initializer.register": "a method of a registry",
}


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
    if where.startswith("optimizer."):  # ours take more, such as lazy_update, and what **kwargs takes in MXNet by name
        found = [one for one in arguments(function) if not one[0].startswith("*")]
        wanted = [[RENAMED.get(name, name), default] for name, default in expected if not name.startswith("*")]
        assert found[:len(wanted)] == wanted, where
    elif where not in OTHERWISE:
        assert arguments(function) == expected, where


@pytest.mark.parametrize("case", GOLDEN["cases"], ids=lambda case: f"{case['module']}.{case['name']}")
def test_a_name_and_its_arguments(case):
    where = f"{case['module']}.{case['name']}"
    if where in ABSENT:
        with pytest.raises(AttributeError):
            found_at(case["module"], case["name"])
        return
    found = found_at(case["module"], case["name"])
    assert found.__doc__
    check(where, found.__init__ if "methods" in case else found, case["arguments"])
    for method, expected in case.get("methods", {}).items():
        if f"{where}.{method}" not in OTHERWISE and method != "set_lr_scale":  # which raises in MXNet
            check(f"{where}.{method}", getattr(found, method), expected)


def test_what_is_listed_is_recorded():
    """No reason outlives what it is for."""
    known = {f"{case['module']}.{case['name']}" for case in GOLDEN["cases"]}
    methods = {f"{case['module']}.{case['name']}.{method}" for case in GOLDEN["cases"] for method in case.get("methods", {})}
    assert set(ABSENT) <= known
    assert set(OTHERWISE) <= known | methods
