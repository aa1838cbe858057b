"""Each planted waste is found, mended and kept mended, and clean programs are left alone."""

import re
import sys

import numpy as np
import pytest

from sparsekit.base.errors import ContractError
from sparsekit.fixes import try_fixes
from tests.sampling import some

from . import wasteful

STEPS = 3


def losses(module):
    """The losses of some steps, as one row of numbers."""
    found = []
    for _ in range(STEPS):
        result = module.step()
        found += [one.asnumpy().ravel() for one in (result if isinstance(result, list) else [result])]
    return np.concatenate(found)


def with_weights_of(before, after, folder):
    """Give a program the weights of another: a weight that is held transposed has drawn others."""
    if hasattr(before, "net"):
        before.net.save_parameters(str(folder / "net.params"))
        after.net.load_parameters(str(folder / "net.params"))


def patched(text, patch):
    """A text after a unified diff, by the numbers and the lines of the diff alone."""
    lines, made, at = text.splitlines(keepends=True), [], 0
    for line in patch.splitlines(keepends=True)[2:]:
        if line.startswith("@@"):
            start = int(re.match(r"@@ -(\d+)", line)[1]) - 1
            made += lines[at:start]
            at = start
        elif line.startswith("+"):
            made.append(line[1:])
        else:
            assert lines[at] == line[1:]
            made += [] if line.startswith("-") else [lines[at]]
            at += 1
    return "".join(made + lines[at:])


@pytest.mark.filterwarnings("ignore::sparsekit.base.errors.StorageFallbackWarning")  # some of the planted wastes
@pytest.mark.parametrize("name", some(wasteful.PLANTED, one_in=3))
def test_a_planted_waste_is_found_patched_and_kept_away(name, tmp_path, monkeypatch):
    remedy, text = wasteful.PLANTED[name]
    program = f"planted_{list(wasteful.PLANTED).index(name)}"
    fixes = try_fixes(wasteful.load(text, tmp_path / f"{program}.py").step, steps=STEPS)
    assert fixes[remedy].holds
    assert re.fullmatch(rf"{program}\.py:\d+", fixes[remedy].candidate.where)
    assert fixes.together is not None
    assert not fixes.lines  # the patch has all of it
    before = wasteful.load(text, tmp_path / f"{program}.py")
    after = wasteful.load(patched(text, fixes.patch), tmp_path / f"{program}_patched.py")
    with_weights_of(before, after, tmp_path)
    np.testing.assert_allclose(losses(after), losses(before), rtol=1e-4)
    keeps = fixes.contract()
    for version, holds in ((text, False), (patched(text, fixes.patch), True)):
        monkeypatch.setitem(sys.modules, program, wasteful.load(version, tmp_path / f"{program}.py"))
        names = {}
        exec(compile(keeps, "test_contract.py", "exec"), names)
        if holds:
            names["test_step_keeps_its_fixes"]()
        else:
            with pytest.raises(ContractError):
                names["test_step_keeps_its_fixes"]()


@pytest.mark.parametrize("name", some(wasteful.CLEAN, 100, ["a step as one object", "dense, as it should be"]))
def test_a_clean_program_is_left_alone(name, tmp_path):
    fixes = try_fixes(wasteful.load(wasteful.CLEAN[name], tmp_path / "clean.py").step, steps=STEPS)
    assert not fixes.refusal
    assert fixes.together is None
    assert fixes.patch == ""
    assert [fix.name for fix in fixes.fixes if fix.holds] == []


def test_one_planted_program_has_each_remedy():
    from sparsekit.fixes.remedies import remedies

    found = {remedy for remedy, _ in wasteful.PLANTED.values()}
    names = {remedy.name for remedy in remedies if "(PyTorch)" not in remedy.name}  # those have tests in torch/
    assert [remedy.of_torch for remedy in remedies] == ["(PyTorch)" in remedy.name for remedy in remedies]
    assert found | {"lazy optimizer"} == names | {"exact lazy optimizer"}  # on batches that differ, lazy updates change answers
