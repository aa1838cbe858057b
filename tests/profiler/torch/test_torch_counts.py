"""Counts of PyTorch's gradients equal those made by hand; what only reads a sparse tensor did not make it dense."""

from __future__ import annotations

import copy
import pickle
import random

import pytest

import sparsekit as mx

pytestmark = pytest.mark.filterwarnings("ignore:Sparse invariant checks:UserWarning")  # of tensors made here


def by_hand(gradient):
    """Rows or columns of a gradient that are not zero, as ``prof.table(of="gradients")`` counts them."""
    if gradient.is_sparse:
        return len(set(gradient._indices()[0].tolist()))
    matrix = gradient.flatten(1)
    return int(matrix.ne(0).any(int(matrix.shape[1] <= matrix.shape[0])).sum())


def counts(prof):
    return {row["parameter"]: row for row in prof.table(of="gradients").rows}


def model(torch, rows, width, sparse, checkpointed, bag):
    from torch.utils.checkpoint import checkpoint

    class Model(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.looked = (torch.nn.EmbeddingBag if bag else torch.nn.Embedding)(rows, width, sparse=sparse)
            self.layers = torch.nn.ModuleList(torch.nn.Linear(width, width) for _ in range(3))
            self.wide = torch.nn.Linear(width, 5)

        def forward(self, numbers):
            found = self.looked(numbers)
            for layer in self.layers:
                found = layer(found) if checkpointed is None else checkpoint(layer, found, use_reentrant=checkpointed)
            return self.wide(found)
    return Model()


@pytest.mark.parametrize("checkpointed", [None, True, False])
@pytest.mark.parametrize("seed", range(6))
def test_counts_of_random_programs_equal_those_by_hand(torch, seed, checkpointed):
    draw = random.Random(seed)
    torch.manual_seed(seed)
    rows, width = draw.choice((98, 300, 700)), draw.choice((16, 40, 64))
    net = model(torch, rows, width, draw.random() < 0.5, checkpointed, draw.random() < 0.5)
    optimizer = torch.optim.SGD(net.parameters(), 0.01)
    forwards, backwards, seen = draw.choice((1, 2, 3)), draw.choice((1, 2)), {}
    with mx.Profiler(torch=True) as prof:
        for _ in range(draw.choice((1, 3, 5))):
            optimizer.zero_grad()
            for _ in range(backwards):
                loss = sum(net(torch.randint(rows, (9, 7))).square().sum() for _ in range(forwards))
                loss.backward()
                for name, parameter in net.named_parameters():
                    seen.setdefault(name, []).append(by_hand(parameter.grad) if parameter.grad.dim() > 1 else 0)
            optimizer.step()
    found = counts(prof)
    assert "looked.weight" in found
    for name, row in found.items():
        counted = [count for number, count in enumerate(seen[name], 1) if number & (number - 1) == 0]
        assert (row["least"], row["most"], row["times"]) == (min(counted), max(counted), len(counted)), name
        length = row["shape"][0] if row["axis"] == "rows" else net.get_parameter(name)[0].numel()
        assert row["most"] <= length


def test_a_row_that_is_stored_often_is_counted_once(torch):
    net = torch.nn.Embedding(98, 16, sparse=True)
    with mx.Profiler(torch=True) as prof:
        net(torch.randint(98, (300,))).sum().backward()
    row = counts(prof)["Embedding.weight"]
    assert (row["most"], row["stored"]) == (by_hand(net.weight.grad), 300)
    assert f"{row['most']} of 98 rows" in repr(prof.table(of="gradients"))
    (found,) = [one for one in prof.advice() if one.rule == "full_rows"]
    assert f"stores {row['most']} of its 98 rows" in found.reason


@pytest.mark.parametrize("shape", [(8, 1, 25, 25), (64, 3, 5, 5), (8, 60, 3), (700, 2, 1)])
def test_the_weight_of_a_convolution_has_no_more_columns_than_it_has(torch, shape):
    weight = torch.nn.Parameter(torch.ones(shape))
    optimizer = torch.optim.SGD([weight], 0.1)
    with mx.Profiler(torch=True) as prof:
        (weight * (torch.rand(shape) < 0.1)).sum().backward()
        optimizer.step()
    (row,) = prof.table(of="gradients").rows
    assert row["most"] == by_hand(weight.grad) <= max(shape[0], weight[0].numel())


def test_gradients_that_an_optimizer_takes_within_the_pass_are_counted(torch):
    net = model(torch, 500, 16, False, None, False)
    optimizers = {one: torch.optim.SGD([one], 0.1) for one in net.parameters()}

    def take(parameter):
        optimizers[parameter].step()
        parameter.grad = None
    for one in net.parameters():
        one.register_post_accumulate_grad_hook(take)
    with mx.Profiler(torch=True) as prof:
        for _ in range(4):
            net(torch.arange(30)).sum().backward()
    row = counts(prof)["looked.weight"]
    assert (row["most"], row["times"]) == (30, 3)


def test_a_parameter_of_every_third_pass_is_counted_too(torch):
    nets = [torch.nn.Embedding(500, 16) for _ in range(3)]
    with mx.Profiler(torch=True) as prof:
        for number in range(12):
            nets[number % 3].zero_grad()
            nets[number % 3](torch.arange(number + 1)).sum().backward()
            nets[number % 3].weight.grad, kept = None, nets[number % 3].weight.grad
            assert kept is not None
    assert sorted(row["times"] for row in prof.table(of="gradients").rows) == [3, 3, 3]


# What only reads a sparse tensor


def tensors(torch):
    dense = (torch.rand(12, 10) < 0.3) * torch.rand(12, 10)
    numbers = torch.tensor([[1, 2, 2, 5, 7, 1, 2, 3, 4, 5, 6, 7, 8, 9, 1]])
    rows = torch.sparse_coo_tensor(numbers, torch.rand(15, 10), (12, 10))
    yield from (dense.to_sparse(), dense.to_sparse_csr(), dense.to_sparse_csc(), dense.to_sparse_bsr((2, 2)),
                rows, rows.coalesce(),
                torch.sparse_coo_tensor(torch.arange(12)[None], torch.rand(12, 10), (12, 10)), torch.eye(9).to_sparse(),
                torch.ones(1, 1).to_sparse())


READING = {
    "values": lambda torch, x: x.values(), "_values": lambda torch, x: x._values(), "indices": lambda torch, x: x.indices(),
    "_indices": lambda torch, x: x._indices(), "crow_indices": lambda torch, x: x.crow_indices(),
    "col_indices": lambda torch, x: x.col_indices(), "ccol_indices": lambda torch, x: x.ccol_indices(),
    "row_indices": lambda torch, x: x.row_indices(), "values_copy": lambda torch, x: torch.values_copy(x),
    "copy of _values": lambda torch, x: x._values().clone(), "coalesce": lambda torch, x: x.coalesce(),
    "clone": lambda torch, x: x.clone(), "deepcopy": lambda torch, x: copy.deepcopy(x), "repr": lambda torch, x: repr(x),
    "pickle": lambda torch, x: pickle.loads(pickle.dumps(x)), "mul": lambda torch, x: x * 2, "sin": lambda torch, x: x.sin(),
    "mul dense": lambda torch, x: x * torch.ones(x.shape), "sum": lambda torch, x: x.sum(), "any": lambda torch, x: x.any(),
    "sum of rows": lambda torch, x: torch.sparse.sum(x, 0), "norm": lambda torch, x: x.norm(), "t": lambda torch, x: x.t(),
    "mm": lambda torch, x: torch.sparse.mm(x, torch.ones(x.shape[1], 20)), "mv": lambda torch, x: x @ torch.ones(x.shape[1]),
    "linear": lambda torch, x: torch.nn.functional.linear(x, torch.ones(20, x.shape[1])),
    "addmm": lambda torch, x: torch.sparse.addmm(torch.ones(x.shape[0], 20), x, torch.ones(x.shape[1], 20)),
    "mm sparse": lambda torch, x: torch.sparse.mm(x, x.t()), "softmax": lambda torch, x: torch.sparse.softmax(x, 1),
    "sampled": lambda torch, x: torch.sparse.sampled_addmm(x, torch.ones(x.shape[0], 3), torch.ones(3, x.shape[1])),
    "add_": lambda torch, x: torch.ones(x.shape).add_(x), "sub_": lambda torch, x: torch.ones(x.shape).sub_(x),
    "add sparse": lambda torch, x: x + x, "mask": lambda torch, x: torch.ones(x.shape).sparse_mask(x),
    "index_select": lambda torch, x: x.index_select(0, torch.tensor([0])), "row": lambda torch, x: x[0],
    "zeros_like": lambda torch, x: torch.zeros_like(x, layout=torch.strided), "dist": lambda torch, x: torch.dist(x, x),
    "empty_like": lambda torch, x: torch.empty_like(x, layout=torch.strided), "to": lambda torch, x: x.to(torch.float64),
    "cat": lambda torch, x: torch.cat([x, x]),
}
DENSE = {"add": lambda torch, x: torch.ones(x.shape) + x, "sub": lambda torch, x: torch.ones(x.shape) - x,
         "decay": lambda torch, x: 0.1 * torch.ones(x.shape) + x}


@pytest.mark.parametrize("name", READING)
def test_reading_a_sparse_tensor_makes_nothing_dense(torch, name):
    ran = 0
    for given in tensors(torch):
        try:
            with mx.Profiler(torch=True) as prof:
                READING[name](torch, given)
        except (RuntimeError, NotImplementedError, TypeError):
            continue  # PyTorch has it for other layouts
        ran += 1
        mx.expect(prof).no_densify()
    assert ran


@pytest.mark.parametrize("name", DENSE)
def test_a_dense_tensor_of_the_whole_shape_that_holds_the_sparse_one_is_in_the_ledger(torch, name):
    for given in tensors(torch):
        try:
            with mx.Profiler(torch=True) as prof:
                DENSE[name](torch, given)
        except (RuntimeError, NotImplementedError):
            continue
        (found,) = prof.ledger
        assert found.shape == tuple(given.shape)


def healthy(torch):
    """Programs whose gradients and inputs are sparse where they can be, as steps: word2vec, a bag, graphs, mixed precision."""
    nn, functional = torch.nn, torch.nn.functional
    one, other, graph = nn.Embedding(5000, 16, sparse=True), nn.Embedding(5000, 16, sparse=True), nn.Embedding(500, 16)
    bag, out = nn.EmbeddingBag(5000, 16, sparse=True), nn.Linear(16, 3)
    lazy = torch.optim.SparseAdam([one.weight, other.weight])
    exact, dense = torch.optim.Adagrad(bag.parameters()), torch.optim.Adam([*out.parameters(), graph.weight])
    links = (torch.rand(500, 500) < 0.01).float()

    def numbers(*shape):
        return torch.randint(5000, shape)

    def mixed(given):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            return out(bag(given)).float()

    def losses():
        yield lambda: (one(numbers(64)) * other(numbers(64))).sum()
        yield lambda: functional.cross_entropy(mixed(numbers(32, 8)), torch.randint(3, (32,)))
        for matrix in (links.to_sparse_csr(), links.to_sparse().coalesce()):
            yield lambda matrix=matrix: torch.sparse.mm(matrix, torch.sparse.mm(matrix, graph.weight)).square().mean()
        yield lambda: bag(numbers(8, 4)).sum() + bag(numbers(8, 4)).square().sum()
        yield lambda: torch.utils.checkpoint.checkpoint(lambda given: out(bag(given)), numbers(8, 4), use_reentrant=False).sum()
    for loss in losses():
        def step(loss=loss):
            for made in (lazy, exact, dense):
                made.zero_grad(set_to_none=False)
            for _ in range(2):  # gradients are accumulated, merged and scaled
                loss().backward()
            if bag.weight.grad is not None:
                bag.weight.grad = bag.weight.grad.coalesce()
                bag.weight.grad.values().mul_(0.5)
            for made in (lazy, exact, dense):
                made.step()
        yield step


def test_healthy_programs_raise_no_alarm_and_get_no_advice(torch):
    for step in healthy(torch):
        step()
        with mx.Profiler(torch=True) as prof:
            for _ in range(4):
                step()
        mx.expect(prof).no_densify()
        assert [one.rule for one in prof.advice()] == []
