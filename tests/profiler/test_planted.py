"""Advice on thirty programs with one waste planted in each, and on the same programs without it: precision and recall."""

import pytest

import sparsekit as mx

from .planted import CLEAN, MORE, PROGRAMS, ROWS, Linear, csr, trained

STEPS = 8
ALL = {**PROGRAMS, **MORE}


def advice_on(program, waste):
    """What advice finds in some steps, after others that compile kernels, trace programs and lower them to tables."""
    with mx.config.set(densify="allow"):
        step = program(waste)
        for _ in range(4):
            step()
        with mx.Profiler() as prof:
            for _ in range(STEPS):
                step()
    return prof.advice()


@pytest.fixture(scope="module")
def found():
    """By program: the findings with the waste, and without."""
    return {name: tuple(list(advice_on(program, waste)) for waste in (True, False)) for name, (_, program) in ALL.items()}


def test_the_planted_waste_is_first_or_second_in_nearly_all(found):
    assert len(PROGRAMS) == 30
    missed = {name: [finding.rule for finding in found[name][0]] for name, (rule, _) in PROGRAMS.items()
              if rule not in [finding.rule for finding in found[name][0][:2]]}
    assert len(missed) <= 2, missed
    others = {name: [finding.rule for finding in found[name][0]] for name, (rule, _) in MORE.items()
              if rule not in [finding.rule for finding in found[name][0][:2]]}
    assert not others


def test_nothing_is_advised_on_a_clean_program(found):
    said = {name: [f"{finding.rule}: {finding.reason} {finding.where}" for finding in clean]
            for name, (_, clean) in found.items() if clean}
    said |= {name: repr(advice) for name, program in CLEAN.items() if len(advice := advice_on(program, False))}
    assert not said


def test_each_waste_is_one_finding_with_its_event_line_saving_and_remedy(found):
    for name, (rule, _) in ALL.items():
        mine = [finding for finding in found[name][0] if finding.rule == rule]
        assert len(mine) == 1, (name, [finding.where for finding in mine])
        finding = mine[0]
        assert finding.saving, name
        assert finding.remedy, name
        assert finding.amount > 0, name
        if rule != "double_precision":  # which is of a parameter, not of an event
            assert "planted.py:" in finding.where or "test_planted.py:" in finding.where, (name, finding.where)
            assert finding.event["name"] == "cast_storage" or finding.where.startswith(finding.event["name"]), name
    for name, (planted, _) in found.items():
        assert len(planted) <= 2, (name, [finding.rule for finding in planted])


def test_two_wastes_are_found_at_once_and_ranked_by_what_they_save():
    net = Linear(lambda F, x: F.log(x + 1), grad_stype="default", units=1)
    with mx.config.set(densify="allow"):
        step = trained(net, [csr(seed=seed) for seed in range(3)], loss=mx.gluon.loss.L2Loss())
        step()
        with mx.Profiler() as prof:
            for _ in range(STEPS):
                step()
    both = [finding.rule for finding in prof.advice()][:2]
    assert both == ["dense_by_nature", "dense_gradient"], (ROWS, prof.advice())
