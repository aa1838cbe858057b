"""Advice for PyTorch: what it says is code that runs on a twin of the layer and the optimizer, in PyTorch's own words."""

from __future__ import annotations

import contextlib
import importlib
import inspect
import re

import pytest

import sparsekit as mx
from sparsekit.profiler.first_look import first_look, nothing_to_see

pytestmark = pytest.mark.filterwarnings("ignore:Sparse invariant checks:UserWarning")  # of tensors made here

ROWS, WIDTH = 2000, 8

#: Words of MXNet, which PyTorch does not know.
FOREIGN = re.compile(r"grad_stype|tostype|row_sparse|stype|lazy_update|index_dtype|csr_matrix|load_libsvm|hybridize|asscalar"
                     r"|asnumpy|net\.cast|sparse_grad|Embedding\(…|MXNet|gluon|\bnd\.|NDArray|…")

#: Calls in an advice.
CALL = re.compile(r"(?:torch\.nn\.functional|nn|torch\.optim)\.\w+\((?:[^()]|\([^()]*\))*\)")


def trained(torch, layer, optimizer=None, between=None, look=None, steps=2):
    """The profile of a layer that looks 40 numbers up, and its advice about its gradient."""
    module = layer() if callable(layer) else layer
    numbers = torch.randint(ROWS, (8, 5))
    made = optimizer(module.parameters() if isinstance(module, torch.nn.Module) else [module]) if optimizer else None
    with mx.Profiler(torch=True) as prof:
        for _ in range(steps):
            if made is not None:
                made.zero_grad()
            (look or (lambda module, numbers: module(numbers)))(module, numbers).square().sum().backward()
            if between is not None:
                between(module)
            if made is not None:
                made.step()
    return prof, [one for one in prof.advice() if one.rule == "zero_rows"]


def runs(torch, advice, options=None):
    """Whether the code of an advice, and an optimizer of these options if it names none, trains a twin."""
    calls, numbers = CALL.findall(advice), torch.tensor([[1, 2], [2, 3]])
    layer = next(call for call in calls if "nn." in call)
    if layer.startswith("nn."):
        twin = eval(layer, {"nn": torch.nn})
        assert twin.sparse
        weight, rows = twin.weight, twin(numbers)
    else:
        weight = torch.ones(ROWS, 4, requires_grad=True)
        rows = eval(layer, {"torch": torch, "weight": weight, "numbers": numbers})
    named = next((call for call in calls if call.startswith("torch.optim.")), None)
    optimizer = eval(named, {"torch": torch, "weight": weight}) if named else options([weight])
    rows.sum().backward()
    assert weight.grad.is_sparse
    optimizer.step()


def optimizers(torch):
    """Every optimizer of PyTorch, alone and with each option that it has."""
    extra = {"weight_decay": 0.1, "momentum": 0.9, "nesterov": True, "maximize": True, "amsgrad": True, "foreach": True,
             "fused": True, "capturable": True, "lr_decay": 0.1, "dampening": 0.5, "centered": True}
    for name in torch.optim.__all__ if hasattr(torch.optim, "__all__") else dir(torch.optim):
        kind = getattr(torch.optim, name)
        known = isinstance(kind, type) and issubclass(kind, torch.optim.Optimizer)
        if not known or name in ("Optimizer", "LBFGS", "SparseAdam"):
            continue
        yield kind, {}
        for option, value in extra.items():
            if option in inspect.signature(kind).parameters:
                yield kind, {option: value, **({"momentum": 0.9} if option in ("nesterov", "dampening") else {})}


def test_what_is_advised_with_every_optimizer_runs_and_what_is_refused_is_not_advised(torch):
    advised = set()
    for kind, options in optimizers(torch):
        def make(given, kind=kind, options=options):
            return kind(given, lr=0.1, **options)
        try:
            prof, found = trained(torch, lambda: torch.nn.Embedding(ROWS, WIDTH), make)
        except (RuntimeError, ValueError, TypeError, AssertionError):
            continue  # the program itself does not run
        assert prof.table(of="gradients").rows[0]["most"] <= 40
        for one in found:
            runs(torch, one.remedy, make)
            advised.add((kind.__name__, *options))
    assert {("SGD",), ("SGD", "maximize"), ("SGD", "foreach"), ("SGD", "fused"), ("Adagrad",), ("Adagrad", "lr_decay"),
            ("Adam",), ("Adam", "maximize")} <= advised
    assert not {one for one in advised if one[0] in ("RMSprop", "NAdam", "RAdam", "Adadelta", "Rprop", "ASGD", "Adafactor")}
    assert not {one for one in advised if {"weight_decay", "momentum", "amsgrad"} & set(one)}


@pytest.mark.parametrize(("layer", "options", "advised"), [
    ("Embedding", {}, True), ("Embedding", {"padding_idx": 3}, True), ("Embedding", {"max_norm": 1.0}, True),
    ("Embedding", {"scale_grad_by_freq": True}, False),
    ("EmbeddingBag", {"mode": "sum"}, True), ("EmbeddingBag", {"mode": "mean"}, True), ("EmbeddingBag", {"mode": "max"}, False),
    ("EmbeddingBag", {"mode": "sum", "padding_idx": 3}, True), ("EmbeddingBag", {"mode": "sum", "max_norm": 1.0}, True),
    ("EmbeddingBag", {"mode": "sum", "scale_grad_by_freq": True}, False),
], ids=str)
def test_what_is_advised_for_a_layer_keeps_its_options_and_runs(torch, layer, options, advised):
    def sgd(given):
        return torch.optim.SGD(given, 0.1)
    for optimizer in (sgd, None):
        _, found = trained(torch, lambda: getattr(torch.nn, layer)(ROWS, WIDTH, **options), optimizer)
        assert len(found) == advised
        for one in found:
            runs(torch, one.remedy, sgd)
            twin = eval(CALL.findall(one.remedy)[0], {"nn": torch.nn})
            assert {name: getattr(twin, name) for name in options} == options


@pytest.mark.parametrize(("between", "advised"), [
    (lambda torch, module: torch.nn.utils.clip_grad_norm_(module.parameters(), 1.0), False),
    (lambda torch, module: torch.nn.utils.clip_grad_value_(module.parameters(), 1.0), False),
    (lambda torch, module: module.weight.grad.add_(torch.rand(ROWS, WIDTH)), False),
    (lambda torch, module: module.weight.grad.norm().item(), True),
    (lambda torch, module: module.weight.grad.mul_(0.5), True),
], ids=["norm clipped", "values clipped", "noise", "norm read", "scaled"])
def test_what_the_program_does_to_a_gradient_must_be_possible_with_a_sparse_one(torch, between, advised):
    _, found = trained(torch, lambda: torch.nn.Embedding(ROWS, WIDTH), lambda given: torch.optim.SGD(given, 0.1),
                       lambda module: between(torch, module))
    assert len(found) == advised


def test_an_optimizer_of_the_users_own_is_tried_too(torch):
    class Keeping(torch.optim.SGD):
        def step(self, closure=None):
            self.state[0].setdefault("gradients", []).extend(p.grad for group in self.param_groups for p in group["params"])
            return super().step(closure)

    def make(kind):
        return lambda given: kind(given, lr=0.1)
    assert trained(torch, lambda: torch.nn.Embedding(ROWS, WIDTH), make(type("Own", (torch.optim.SGD,), {})))[1]
    assert not trained(torch, lambda: torch.nn.Embedding(ROWS, WIDTH), make(Keeping))[1], "it keeps more with every step"


def test_trying_changes_nothing_of_the_program(torch):
    from torch.optim.optimizer import register_optimizer_step_pre_hook

    calls = []
    handle = torch.nn.modules.module.register_module_forward_hook(lambda *given: calls.append("forward"))
    hook = register_optimizer_step_pre_hook(lambda *given: calls.append("step"))
    try:
        torch.manual_seed(3)
        trained(torch, lambda: torch.nn.Embedding(ROWS, WIDTH), lambda given: torch.optim.Adam(given, 0.1))
        after = torch.get_rng_state()
    finally:
        handle.remove()
        hook.remove()
    torch.manual_seed(3)
    torch.nn.Embedding(ROWS, WIDTH)
    torch.randint(ROWS, (8, 5))
    assert calls == ["forward", "step"] * 2
    assert torch.equal(after, torch.get_rng_state())


def programs(torch):
    """A program for each rule that PyTorch's events can meet."""
    def sgd(given):
        return torch.optim.SGD(given, 0.1)

    def weight():
        return torch.nn.Parameter(torch.ones(ROWS, WIDTH))
    dense = torch.rand(40, ROWS) * (torch.rand(40, ROWS) < 0.003)
    csr, coo, hardly = dense.to_sparse_csr(), dense.to_sparse(), torch.rand(200, 200).to_sparse()

    def profiled(work, times=4):
        with mx.Profiler(torch=True) as prof:
            for _ in range(times):
                work()
        return prof
    library = {"__name__": "torch.of_a_test"}
    exec(compile("def to_dense(given):\n    return given.to_dense()\n", "torch_of_a_test.py", "exec"), library)
    embedding = torch.nn.Embedding(98, 64, sparse=True)
    yield "zero_rows", trained(torch, weight, sgd, look=lambda w, numbers: torch.sparse.mm(csr, w))[0]
    yield "zero_rows", trained(torch, weight, sgd, look=lambda w, numbers: coo @ w)[0]
    yield "zero_rows", trained(torch, weight, sgd, look=lambda w, numbers: w[numbers])[0]
    yield "zero_rows", trained(torch, weight, sgd, look=lambda w, numbers: torch.nn.functional.embedding(numbers, w))[0]
    yield "zero_rows", trained(torch, lambda: torch.nn.Linear(ROWS, 4), sgd, look=lambda layer, numbers: layer(dense[:3]))[0]
    yield "full_rows", profiled(lambda: embedding(torch.randint(98, (300,))).sum().backward(), 1)
    yield "became_dense", profiled(lambda: library["to_dense"](coo))
    yield "dense_by_nature", profiled(lambda: torch.sub(torch.ones(40, ROWS), coo))
    yield "wide_indices", profiled(lambda: csr.matmul(torch.ones(ROWS, 1)))
    yield "hardly_sparse", profiled(lambda: hardly.mul(2))
    yield "double_precision", trained(torch, lambda: torch.nn.Linear(400, 40).double(), sgd,
                                      look=lambda layer, numbers: layer(torch.ones(2, 400).double()))[0]
    yield "repeated_conversion", profiled(lambda: dense.to_sparse_csr())


def test_no_rule_speaks_of_mxnet_to_a_program_of_pytorch_and_code_compiles(torch):
    met = set()
    for rule, prof in programs(torch):
        said = list(prof.advice())
        met |= {one.rule for one in said}
        for one in said:
            assert not FOREIGN.search(f"{one.reason} {one.remedy} {one.lesson} {one.where}"), one
            for call in CALL.findall(one.remedy):
                compile(call, "advice", "eval")
            if one.rule == "zero_rows":
                runs(torch, one.remedy, lambda given: torch.optim.SGD(given, 0.1))
        if rule not in ("dense_by_nature", "wide_indices"):  # there, the bytes of other things may matter more
            assert rule in {one.rule for one in said}, rule
    assert "dense_gradient" not in met


def test_the_dense_product_behind_the_gradient_of_a_sparse_matrix_is_told_and_csr_has_none(torch):
    def said(layout):
        made = torch.rand(300, 300).lt(0.01).float().to_sparse() if layout == "coo" else (
            torch.rand(300, 300).lt(0.01).float().to_sparse_csr())
        matrix, given = made.requires_grad_(True), torch.rand(300, 8, requires_grad=True)
        with mx.Profiler(torch=True) as prof:
            torch.sparse.mm(matrix, given).sum().backward()
        return [one for one in prof.advice() if one.rule == "masked_product"]
    (found,) = said("coo")
    assert "300×300 is a dense product, 360 kB" in found.reason
    assert "to_sparse_csr()" in found.remedy
    assert said("csr") == []


def multiplied(torch, make, product=lambda matrix, weight: matrix @ weight, steps=3):
    """What is advised for a matrix of a product, and where to look first."""
    weight = torch.rand(300, 8, requires_grad=True)
    matrix = make()
    with mx.Profiler(torch=True) as prof:
        for _ in range(steps):
            product(matrix if steps > 1 else make(), weight).sum().backward()
    return [one for one in prof.advice() if one.rule == "zero_operand"], first_look(prof)


def zeros(torch, share=0.005, sizes=(300, 300)):
    return torch.rand(*sizes, generator=torch.Generator().manual_seed(0)).lt(share).float()


@pytest.mark.parametrize("product", [
    lambda matrix, weight: matrix @ weight, lambda matrix, weight: (weight.t() @ matrix).t(),
    lambda matrix, weight: matrix.t() @ weight], ids=["left", "right", "transposed"])
def test_a_matrix_that_every_step_multiplies_and_that_is_mostly_zero_is_told_in_code_that_runs(torch, product):
    (found,), first = multiplied(torch, lambda: zeros(torch), product)
    assert re.search(r"300×300, 360 kB, is multiplied in every step, and 0[.]\d % of it is not zero", found.reason)
    assert found.where.startswith("product at test_torch_advice.py:")
    assert first.line.startswith("test_torch_advice.py:")
    assert first.bytes == 300 * 300 * 4
    assert first.needed < first.bytes / 10
    matrix, weight = zeros(torch), torch.rand(300, 8, requires_grad=True)
    names = {"matrix": matrix}
    exec(re.search(r"matrix = matrix[.]to_sparse\w*[(][)]", found.remedy)[0], names)
    assert names["matrix"].layout is not torch.strided
    made = product(names["matrix"], weight)
    made.sum().backward()
    torch.testing.assert_close(made, product(matrix, weight))
    assert (names["matrix"].values().numel(), first.needed) == (int(matrix.count_nonzero()), first.needed)


@pytest.mark.parametrize(("make", "product", "steps"), [
    (lambda torch: zeros(torch, 0.2), lambda matrix, weight: matrix @ weight, 3),
    (lambda torch: zeros(torch, sizes=(100, 300))[:, :], lambda matrix, weight: matrix.clone() @ weight, 3),
    (lambda torch: zeros(torch, sizes=(900, 300)), lambda matrix, weight: matrix[100:200] @ weight, 3),
    (lambda torch: zeros(torch).requires_grad_(), lambda matrix, weight: matrix @ weight, 3),
    (zeros, lambda matrix, weight: matrix @ weight, 1),
    (zeros, lambda matrix, weight: (matrix.tanh() + matrix @ weight[:, :1]) @ weight, 4),
    (zeros, lambda matrix, weight: matrix.roll(1, 0).copy_(matrix.mul_(2)) @ weight + matrix @ weight, 2)],
    ids=["full", "new in each step", "a piece of data", "trained", "one step", "other operators", "written to"])
def test_a_matrix_that_is_full_new_trained_written_to_or_used_otherwise_gets_no_advice(torch, make, product, steps):
    found, _ = multiplied(torch, lambda: make(torch), product, steps)
    assert found == []


def test_a_matrix_that_einsum_multiplies_is_told_with_the_product_that_takes_a_sparse_one(torch):
    (found,), first = multiplied(torch, lambda: zeros(torch), lambda matrix, weight: torch.einsum("ij,jk->ik", matrix, weight))
    assert first.bytes == 300 * 300 * 4
    assert first.moved > 0.3
    for remedy in (found.remedy, first.remedy):
        assert "to_sparse_csr()" in remedy
        assert "torch.einsum and products with a batch of matrices refuse it" in remedy
    assert "torch.einsum" not in multiplied(torch, lambda: zeros(torch))[1].remedy
    matrix, weight = zeros(torch), torch.rand(300, 8)
    torch.testing.assert_close(matrix.to_sparse_csr() @ weight, torch.einsum("ij,jk->ik", matrix, weight))


@pytest.mark.parametrize("product", [
    lambda torch, matrix, weight: matrix @ weight, lambda torch, matrix, weight: torch.einsum("ij,jk->ik", matrix, weight),
    lambda torch, matrix, weight: torch.nn.functional.linear(matrix, weight.t(), torch.zeros(8))], ids=["@", "einsum", "linear"])
@pytest.mark.parametrize("steps", [1, 4])
def test_a_program_without_backward_is_told_of_its_matrix_that_is_mostly_zero(torch, product, steps):
    for mode in (torch.no_grad, torch.inference_mode):
        matrix, weight = zeros(torch), torch.rand(300, 8)
        with mx.Profiler(torch=True) as prof, mode():
            for _ in range(steps):
                product(torch, matrix, weight)
        first = first_look(prof)
        stored = int(matrix.count_nonzero())
        assert (first.bytes, first.needed) == (300 * 300 * 4, stored * 12 + 301 * 8)
        assert f"a matrix of 300 × 300 with {stored} values that are not zero is dense" in str(first)
        assert "once with to_sparse_csr()" in first.remedy
        assert first.moved > 0.7
        with mx.Profiler(torch=True) as prof, mode():
            product(torch, zeros(torch, 0.2), weight)
        assert first_look(prof) is None
        assert "No input matrix of 65.5 kB or more that was multiplied was 98.0 % zero." in nothing_to_see(prof)


def test_batches_that_are_mostly_zero_are_told_with_the_remedy_of_the_gradient_that_they_give(torch):
    layer = torch.nn.Linear(4000, 4)
    with mx.Profiler(torch=True) as prof:
        for step in range(3):
            batch = torch.zeros(32, 4000)
            batch[range(32), range(step, 32 + step)] = 1.0
            layer(batch).square().sum().backward()
    first = first_look(prof)
    assert "a matrix of 32 × 4,000 with 32 values that are not zero, one of 3 that this line multiplies, is dense" in str(first)
    assert (first.bytes, first.needed) == (32 * 4000 * 4, 32 * 12 + 33 * 8)
    assert "nn.EmbeddingBag(4000, 4, mode='sum', sparse=True)" in first.remedy
    assert [one for one in prof.advice() if one.rule == "zero_operand"] == []


def test_sampled_neighbours_are_told_as_one_matrix_of_a_line_though_their_number_varies(torch):
    weight = torch.rand(1600, 8, requires_grad=True)
    with mx.Profiler(torch=True) as prof:
        for step in range(5):
            neighbours = torch.zeros(64, 1500 + 7 * step)
            neighbours[range(64), range(step, 64 + step)] = 1.0
            neighbours.mm(weight[:1500 + 7 * step]).square().sum().backward()
    first = first_look(prof)
    assert " with 64 values that are not zero, one of 5 that this line multiplies, is dense" in str(first)
    assert first.bytes in {64 * (1500 + 7 * step) * 4 for step in (0, 1, 3)}, "the first, second and fourth are counted"


def test_an_input_that_only_one_batch_of_several_leaves_empty_is_not_told_of(torch):
    layer = torch.nn.Linear(4000, 4)
    with mx.Profiler(torch=True) as prof:
        for share in (0.001, 0.5, 0.001, 0.001):
            layer(torch.rand(32, 4000).lt(share).float()).square().sum().backward()
    assert first_look(prof) is None


def test_gradients_of_one_shape_share_what_is_moved_and_have_the_line_that_reads_them(torch):
    left, right = (torch.rand(ROWS, WIDTH, requires_grad=True) for _ in range(2))
    optimizer = torch.optim.Adagrad([left, right], lr=0.1)
    with mx.Profiler(torch=True) as prof:
        for _ in range(3):
            optimizer.zero_grad()
            loss = (left[torch.arange(5)] * right[torch.arange(9)[4:]]).sum()  # the line of both
            loss.backward()
            optimizer.step()
    first = first_look(prof)
    lines = inspect.getsource(inspect.getmodule(inspect.currentframe())).splitlines()
    assert first.line == f"test_torch_advice.py:{next(number for number, line in enumerate(lines, 1) if '# the line of' in line)}"
    assert 0.4 < first.moved < 0.51


def by_autograd(torch, table, look, steps):
    for step in range(steps):
        (gradient,) = torch.autograd.grad(look(table, torch.arange(step, step + 5)), [table])
        with torch.no_grad():
            table -= 0.1 * gradient


def by_func(torch, table, look, steps):
    table = table.detach()
    for step in range(steps):
        table = table - 0.1 * torch.func.grad(look)(table, torch.arange(step, step + 5))


@pytest.mark.parametrize("train", [by_autograd, by_func])
@pytest.mark.parametrize("look", [lambda table, numbers: functional().embedding(numbers, table).sum(),
                                  lambda table, numbers: table[numbers].square().sum()], ids=["embedding", "index"])
def test_the_gradient_of_a_table_that_is_returned_is_counted_and_what_is_advised_runs(torch, train, look):
    table = torch.rand(ROWS, WIDTH, requires_grad=True)
    with mx.Profiler(torch=True) as prof:
        train(torch, table, look, 3)
    (row,) = prof.table(of="gradients").rows
    assert (row["most"], row["shape"], row["passes"]) == (5, (ROWS, WIDTH), 3)
    first = first_look(prof)
    assert (first.bytes, first.needed) == (ROWS * WIDTH * 4, 5 * (WIDTH * 4 + 8))
    assert first.line.startswith("test_torch_advice.py:")
    assert 0.2 < first.moved < 1
    assert first.remedy.startswith("Look its rows up with torch.nn.functional.embedding(numbers, weight, sparse=True). ")
    before = table.detach().clone()
    for weight, sparse in ((before.clone().requires_grad_(), True), (before.clone().requires_grad_(), False)):
        def advised(weight, numbers, sparse=sparse):
            return torch.nn.functional.embedding(numbers, weight, sparse=sparse).square().sum()
        by_func(torch, weight, advised, 2)
        by_autograd(torch, weight, advised, 2)
        table = weight if sparse else table
    torch.testing.assert_close(table, weight)


def test_twins_are_tried_also_where_a_profile_ends_within_a_transform(torch):
    table, profiler = torch.rand(ROWS, WIDTH), contextlib.ExitStack()
    prof = profiler.enter_context(mx.Profiler(torch=True))

    def look(table, numbers):
        if len(numbers) > 5:
            profiler.close()
        return table[numbers].sum()
    for many in (5, 5, 6):
        torch.func.grad(look)(table, torch.arange(many))
    assert "sparse=True" in first_look(prof).remedy


def functional():
    """``torch.nn.functional``, imported when PyTorch is there."""
    return importlib.import_module("torch.nn.functional")


def test_rows_of_what_was_computed_and_gradients_in_grad_are_not_told_as_returned(torch):
    weight, data = torch.rand(8, 8, requires_grad=True), torch.rand(ROWS, 8)
    layer = torch.nn.Embedding(ROWS, WIDTH, sparse=True)
    with mx.Profiler(torch=True) as prof:
        for _ in range(3):
            ((data @ weight)[:5][torch.arange(3)].sum() + (data @ weight)[torch.arange(3)].sum()).backward()
            torch.autograd.grad(layer(torch.arange(4)).sum(), [layer.weight])
    assert prof.table(of="gradients").rows == []
    assert first_look(prof) is None
    for mode, advised in (("sum", "functional.embedding_bag(numbers, weight, sparse=True)"), ("max", "no layer of PyTorch")):
        table = torch.rand(ROWS, WIDTH, requires_grad=True)
        with mx.Profiler(torch=True) as prof:
            torch.autograd.grad(functional().embedding_bag(torch.arange(6).reshape(2, 3), table, mode=mode).sum(), [table])
        assert advised in first_look(prof).remedy
    dense = torch.nn.Embedding(ROWS, WIDTH)
    with mx.Profiler(torch=True) as prof:
        for _ in range(3):
            dense(torch.arange(4)).sum().backward()
    (row,) = prof.table(of="gradients").rows
    assert row["times"] == 2


def test_the_line_of_code_that_torch_fx_made_is_that_of_the_program(torch):
    traced = torch.fx.symbolic_trace(torch.nn.Sequential(torch.nn.Embedding(ROWS, WIDTH)))
    with mx.Profiler(torch=True) as prof:
        traced(torch.arange(8)).sum().backward()
    assert {record["line"].partition(":")[0] for record in prof.records if record["name"].startswith("aten::") and record["line"]
            } == {"test_torch_advice.py"}
    assert first_look(prof).line.startswith("test_torch_advice.py:")


def test_an_optimizer_in_a_hook_of_a_parameter_updates_and_is_no_backward_pass(torch):
    layer = torch.nn.Embedding(ROWS, WIDTH, sparse=True)
    optimizer = torch.optim.Adagrad(layer.parameters(), lr=0.1)

    def update(weight):
        optimizer.step()
        optimizer.zero_grad()
    layer.weight.register_post_accumulate_grad_hook(update)
    with mx.Profiler(torch=True) as prof:
        for _ in range(3):
            layer(torch.randint(ROWS, (8, 5))).square().sum().backward()
    masks = [record for record in prof.records if record["name"] == "aten::sparse_mask"]
    assert {record["lane"] for record in masks} == {"update"}
    assert "masked_product" not in [one.rule for one in prof.advice()]


def test_what_else_is_done_with_a_matrix_is_why_no_sparse_one_is_advised(torch):
    found, first = multiplied(torch, lambda: zeros(torch), lambda matrix, weight: matrix @ weight / matrix.sum(1)[:, None], 4)
    assert found == []
    assert "No sparse one is advised: the program also applies sum to it." in first.remedy
    dropout = torch.nn.functional.dropout
    found, first = multiplied(torch, lambda: zeros(torch), lambda matrix, weight: dropout(matrix) @ weight + matrix @ weight, 4)
    assert found == []
    assert "No sparse one is advised: the program also applies mul to it." in first.remedy


def test_a_matrix_that_the_closure_of_an_optimizer_multiplies_is_told(torch):
    weight, matrix = torch.rand(300, 8, requires_grad=True), zeros(torch)
    optimizer = torch.optim.SGD([weight], lr=0.1)

    def closure():
        optimizer.zero_grad()
        loss = (matrix @ weight).square().mean()
        loss.backward()
        return loss
    with mx.Profiler(torch=True) as prof:
        for _ in range(3):
            optimizer.step(closure)
    assert [one.rule for one in prof.advice() if one.rule == "zero_operand"]


def test_a_gradient_that_is_clipped_by_its_stored_values_is_that_of_the_usual_function(torch):
    def weights():
        torch.manual_seed(0)
        return torch.nn.Embedding(ROWS, WIDTH, sparse=sparse), torch.nn.Linear(WIDTH, 2)
    results = []
    for sparse in (False, True):
        layer, out = weights()
        parameters = [*layer.parameters(), *out.parameters()]
        out(layer(torch.tensor([3, 5, 5, 7]))).square().sum().backward()
        if sparse:
            layer.weight.grad = layer.weight.grad.coalesce()
            found = [one.grad.values() if one.grad.is_sparse else one.grad for one in parameters]
            torch.nn.utils.clip_grads_with_norm_(parameters, 0.01, torch.nn.utils.get_total_norm(found))
        else:
            torch.nn.utils.clip_grad_norm_(parameters, 0.01)
        results.append([one.grad.to_dense() for one in parameters])
    torch.testing.assert_close(*results)


def test_what_is_advised_for_a_wide_layer_computes_what_it_did(torch):
    layer, batch = torch.nn.Linear(ROWS, WIDTH), zeros(torch, 0.002, (16, ROWS))
    optimizer = torch.optim.SGD(layer.parameters(), 0.1)
    with mx.Profiler(torch=True) as prof:
        for _ in range(2):
            optimizer.zero_grad()
            layer(batch).square().sum().backward()
            optimizer.step()
    (found,) = [one for one in prof.advice() if one.rule == "zero_rows"]
    assert "sparse=True) of the weight transposed, and add the bias. SGD takes its gradient." in found.remedy
    bag = eval(CALL.findall(found.remedy)[0], {"nn": torch.nn})
    rows, numbers = batch.nonzero().t()
    with torch.no_grad():
        bag.weight.copy_(layer.weight.t())
        offsets = torch.searchsorted(rows.contiguous(), torch.arange(len(batch)))
        torch.testing.assert_close(bag(numbers, offsets, per_sample_weights=batch[rows, numbers]) + layer.bias, layer(batch))


def test_an_optimizer_with_a_scheduler_is_advised_with_the_rate_that_the_program_gave(torch):
    layer = torch.nn.Embedding(ROWS, WIDTH)
    optimizer = torch.optim.Adam(layer.parameters(), lr=0.04)
    scheduler = torch.optim.lr_scheduler.LinearLR(optimizer, 1 / 3, total_iters=7)
    with mx.Profiler(torch=True) as prof:
        for _ in range(3):
            optimizer.zero_grad()
            layer(torch.randint(ROWS, (8, 5))).square().sum().backward()
            optimizer.step()
            scheduler.step()
    (found,) = [one for one in prof.advice() if one.rule == "zero_rows"]
    assert "torch.optim.SparseAdam([weight], lr=0.04," in found.remedy


def test_a_product_with_ones_and_a_softmax_of_all_classes_are_told_in_code_that_runs(torch):
    weight, out = torch.rand(3000, 16, requires_grad=True), torch.rand(16, 3000, requires_grad=True)
    optimizer = torch.optim.SGD([weight, out], lr=0.1)
    with mx.Profiler(torch=True) as prof:
        for _ in range(2):
            hot = torch.nn.functional.one_hot(torch.randint(3000, (32,)), 3000).float()
            optimizer.zero_grad()
            torch.nn.functional.cross_entropy(hot @ weight @ out, torch.randint(3000, (32,))).backward()
            optimizer.step()
    said = {one.rule: one for one in prof.advice()}
    assert "as what one_hot gives" in said["zero_rows"].remedy
    runs(torch, said["zero_rows"].remedy, lambda given: torch.optim.SGD(given, 0.1))
    code = re.search(r"nn[.]AdaptiveLogSoftmaxWithLoss[(].*?[)]", said["whole_softmax"].remedy)[0]
    eval(code, {"nn": torch.nn})(torch.rand(4, 16), torch.tensor([0, 40, 400, 2999])).loss.backward()


def test_where_to_look_first_has_a_line_shares_and_a_remedy_or_the_reason_against_it(torch):
    layer = torch.nn.EmbeddingBag(ROWS, 8)
    for clipped in (False, True):
        optimizer = torch.optim.SGD(layer.parameters(), lr=0.1)
        with mx.Profiler(torch=True) as prof:
            for _ in range(2):
                optimizer.zero_grad()
                layer(torch.randint(ROWS, (4, 5))).sum().backward()
                if clipped:
                    torch.nn.utils.clip_grad_norm_(layer.parameters(), 1.0)
                optimizer.step()
        found = first_look(prof)
        assert found.line.startswith("test_torch_advice.py:")
        assert (found.bytes, found.needed <= 20 * (8 * 4 + 8)) == (ROWS * 8 * 4, True)
        assert 0.3 < found.moved <= 1
        assert 0 < found.time <= 1
        assert ("sparse=True" in found.remedy) != clipped
        assert ("takes no sparse gradient here: Could not run" in found.remedy) == clipped
        assert ("nn.utils.clip_grads_with_norm_" in found.remedy) == (clipped and hasattr(torch.nn.utils, "get_total_norm"))
        assert str(found).count("▨") == 40
    with mx.Profiler() as prof:
        mx.nd.ones((2, 3)) + 1
    assert first_look(prof) is None
