"""Fixes of PyTorch programs are judged on different batches, and refused if what an optimizer keeps grows with every step."""

from __future__ import annotations

import re

import pytest

from sparsekit.fixes import try_fixes

ROWS, WIDTH, BATCH = 5000, 8, 300


def program(torch, make, repeats, warm=0, rows=ROWS, batch=BATCH):
    """A step of an embedding that looks up the same numbers, or others in each step."""
    torch.manual_seed(0)
    layer, given = torch.nn.Embedding(rows, WIDTH), torch.randint(rows, (batch,))
    optimizer = make(layer.parameters())

    def step():
        numbers = given if repeats else torch.randint(rows, (batch,))
        optimizer.zero_grad()
        loss = layer(numbers).square().sum()
        loss.backward()
        optimizer.step()
        return loss
    for _ in range(warm):
        step()
    return step, layer, optimizer, given


def sparse(step, **options):
    return try_fixes(step, **options)["sparse gradient (PyTorch)"]


def grown(torch, options, steps):
    """Bytes of SGD's sparse momentum after some steps on batches of their own, in plain PyTorch."""
    layer = torch.nn.Embedding(ROWS, WIDTH, sparse=True)
    optimizer, sizes = torch.optim.SGD(layer.parameters(), lr=0.01, **options), []
    for _ in range(steps):
        optimizer.zero_grad()
        layer(torch.randint(ROWS, (BATCH,))).square().sum().backward()
        optimizer.step()
        buffer = optimizer.state[layer.weight]["momentum_buffer"]
        sizes.append(buffer._values().nbytes + buffer._indices().nbytes)
    return sizes


@pytest.mark.parametrize("repeats", [True, False])
@pytest.mark.parametrize("options", [
    {"momentum": 0.9}, *(pytest.param({"momentum": 0.9, **more}, marks=pytest.mark.thorough)
                         for more in ({"nesterov": True}, {"dampening": 0.5}))], ids=["momentum", "nesterov", "dampening"])
def test_momentum_that_grows_is_refused_with_its_growth(torch, options, repeats):
    step, *_ = program(torch, lambda given: torch.optim.SGD(given, lr=0.01, **options), repeats)
    fix = sparse(step)
    assert fix.verdict == "refused"
    said = re.search(r"the state of SGD \(optimizer\) grows by ([\d.]+) kB a step; "
                     r"after 1,000 steps it has ([\d.]+) MB at that rate", fix.reason)
    sizes = grown(torch, options, 4)
    assert float(said[1]) == pytest.approx((sizes[-1] - sizes[-2]) / 1000, rel=0.1)
    assert float(said[2]) == pytest.approx((sizes[-1] + 996 * (sizes[-1] - sizes[-2])) / 1e6, rel=0.1)


def test_momentum_that_grows_is_refused_if_no_row_came_twice_yet(torch):
    step, *_ = program(torch, lambda given: torch.optim.SGD(given, lr=0.01, momentum=0.9), False, rows=20_000, batch=3)
    fix = sparse(step)
    assert fix.verdict == "refused"
    assert "the state of SGD (optimizer) grows by 120 B a step" in fix.reason


@pytest.mark.parametrize("steps", [1, pytest.param(3, marks=pytest.mark.thorough)])
def test_a_momentum_that_is_there_already_hides_nothing(torch, steps):
    step, _, optimizer, _ = program(torch, lambda given: torch.optim.SGD(given, lr=0.01, momentum=0.9), False, warm=1)
    assert "grows by" in sparse(step, steps=steps).reason
    assert all(state["momentum_buffer"].layout is torch.strided for state in optimizer.state.values())


def kept(torch, merged):
    class Kept(torch.optim.SGD):
        """Adds its sparse gradients up, and merges rows or not."""

        def step(self, closure=None):
            for group in self.param_groups:
                for one in group["params"]:
                    if one.grad.is_sparse:
                        sums = self.state[one].get("sums", one.grad * 0) + one.grad
                        self.state[one]["sums"] = sums.coalesce() if merged else sums
            return super().step(closure)
    return lambda given: Kept(given, lr=0.01)


@pytest.mark.parametrize(("merged", "verdict"), [(True, "holds"), (False, "refused")])
def test_a_sparse_state_of_the_users_own_may_grow_to_the_rows_of_its_weight_and_not_beyond(torch, merged, verdict):
    step, *_ = program(torch, kept(torch, merged), False)
    fix = sparse(step)
    assert fix.verdict == verdict
    assert ("grows by" in fix.reason) == (not merged)


@pytest.mark.parametrize(("kind", "repeats"), [("SGD", True), ("Adagrad", False), *(
    pytest.param(*more, marks=pytest.mark.thorough) for more in (("SGD", False), ("Adagrad", True)))])
def test_states_that_do_not_grow_hold(torch, kind, repeats):
    step, _, _, given = program(torch, lambda given: getattr(torch.optim, kind)(given, lr=0.01), repeats)
    before = given.clone()
    fix = sparse(step)
    assert fix.verdict == "holds"
    assert ("were changed between steps" in fix.reason) == repeats
    assert torch.equal(given, before)
