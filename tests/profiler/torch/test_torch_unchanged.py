"""A PyTorch program gives the same numbers to the bit, and leaves the same behind, with the profiler on as off."""

from __future__ import annotations

import contextlib
import gc
import os
import sys
import warnings
import weakref

import pytest

import sparsekit as mx
from sparsekit.profiler.torch_operators import is_torch


def network(torch):
    return torch.nn.Sequential(
        torch.nn.EmbeddingBag(500, 16, mode="sum"), torch.nn.Linear(16, 32), torch.nn.BatchNorm1d(32), torch.nn.Dropout(0.3),
        torch.nn.ReLU(), torch.nn.Linear(32, 5))


def trained(torch, optimizer):
    """Losses, parameters, gradients, states and the random state of some steps."""
    torch.manual_seed(3)
    model = network(torch)
    made = optimizer(model.parameters())
    losses = []
    for _ in range(4):
        made.zero_grad()
        tokens, labels = torch.randint(0, 500, (8, 6)), torch.randint(0, 5, (8,))
        loss = torch.nn.functional.cross_entropy(model(tokens), labels)
        loss.backward()
        made.step()
        losses.append(loss.detach())
    states = [value for state in made.state.values() for value in state.values() if isinstance(value, torch.Tensor)]
    return [*losses, *model.state_dict().values(), *[p.grad for p in model.parameters()], *states, torch.get_rng_state()]


@pytest.mark.parametrize("name", ["SGD", "Adam", "Adagrad", "RMSprop", "LBFGS"])
def test_training_gives_the_same_bits(torch, name):
    def optimizer(parameters):
        made = getattr(torch.optim, name)(parameters, lr=0.05)
        if name == "LBFGS":
            step = made.step
            made.step = lambda: step(lambda: sum((p * p).sum() for p in made.param_groups[0]["params"]))
        return made

    plain = trained(torch, optimizer)
    with mx.Profiler(torch=True) as prof:
        seen = trained(torch, optimizer)
    assert len(prof.records) > 100
    for before, after in zip(plain, seen, strict=True):
        assert torch.equal(before, after)


def test_gradients_are_not_copied_for_being_seen(torch):
    """Autograd takes over a gradient that nothing else holds: under the profiler it must not make another copy."""
    layer = torch.nn.Linear(300, 300, bias=False)
    with mx.Profiler(torch=True) as prof:
        layer(torch.ones(2, 300)).sum().backward()
        torch.ones(1)
    moved = [record["name"] for record in prof.records if record["lane"] == "backward"]
    assert not {"aten::clone", "aten::copy_"} & set(moved)
    assert sum(row["bytes"] for row in prof.memory["at_peak"] if row["shape"] == [300, 300]) == 2 * 300 * 300 * 4


def test_errors_are_the_programs_own_and_recording_goes_on(torch):
    with mx.Profiler(torch=True) as prof:
        with pytest.raises(RuntimeError, match="mat1 and mat2 shapes"):
            torch.ones(2, 3) @ torch.ones(2, 3)
        with pytest.raises(ZeroDivisionError):
            torch.nn.Sequential(_Failing(torch))(torch.ones(2))
        torch.nn.Linear(2, 2)(torch.ones(1, 2))
    names = [record["name"] for record in prof.records]
    assert "aten::mm" not in names
    assert names.count("aten::addmm") == 1
    assert next(record for record in prof.records if record["name"] == "aten::addmm")["layer"] == "Linear"


def _Failing(torch):
    class Failing(torch.nn.Module):
        def forward(self, given):
            raise ZeroDivisionError

    return Failing()


def operators(torch, seen):
    """A mode of PyTorch that notes which operators run."""
    from torch.utils._python_dispatch import TorchDispatchMode

    class Operators(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            seen.append(str(func))
            return func(*args, **(kwargs or {}))

    return Operators()


def test_other_modes_go_on_working_whichever_is_outside(torch):
    from torch.utils._python_dispatch import _get_current_dispatch_mode_stack, is_in_torch_dispatch_mode

    seen = []
    with mx.Profiler(torch=True) as prof, operators(torch, seen):
        torch.ones(2)
    assert seen == ["aten.ones.default"]
    with operators(torch, seen), mx.Profiler(torch=True) as inner:
        torch.ones(2)
    assert seen == ["aten.ones.default"] * 2
    assert [len([r for r in one.records if is_torch(r)]) for one in (prof, inner)] == [1, 1]
    below = mx.Profiler(torch=True)
    below.start()
    with operators(torch, seen):
        below.stop()  # before what was entered after it
        assert is_in_torch_dispatch_mode()
        torch.ones(2)
    assert seen == ["aten.ones.default"] * 3
    assert _get_current_dispatch_mode_stack() == []
    assert not is_in_torch_dispatch_mode()


def _layer(torch):
    return torch.nn.Sequential(torch.nn.Linear(20, 60), torch.nn.ReLU(), torch.nn.Linear(60, 30))


def _per_sample(torch, given):
    layer = _layer(torch)

    def loss(parameters, row):
        return torch.func.functional_call(layer, parameters, (row[None],)).square().sum()

    return list(torch.func.vmap(torch.func.grad(loss), (None, 0))(dict(layer.named_parameters()), given).values())


def _layers(torch, given):
    given, encoder = given[None].requires_grad_(), torch.nn.TransformerEncoderLayer
    made = [torch.nn.LSTM(20, 8)(given)[0], torch.nn.MultiheadAttention(20, 2)(given, given, given)[0],
            torch.nn.Conv1d(3, 2, 2)(given), encoder(20, 2, 16)(given), encoder(20, 2, 16).eval()(given)]
    sum(one.square().sum() for one in made).backward()
    return [*made, given.grad]


def _twice(torch, given):
    given.requires_grad_()
    (gradient,) = torch.autograd.grad(given.sin().sum(), given, create_graph=True)
    gradient.square().sum().backward()
    return [given.grad]


def _traced(torch, given):
    traced = torch.jit.trace(_layer(torch), given)
    return [traced(given), [node.kind() for node in traced.inlined_graph.nodes()]]


def _exported(torch, given):
    found = torch.export.export(_layer(torch), (given,))
    return [found.module()(given), str(found.graph)]


def _kept_elsewhere(torch, given):
    layer, packed = _layer(torch), []
    with torch.autograd.graph.saved_tensors_hooks(lambda kept: packed.append(kept.shape) or kept * 1, lambda kept: kept):
        result = layer(given)
    result.sum().backward()
    return [packed, *[parameter.grad for parameter in layer.parameters()]]


def _automatic_types(torch, given):
    layer = _layer(torch)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        result = layer(given)
    result.float().sum().backward()
    return [result, *[parameter.grad for parameter in layer.parameters()]]


def _compiled(torch, given):
    torch._dynamo.reset()
    layer = _layer(torch)
    result = torch.compile(layer, backend="aot_eager")(given)
    result.sum().backward()
    return [result, *[parameter.grad for parameter in layer.parameters()]]


def _ragged(torch, given):
    rows = torch.nested.nested_tensor([given[:1], given[1:]], layout=torch.jagged)
    return [(rows * 2).values(), torch.nested.to_padded_tensor(rows, 0.0)]


def _odd_types(torch, given):
    kinds = (torch.bool, torch.float8_e4m3fn, torch.bfloat16, torch.complex64, torch.uint16)
    quantized = torch.quantize_per_tensor(given, 0.1, 0, torch.quint8)
    return [*[torch.ones(6).to(kind).view(torch.uint8) for kind in kinds], quantized.dequantize(), given.to_mkldnn().to_dense()]


def _fused(torch, given):
    found = []
    for options in ({"foreach": True}, {"fused": True}):
        layer = _layer(torch)
        optimizer = torch.optim.AdamW(layer.parameters(), **options)
        layer(given).square().sum().backward()
        optimizer.step()
        found += layer.parameters()
    return found


@pytest.mark.parametrize("program", [
    _layers, _per_sample, _twice, _traced, _exported, _kept_elsewhere, _automatic_types, _compiled, _ragged, _odd_types, _fused])
@pytest.mark.filterwarnings("ignore")  # of PyTorch, whose own ways these programs use: some are to go
def test_programs_of_other_kinds_give_the_same_bits(torch, program):
    def run():
        torch.manual_seed(7)
        return [*program(torch, torch.randn(3, 20)), torch.get_rng_state()]

    plain = run()
    with mx.Profiler(torch=True) as prof:
        seen = run()
    assert all(torch.equal(one, other) if isinstance(one, torch.Tensor) else one == other
               for one, other in zip(plain, seen, strict=True))
    assert any(map(is_torch, prof.records))
    assert prof.marks == [], "everything could be described"


def test_what_the_profiler_computes_is_hidden_from_the_programs_own_modes(torch):
    from torch.overrides import TorchFunctionMode

    class Functions(TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            seen.append(getattr(func, "__name__", str(func)))
            return func(*args, **(kwargs or {}))

    def run(profiler):
        seen.clear()
        layer = torch.nn.Embedding(1000, 8)
        optimizer = torch.optim.SGD(layer.parameters(), lr=0.1)
        with Functions(), operators(torch, seen), profiler as prof:
            layer(torch.tensor([1, 2])).sum().backward()
            optimizer.step()
            if prof is not None:
                assert prof.table(of="gradients").rows[0]["most"] == 2
                assert prof._data().overhead >= 0
        return [name for name in seen if name not in ("__get__", "is_leaf")]

    seen = []
    assert run(mx.Profiler(torch=True)) == run(contextlib.nullcontext())


def test_sparse_tensors_are_read_unseen_by_the_programs_own_modes(torch):
    def run(outer, inner):
        seen.clear()
        layer = torch.nn.Embedding(1000, 8, sparse=True)
        optimizer = torch.optim.SparseAdam(layer.parameters())
        with outer, inner:
            layer(torch.tensor([1, 2])).sum().backward()
            optimizer.step()
            torch.eye(3).to_sparse_csr() @ torch.ones(3)
        return list(seen)

    seen = []
    plain = run(operators(torch, seen), contextlib.nullcontext())
    assert "aten.sparse_mask.default" in plain
    assert run(operators(torch, seen), mx.Profiler(torch=True)) == plain
    assert run(mx.Profiler(torch=True), operators(torch, seen)) == plain


def test_tensors_without_memory(torch):
    from torch._subclasses.fake_tensor import FakeTensorMode

    with mx.Profiler(torch=True) as prof:
        torch.ones(1000, 1000, device="meta") + 1
        with FakeTensorMode():
            torch.ones(1000, 1000) @ torch.ones(1000, 1000)
        torch.nn.LazyLinear(3)(torch.ones(2, 5))
    assert prof.memory["peak_bytes"] < 10_000
    assert prof.marks == [], "everything could be described"


def test_subclasses_of_tensors(torch):
    class Plain(torch.Tensor):
        pass

    class Wraps(torch.Tensor):
        @staticmethod
        def __new__(cls, inner):
            return torch.Tensor._make_wrapper_subclass(cls, inner.shape, dtype=inner.dtype)

        def __init__(self, inner):
            self.inner = inner

        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            return cls(func(*[one.inner if isinstance(one, Wraps) else one for one in args], **(kwargs or {})))

    with mx.Profiler(torch=True) as prof:
        plain = torch.ones(3).as_subclass(Plain) + 1
        wraps = Wraps(torch.ones(3)) + 1
    assert isinstance(plain, Plain)
    assert isinstance(wraps, Wraps)
    assert torch.equal(wraps.inner, torch.full((3,), 2.0))
    assert [record["name"] for record in prof.records].count("aten::add") == 2
    assert prof.marks == []


@pytest.mark.filterwarnings("error")
def test_modules_that_are_compiled_are_the_same_with_the_profiler_on(torch):
    from torch._dynamo.utils import counters

    given = torch.randn(3, 20)
    torch._dynamo.reset()
    counters.clear()
    before, filters = torch.compile(_layer(torch), backend="eager", fullgraph=True), list(warnings.filters)
    plain = before(given)
    with mx.Profiler(torch=True) as prof:
        assert torch.equal(before(given), plain)
        assert counters["stats"]["unique_graphs"] == 1, "nothing is compiled again"
        layer = torch.nn.Sequential(torch.nn.Linear(20, 7), torch.nn.Tanh())
        while_recorded = torch.compile(layer, backend="eager", fullgraph=True)
        seen = while_recorded(given)
    assert warnings.filters == filters
    assert torch.equal(seen, layer(given))
    assert torch.equal(while_recorded(given), seen)
    assert torch.equal(before(given), plain)
    assert prof.marks == []


def test_higher_order_operators(torch):
    from torch.utils.checkpoint import checkpoint

    weight = torch.ones(4, 4, requires_grad=True)

    def run():
        weight.grad = None
        result = checkpoint(lambda given: (given @ weight).sin().exp(), torch.ones(2, 4), use_reentrant=False)
        result.sum().backward()
        return weight.grad.clone()

    plain = run()
    with mx.Profiler(torch=True) as prof:
        assert torch.equal(run(), plain)
    assert [record["name"] for record in prof.records].count("aten::sin") == 2, "once again in the backward pass"


def test_nothing_is_kept_alive_or_left_behind(torch):
    from torch.nn.modules import module as modules
    from torch.optim import optimizer as optimizers
    from torch.utils._python_dispatch import _get_current_dispatch_mode_stack

    def hooks():
        return [len(found) for found in (modules._global_forward_pre_hooks, modules._global_forward_hooks,
                                         optimizers._global_optimizer_pre_hooks, optimizers._global_optimizer_post_hooks)]

    before, model = hooks(), network(torch)
    prof = mx.Profiler(torch=True)
    with contextlib.suppress(ZeroDivisionError), prof:
        result = model(torch.randint(0, 500, (8, 6)))
        references = [weakref.ref(result), weakref.ref(model), weakref.ref(next(model.parameters()))]
        del result, model
        gc.collect()
        assert [reference() for reference in references] == [None] * 3
        raise ZeroDivisionError
    assert hooks() == before
    assert _get_current_dispatch_mode_stack() == []
    assert prof.memory["samples"][-1][1] < 2000 * 4


def test_a_forked_worker_records_nothing_and_works(torch):
    data = torch.utils.data.TensorDataset(torch.arange(12.0).reshape(6, 2))
    with mx.Profiler(torch=True) as prof:
        rows = [batch for (batch,) in torch.utils.data.DataLoader(data, batch_size=2, num_workers=2,
                                                                  multiprocessing_context="fork")]
    assert torch.equal(torch.cat(rows), torch.arange(12.0).reshape(6, 2))
    assert "aten::stack" not in [record["name"] for record in prof.records], "it ran in the workers"


def test_pytorch_is_imported_only_when_asked_for():
    program = "import sys, sparsekit as mx\nwith mx.Profiler(): mx.nd.ones((2,))\nprint('torch' in sys.modules)"
    import subprocess

    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, env=os.environ)
    assert done.stdout.split() == ["False"]
