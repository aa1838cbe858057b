"""Every public name of MXNet 1.9.1's symbols is here with its parameters, or listed with the reason why not."""

from __future__ import annotations

import inspect
import json
import re
from pathlib import Path

import pytest

import sparsekit as mx

FACTS = json.loads((Path(__file__).parents[1] / "golden" / "symbol_api.json").read_text(encoding="utf-8"))
CLASSES = {"Symbol": mx.sym.Symbol, "Executor": mx.sym.Executor}
ANYTHING = [["args", "VAR_POSITIONAL", ""], ["kwargs", "VAR_KEYWORD", ""]]

#: Attributes that an executor gets when it is made.
MADE = {("Executor", name) for name in ("arg_arrays", "grad_arrays", "aux_arrays", "outputs")}

ABSENT = {
}

#: Modules' functions: pattern -> reason.
ABSENT_FUNCTIONS = {
    r".*([Cc]onvolution|Pooling|Sampl|Spatial|GridGenerator|Correlation|Upsampl|UpSampl|ROI|MultiBox|Proposal|Resize2D|box_|bipartite)"
    r".*|AdaptiveAvgPooling2D|count_sketch|hawkesll|fft|ifft": "convolutions, pooling, image and detection operators",
    r"(de|re)?quantize.*|calibrate_entropy": "quantization",
    r"dgl_.*|edge_id": "graph sampling", r"interleaved_matmul_.*": "fused attention", r"BatchNormWithReLU|SyncBatchNorm":
        "batch norms of several machines and fused ones", r"backward_.*": "gradients that MXNet shows by accident",
    r"check_call": "not an operator", r"uniform": "an alias of random.uniform",
}


def parameters(member):
    return [[one.name, one.kind.name, "" if one.default is one.empty else repr(one.default).replace("sparsekit", "mxnet")]
            for one in inspect.signature(member).parameters.values()]


@pytest.mark.parametrize(("owner", "name"), [(owner, name) for owner in CLASSES for name in FACTS[owner]])
def test_methods_are_there_with_their_parameters(owner, name):
    if f"{owner}.{name}" in ABSENT:
        assert not hasattr(CLASSES[owner], name)
        return
    expected = FACTS[owner][name]
    if (owner, name) in MADE and not hasattr(CLASSES[owner], name):
        executor = mx.sym.Variable("x").simple_bind(mx.cpu(), x=(1,))
        assert isinstance(getattr(executor, name), list)
        return
    member = inspect.getattr_static(CLASSES[owner], name)
    if expected == "property":
        assert isinstance(member, property)
    elif expected[1:] != ANYTHING:
        ours = parameters(getattr(CLASSES[owner], name))
        # Operators as methods have all their attributes beside those that MXNet names.
        keywords = [one for one in expected[1:] if one[1] != "VAR_KEYWORD"]
        assert [one for one in ours if one in keywords] == keywords
        if expected[-1][1] != "VAR_KEYWORD":
            assert ours == expected


@pytest.mark.parametrize("name", FACTS["functions"])
def test_functions_have_their_parameters(name):
    ours = [one for one in parameters(getattr(mx.sym, name)) if one[0] != "profiler_scope"]  # MXNet 2 has that
    assert ours == FACTS["functions"][name]


@pytest.mark.parametrize("module", FACTS["modules"])
def test_modules_have_their_functions(module):
    holder = getattr(mx.sym, module) if module else mx.sym
    missing = [name for name in FACTS["modules"][module] if not hasattr(holder, name)]
    unexplained = [name for name in missing if not any(re.fullmatch(pattern, name) for pattern in ABSENT_FUNCTIONS)]
    assert not unexplained
    for name in set(FACTS["modules"][module]) - set(missing):
        assert callable(getattr(holder, name))


def test_backends_are_refused_by_name():
    for call in (lambda: mx.sym.Variable("x").optimize_for("MKLDNN"), lambda: mx.sym.Variable("x").get_backend_symbol("MKLDNN")):
        with pytest.raises(mx.UnsupportedError, match="MKLDNN"):
            call()


def test_every_operator_is_a_function_with_a_docstring_and_a_signature():
    for name in ("FullyConnected", "dot", "concat", "BatchNorm", "_plus_scalar", "SoftmaxOutput"):
        function = getattr(mx.sym, name)
        assert "Storage types" in function.__doc__
        assert "name" in inspect.signature(function).parameters
    assert list(inspect.signature(mx.sym.FullyConnected).parameters)[:4] == ["data", "weight", "bias", "num_hidden"]
    assert "fully_connected" not in dir(mx.sym)
    assert {"FullyConnected", "sparse", "Variable"} <= set(dir(mx.sym))
    assert {"gemm2", "det"} <= set(dir(mx.sym.linalg))
    with pytest.raises(AttributeError):
        _ = mx.sym.no_such_operator
    with pytest.raises(AttributeError):
        _ = mx.sym.linalg.no_such_operator
