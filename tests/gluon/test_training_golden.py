"""Short trainings of the tutorial's network, and losses, against what MXNet 1.9.1 computed step by step."""

import json
import warnings
from pathlib import Path

import numpy as np
import pytest

import sparsekit as mx
from sparsekit.demo.variants import FullyConnected, FullyConnectedSparse

GOLDEN = json.loads((Path(__file__).parents[1] / "golden" / "gluon_steps.json").read_text(encoding="utf-8"))
DATA, LABEL = (np.array(GOLDEN["inputs"][name], np.float32) for name in ("data", "label"))
INITIAL = [np.array(value, np.float32) for value in GOLDEN["inputs"]["initial"]]
BATCH = 5


def build(case):
    net = mx.gluon.nn.Sequential()
    sparse, width = case["kind"] == "sparse", DATA.shape[1]
    for number, units in enumerate((8, 4, 1)):
        first = sparse and number == 0
        layer = FullyConnectedSparse(width, units, case["grad_stype"]) if first else FullyConnected(width, units)
        net.add(layer, mx.gluon.nn.Activation("sigmoid"))
        width = units
    net.initialize()
    for layer, weight, bias in zip(net[::2], INITIAL[::2], INITIAL[1::2], strict=True):
        layer.weight.set_data(mx.nd.array(weight.T if layer is net[0] and sparse else weight))
        layer.bias.set_data(mx.nd.array(bias))
    return net


def label_of(case):
    options = " ".join(f"{name}={value}" for name, value in case["optimizer"].items())
    return f"{case['kind']}-{case['grad_stype']}-{options}"


@pytest.fixture(autouse=True)
def fallbacks_allowed():
    """Dense layers take csr batches by the fallback in MXNet; here it may warn."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", mx.base.StorageFallbackWarning)
        yield


@pytest.mark.parametrize("case", GOLDEN["cases"], ids=label_of)
def test_five_steps_give_the_losses_and_parameters_of_mxnet(case):
    net = build(case)
    trainer = mx.gluon.Trainer(net.collect_params(), "sgd", dict(case["optimizer"]))
    loss_function = mx.gluon.loss.SigmoidBinaryCrossEntropyLoss()
    rows = []
    for step, expected in enumerate(case["losses"]):
        part = slice(step * BATCH, (step + 1) * BATCH)
        with mx.autograd.record():
            loss = loss_function(net(mx.nd.array(DATA[part]).tostype("csr")), mx.nd.array(LABEL[part]))
        loss.backward()
        gradient = net[0].weight.grad()
        assert gradient.stype == case["grad_stype"]
        if gradient.stype == "row_sparse":
            rows.append(gradient.indices.asnumpy().tolist())
        trainer.step(BATCH)
        np.testing.assert_allclose(loss.asnumpy(), expected, rtol=2e-6)
    assert rows == case["gradient_rows"]
    final = [value.data().asnumpy() for layer in net[::2] for value in (layer.weight, layer.bias)]
    for value, expected in zip(final, case["final"], strict=True):
        np.testing.assert_allclose(value, np.array(expected), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("case", GOLDEN["inputs"]["losses"], ids=lambda case: f"{case['loss']}-{[*case['weights']]}")
def test_loss_has_the_value_and_gradient_of_mxnet(case):
    name, _, arguments = case["loss"].rstrip(")").partition("(")
    options = eval(f"dict({arguments})")
    given = case["weights"]
    weights = [given.get("sample_weight", given.get("third")), given.get("pos_weight", given.get("fourth"))]
    while weights and weights[-1] is None:
        weights.pop()
    loss_function = getattr(mx.gluon.loss, name)(**options)
    pred = mx.nd.array(case["pred"])
    pred.attach_grad()
    with mx.autograd.record():
        loss = loss_function(pred, mx.nd.array(case["label"]), *(weight and mx.nd.array(weight) for weight in weights))
    loss.backward()
    np.testing.assert_allclose(loss.asnumpy(), case["value"], rtol=1e-5, atol=3e-6)  # MXNet's softmax is good to 7e-6
    if "gradient" in case:
        atol = 1e-5 if name == "SDMLLoss" else 3e-6  # which has the softmax of distances, added up
        np.testing.assert_allclose(pred.grad.asnumpy(), case["gradient"], rtol=1e-5, atol=atol)
