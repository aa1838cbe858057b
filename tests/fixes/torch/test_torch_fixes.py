"""PyTorch mended: what is found in programs with planted wastes, that answers agree, and that nothing of the program changes."""

from __future__ import annotations

import copy
import importlib.util
import re
import subprocess
import sys
from pathlib import Path

import pytest

import sparsekit as mx
from sparsekit.fixes import try_fixes

HERE = Path(__file__).parent


@pytest.fixture(scope="module")
def planted():
    """The programs, imported from their file, whose lines patches change."""
    spec = importlib.util.spec_from_file_location("planted_torch", HERE / "planted_torch.py")
    module = sys.modules["planted_torch"] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    yield module
    del sys.modules["planted_torch"]


def state_of(torch, *things):
    """Everything that a program may change: parameters, gradients, states of optimizers, generators and of PyTorch itself."""
    found = [torch.get_rng_state()]
    for thing in things:
        if isinstance(thing, torch.nn.Module):
            for parameter in thing.parameters():
                found += [parameter.detach().clone(), None if parameter.grad is None else parameter.grad.clone()]
        elif isinstance(thing, torch.Generator):
            found.append(thing.get_state())
        else:
            found.append(copy.deepcopy(thing.state_dict()))
    return found


def same(torch, one, other):
    if isinstance(one, torch.Tensor):
        return torch.equal(one, other)
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(same(torch, one[key], other[key]) for key in one)
    if isinstance(one, (list, tuple)):
        return len(one) == len(other) and all(same(torch, *pair) for pair in zip(one, other, strict=True))
    return one == other


def verdicts(fixes):
    return {fix.candidate.remedy: fix.verdict for fix in fixes.fixes}


@pytest.fixture(scope="module")
def mended(planted):
    import torch

    step, model, optimizer = planted.wasteful()
    with mx.Profiler(torch=True) as prof:
        step()
    before = state_of(torch, model, optimizer)
    fixes = prof.try_fixes(step)
    assert same(torch, before, state_of(torch, model, optimizer))
    return fixes


def test_three_planted_wastes_are_found_and_hold_together(torch, mended):
    assert verdicts(mended) == dict.fromkeys(
        ("sparse input kept (PyTorch)", "sparse gradient (PyTorch)", "embedding bag (PyTorch)"), "holds")
    together = mended.together
    assert together.holds
    assert len(together.applied) == 3
    assert together.after.peak < 0.75 * together.before.peak
    assert together.after.moved < 0.25 * together.before.moved


def test_the_patch_is_of_the_lines_of_the_program_and_gives_the_same_training(torch, mended, tmp_path):
    (tmp_path / "program.py").write_text((HERE / "planted_torch.py").read_text(encoding="utf-8"), encoding="utf-8")
    done = subprocess.run(["patch", "program.py"], cwd=tmp_path, input=mended.patch, text=True, capture_output=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    text = (tmp_path / "program.py").read_text(encoding="utf-8")
    assert "nn.Embedding(ROWS, 16, sparse=True)" in text
    assert 'pooled = F.embedding_bag(tokens, self.embedding.weight, mode="mean", sparse=self.embedding.sparse)' in text
    assert "rows = self.embedding(tokens)" not in text
    assert "self.wide(features))" in text
    losses = []
    for source in (HERE / "planted_torch.py", tmp_path / "program.py"):
        names = {"__name__": "program"}
        exec(compile(source.read_text(encoding="utf-8"), source.name, "exec"), names)
        step, model, _ = names["wasteful"]()
        losses.append(([step().item() for _ in range(4)], model))
    assert losses[0][0] == pytest.approx(losses[1][0], rel=1e-5)
    for one, other in zip(losses[0][1].parameters(), losses[1][1].parameters(), strict=True):
        assert torch.allclose(one, other, rtol=1e-4, atol=1e-6)


def test_bytes_are_those_of_the_patched_program(torch, mended):
    layout = mended["sparse gradient (PyTorch)"]
    gradient = 20_000 * 16 * 4
    assert layout.before.peak - layout.after.peak > 0.9 * gradient
    assert layout.before.moved - layout.after.moved > 3 * 2 * gradient  # in each of three steps it was written and read


def test_the_contract_profiles_pytorch(torch, mended):
    text = mended.contract()
    assert "mx.Profiler(torch=True)" in text
    assert "peak_below(" in text


def test_no_fix_is_raised_on_a_clean_program(torch, planted):
    step, _, _ = planted.clean()
    with mx.Profiler(torch=True) as prof:
        step()
    fixes = prof.try_fixes(step)
    assert fixes.refusal == ""
    assert fixes.together is None
    assert not any(fix.holds for fix in fixes.fixes)
    assert fixes.patch == ""


def test_an_optimizer_that_takes_no_sparse_gradient_refuses_by_its_own_words(torch, planted):
    step, *things = planted.with_adam()
    for _ in range(2):
        step()
    before = state_of(torch, *things)
    refused = try_fixes(step)["sparse gradient (PyTorch)"]
    assert same(torch, before, state_of(torch, *things))
    assert refused.verdict == "refused"
    assert "Adam does not support sparse gradients" in refused.reason


def test_a_wide_layer_on_ones_looks_its_columns_up(torch, planted):
    fixes = try_fixes(planted.hot())
    assert [fix.verdict for fix in fixes.fixes] == ["holds", "holds"]
    assert all(re.fullmatch(r"planted_torch\.py:\d+", fix.candidate.where) for fix in fixes.fixes)
    assert "F.embedding(token, self.one.weight.t()) + self.one.bias" in fixes.patch
    assert 'F.embedding_bag(tokens, self.several.weight.t(), mode="sum")' in fixes.patch
    assert "hot = F.one_hot" not in "\n".join(line for line in fixes.patch.splitlines() if not line.startswith("-"))
    assert fixes.together.after.peak < fixes.together.before.peak / 5


def test_a_weight_that_is_multiplied_with_too_gets_no_sparse_gradient(torch, planted):
    fixes = try_fixes(planted.tied())
    assert fixes.together is None
    assert fixes.patch == ""


def test_tensors_that_share_memory_are_refused(torch):
    flat = torch.zeros(6)
    view = flat[:3]
    assert "shares its memory with another tensor" in try_fixes(lambda: float(flat.sum() + view.sum())).refusal


def test_generators_and_random_numbers_are_put_back(torch):
    generator, before = torch.Generator().manual_seed(3), torch.get_rng_state()
    weight = torch.nn.Parameter(torch.zeros(3))

    def step():
        return torch.rand(3, generator=generator) + torch.rand(3) + weight

    state = generator.get_state()
    fixes = try_fixes(step)
    assert fixes.refusal == ""
    assert torch.equal(generator.get_state(), state)
    assert torch.equal(torch.get_rng_state(), before)


def hooked(torch):
    weight = torch.zeros(3, requires_grad=True)
    weight.register_hook(lambda gradient: gradient * 2)
    return lambda: weight.sum()


def recorded(torch):
    weight = torch.zeros(3, requires_grad=True)
    twice = weight * 2
    return lambda: twice.sum()


def saved(torch):
    weight = torch.zeros(3, requires_grad=True)
    return lambda: torch.save(weight, "weight.pt")


@pytest.mark.parametrize(("make", "words"), [
    (hooked, "weight holds a torch.Tensor, which cannot be sent to another process: it has hooks"),
    (recorded, "twice holds a torch.Tensor, which cannot be sent to another process: it was computed from other tensors"),
    (saved, "writes the file 'weight.pt'"),
], ids=["hooks", "graph", "file"])
def test_what_cannot_be_judged_is_refused_by_name(torch, make, words, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    fixes = try_fixes(make(torch))
    assert words in fixes.refusal
    assert not list(tmp_path.iterdir())
