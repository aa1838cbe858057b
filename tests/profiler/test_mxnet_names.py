"""MXNet's profiler module: every name with its parameters, as recorded from MXNet itself."""

import inspect
import json
import warnings
from pathlib import Path

import pytest

from sparsekit import profiler
from sparsekit.base.errors import ProfilerError, UnknownNameError, UnsupportedError
from sparsekit.profiler import api

GOLDEN = json.loads((Path(__file__).parents[1] / "golden" / "profiler_api.json").read_text())["names"]


def parameters(function):
    return [[name, "<required>" if parameter.default is parameter.empty else parameter.default]
            for name, parameter in inspect.signature(function).parameters.items() if parameter.kind is not parameter.VAR_KEYWORD]


@pytest.mark.parametrize("name", GOLDEN)
def test_names_and_parameters_are_those_of_mxnet(name):
    found, wanted = getattr(profiler, name), GOLDEN[name]
    if wanted["kind"] == "function":
        assert parameters(found) == wanted["parameters"]
        return
    for method, signature in wanted["methods"].items():
        assert parameters(getattr(found, method)) == signature, method


@pytest.mark.parametrize(("old", "arguments"), [
    ("profiler_set_config", ()), ("profiler_set_state", ("stop",))])
def test_old_names_warn_as_in_mxnet(old, arguments):
    with pytest.warns(DeprecationWarning, match=rf"profiler\.{old}\(\) is deprecated\. Please use"):
        getattr(profiler, old)(*arguments)


def test_every_setting_is_explained_and_taken(monkeypatch):
    monkeypatch.setattr(api, "_config", dict(api._config))
    for name, (default, what) in api.SETTINGS.items():
        assert len(what) > 10
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            profiler.set_config(**{name: default})


def test_settings_have_mxnets_defaults():
    mxnets = {"filename": "profile.json", "profile_all": False, "profile_symbolic": True, "profile_imperative": True,
              "profile_memory": True, "dump_period": 1.0, "aggregate_stats": False, "profile_process": "worker"}
    assert {name: api.SETTINGS[name][0] for name in mxnets} == mxnets


@pytest.mark.parametrize(("settings", "error"), [
    ({"profile_everything": True}, UnknownNameError), ({"filename": "trace.txt"}, ProfilerError),
    ({"profile_process": "server"}, UnsupportedError), ({"profile_process": "scheduler"}, UnknownNameError)])
def test_settings_that_cannot_be_are_errors(settings, error):
    with pytest.raises(error):
        profiler.set_config(**settings)
