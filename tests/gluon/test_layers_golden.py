"""Layers, files of parameters and training on two contexts, against what MXNet 1.9.1 recorded."""

import base64
import json
import re
from pathlib import Path

import numpy as np
import pytest

import sparsekit as mx
from sparsekit.base.naming import NameManager

from .layer_nets import filled, network, of_layer, shared_network, stack, trained

GOLDEN = json.loads((Path(__file__).parents[1] / "golden" / "gluon_layers.json").read_text(encoding="utf-8"))
#: Whose gradient here is that of their own forward pass, which MXNet's is not, see DIFFERENCES.md.
OTHER_GRADIENT = {"nn.SELU()"}


def made(text):
    with NameManager():
        return eval(text, {"nn": mx.gluon.nn, "gluon": mx.gluon, "stack": stack})


@pytest.mark.parametrize("case", GOLDEN["cases"], ids=lambda case: case["layer"])
def test_layer_has_the_reprs_and_names_of_mxnet(case):
    block = made(case["layer"])
    assert repr(block) == case["before"]
    plain = re.sub(r"dtype=<class 'numpy\.float32'>", "dtype=float32", case["params"])  # ours is always a numpy dtype
    assert repr(block.collect_params()) == plain


@pytest.mark.parametrize("case", [case for case in GOLDEN["cases"] if "out" in case], ids=lambda case: case["layer"])
def test_layer_has_the_values_and_gradients_of_mxnet(case):
    found = of_layer(mx, made(case["layer"]), case)
    assert (found["x"], found["after"]) == (case["x"], case["after"])
    for name in ("out", "predicted"):
        close(found[name], case[name])
    if "x_grad" in case and case["layer"] not in OTHER_GRADIENT:
        close(found["x_grad"], case["x_grad"], 2e-5)
    assert list(found["grads"]) == list(case["grads"])
    for name, expected in case["grads"].items():
        gradient = found["grads"][name]
        assert (gradient["stype"], gradient.get("indices")) == (expected["stype"], expected.get("indices"))
        close(gradient["value"], expected["value"], 2e-5)
    for name, expected in case["fixed"].items():
        if name != "gamma" or "BatchNorm" not in case["layer"]:  # which MXNet sets to 1 where it is not learned
            close(found["fixed"][name], expected)


def close(found, expected, tolerance=1e-5):
    found = found.asnumpy() if hasattr(found, "asnumpy") else np.array(found)
    np.testing.assert_allclose(found, np.array(expected), rtol=tolerance, atol=tolerance)


# files


def written(tmp_path, name):
    path = tmp_path / name
    path.write_bytes(base64.b64decode(GOLDEN["files"][name]))
    return path


WAYS = {
    "save_parameters": (lambda net, path: net.save_parameters(path), lambda net, path: net.load_parameters(path)),
    "collected": (lambda net, path: net.collect_params().save(path), lambda net, path: net.collect_params().load(path)),
    "stripped": (lambda net, path: net.collect_params().save(path, strip_prefix="net_"),
                 lambda net, path: net.collect_params().load(path, restore_prefix="net_")),
    "stripped, old": (lambda net, path: net.collect_params().save(path, strip_prefix="net_"),
                      lambda net, path: net.load_parameters(path)),
}


@pytest.mark.parametrize("way", WAYS)
def test_files_are_mxnets_byte_for_byte_and_read_back(tmp_path, way):
    save, load = WAYS[way]
    theirs = written(tmp_path, way.partition(",")[0])
    save(filled(mx, network(mx)), tmp_path / "ours")
    assert (tmp_path / "ours").read_bytes() == theirs.read_bytes()
    net = network(mx)
    load(net, theirs)
    for name, parameter in filled(mx, network(mx)).collect_params().items():
        np.testing.assert_array_equal(net.collect_params()[name].data().asnumpy(), parameter.data().asnumpy())


@pytest.mark.parametrize("deduplicate", [False, True])
def test_shared_parameters_once_or_under_each_name(tmp_path, deduplicate):
    theirs = written(tmp_path, "deduplicated" if deduplicate else "shared")
    shared_network(mx).save_parameters(tmp_path / "ours", deduplicate=deduplicate)
    assert (tmp_path / "ours").read_bytes() == theirs.read_bytes()
    assert len(mx.nd.load(theirs)) == (2 if deduplicate else 4)
    net = shared_network(mx)
    net.collect_params().initialize(force_reinit=True)
    net.load_parameters(theirs)
    close(net[1].weight.data(), shared_network(mx)[1].weight.data().asnumpy())


def test_summary_is_mxnets(capsys):
    network(mx).summary(mx.nd.ones((2, 4)))
    assert capsys.readouterr().out == GOLDEN["files"]["summary"]


# two contexts


def label(case):
    return f"{'sparse' if case['sparse'] else 'dense'}-{case['optimizer']}-update_on_kvstore={case['update_on_kvstore']}"


@pytest.mark.parametrize("case", GOLDEN["trainings"], ids=label)
@pytest.mark.parametrize("kvstore", ["device", "local"])
def test_training_on_two_contexts_is_mxnets(case, kvstore):
    given = {name: case[name] for name in ("sparse", "optimizer", "options", "update_on_kvstore")}
    losses, weights = trained(mx, **given, kvstore=kvstore)
    np.testing.assert_allclose(losses, case["losses"], rtol=1e-4)
    for arrays in weights:
        for name, array in arrays.items():
            close(array, case["final"][name], 2e-5)
