from types import SimpleNamespace

import numpy as np
import pytest

from sparsekit.base.errors import ContractError, ProfilerError, UnknownNameError
from sparsekit.base.formatting import parse_bytes
from sparsekit.profiler import Profiler, expect, load, pytest_guard


@pytest.fixture
def clean(library, step):
    with Profiler() as prof:
        for number in range(3):
            step(rows=4 + number, node=number)
    return prof


def test_contracts_that_hold_say_so_in_the_same_words_everywhere(clean):
    held = (expect(clean).no_densify().peak_below("2 MB").calls("dot", 3, lane="forward")
            .grad_rows("dense0.weight", at_most=6).storage("dot", "csr,default->default", lane="forward"))
    assert repr(held) == (
        "5 contracts hold: no_densify(), peak_below('2 MB'), calls('dot', 3, lane='forward'), "
        "grad_rows('dense0.weight', at_most=6), storage('dot', 'csr,default->default', lane='forward')")
    assert repr(expect(clean).no_densify()) == "1 contract holds: no_densify()"


@pytest.mark.parametrize(("check", "message"), [
    (lambda e: e.peak_below("10 kB"),
     r"peak_below\('10 kB'\) is broken: the peak was 3\d\.\d kB; largest then: parameter"),
    (lambda e: e.calls("dot", 3), r"it ran 6 times; what ran: dot \(backward, dense0\) 3, dot \(forward, dense0\) 3"),
    (lambda e: e.calls("conv", at_least=1), "it ran 0 times"),
    (lambda e: e.calls("dot", at_most=5), "it ran 6 times"),
    (lambda e: e.calls("dot", 3, layer="dense1"), "it ran 0 times"),
    (lambda e: e.grad_rows("dense0.weight", at_most=5), "one stored 6 rows"),
    (lambda e: e.grad_rows("dense1.weight", at_most=5), "no row_sparse gradient of dense1.weight was seen"),
    (lambda e: e.storage("dot", "csr, default -> default"), r"csr, default -> row_sparse \(3 times\)"),
    (lambda e: e.storage("conv", "default -> default"), "no call of conv"),
    (lambda e: e.update_rows(at_most=5), "the largest row_sparse one stored 6 rows"),
    (lambda e: e.bytes_moved_below("1 kB"), "were moved, most by"),
])
def test_a_broken_contract_says_what_was_found(clean, check, message):
    with pytest.raises(ContractError, match=message):
        check(expect(clean))


def test_a_broken_contract_is_an_assertion_that_failed(clean):
    with pytest.raises(AssertionError, match=r"\(1 contract holds before it"):
        expect(clean).no_densify().calls("dot", 1)


def test_densifications_are_named_with_the_remedy(profile):
    message = r"dot at train\.py:7: csr \(2, 1000\) -> default, 100 B -> 8\.00 kB"
    with pytest.raises(ContractError, match=message) as caught:
        expect(profile).no_densify()
    assert caught.value.hint == "use dot"
    expect(profile).densify_at_most(1)


def test_gradients_nobody_updated_with_are_found_by_their_layer(library):
    from sparsekit.core import hooks

    with Profiler() as prof:
        hooks.state.lane, hooks.state.layer = "backward", "embedding0"
        library.run("dot", (), library.row_sparse(9, (100, 2)))
    expect(prof).grad_rows("embedding0.weight", at_most=9)


def test_contracts_on_a_trace(clean, tmp_path):
    clean.save(tmp_path / "run.npz")
    expect(load(tmp_path / "run.npz")).calls("dot", 6).grad_rows("dense0_weight", at_most=6)


def test_only_a_finished_profile_is_held_to_contracts(library):
    with pytest.raises(ProfilerError, match=r"must be a profile, got list\."):
        expect([])
    with Profiler() as prof, pytest.raises(ProfilerError, match="still being recorded"):
        expect(prof)


@pytest.mark.parametrize(("text", "size"), [
    ("2 MB", 2_000_000), ("1.5 GiB", 3 << 29), ("10", 10), ("7 B", 7),
    ("1,000 kB", 1_000_000), (5, 5), (2.0, 2), (".5kb", 500),
    (1 << 70, 1 << 70), (np.float32(2.5), 2), (np.int64(3), 3), ("1.1 kB", 1100)])
def test_sizes(text, size):
    assert parse_bytes(text) == size


def test_contracts_on_a_block_that_is_still_to_run(library):
    with expect().no_densify().calls("add", 2) as expected:
        assert repr(expected) == "2 contracts to hold"
        library.run("add", (), library.dense(2))
        library.run("add", (), library.dense(2))
        expected.peak_below("1 kB")
    assert repr(expected) == "3 contracts hold: no_densify(), calls('add', 2), peak_below('1 kB')"
    assert expected.profile.events == 2
    assert expected.calls("add", at_most=2)  # afterwards it is a chain like any other


def test_a_block_that_breaks_its_contract_fails_at_its_end(library):
    with pytest.raises(ContractError, match=r"calls\('add', 2\) is broken: it ran 1 time"), expect().calls("add", 2):
        library.run("add", (), library.dense(2))


def test_what_a_block_raises_comes_first_and_its_events_are_kept(library):
    expected = expect().calls("add", 7)

    def fail():
        with expected:
            library.run("add", (), library.dense(2))
            raise KeyError("x")

    with pytest.raises(KeyError):
        fail()
    assert expected.profile.events == 1


def test_a_test_can_be_decorated(library):
    @expect().calls("add", at_most=1)
    def work(times):
        """Add."""
        for _ in range(times):
            library.run("add", (), library.dense(2))
        return times

    assert (work(1), work.__doc__) == (1, "Add.")
    with pytest.raises(ContractError):
        work(2)
    assert work(1) == 1


MISTAKES = [(lambda e: e.calls("dot"), ProfilerError, r"calls\('dot'\) holds for any number of calls"),
            (lambda e: e.calls(3), ProfilerError, r"op of calls\(\) must be a name, got 3\."),
            (lambda e: e.calls(None, 1), ProfilerError, "must be a name, got "),
            (lambda e: e.calls("dot", "3"), ProfilerError, r"number of calls\(\) must be an integer of at least 0, got '3'\."),
            (lambda e: e.calls("dot", True), ProfilerError, "must be an integer of at least 0, got "),
            (lambda e: e.calls("dot", 3, at_most=5), ProfilerError, "not both"),
            (lambda e: e.calls("dot", at_most=1, at_least=2), ProfilerError, "can never hold"),
            (lambda e: e.calls("dot", 3, lane="forwards"), UnknownNameError, "no lane named 'forwards'"),
            (lambda e: e.calls("dot", 3, layer=0), ProfilerError, "must be the name of a layer, got 0"),
            (lambda e: e.densify_at_most(-1), ProfilerError,
             r"number of densify_at_most\(\) must be an integer of at least 0, got -1\."),
            (lambda e: e.peak_below(float("nan")), ProfilerError, r"A size must be a number and a unit of bytes, got nan\."),
            (lambda e: e.peak_below(None), ProfilerError, r"A size must be a number and a unit of bytes, got None\."),
            (lambda e: e.peak_below(True), ProfilerError, r"A size must be a number and a unit of bytes, got True\."),
            (lambda e: e.peak_below("9" * 400 + " TB"), ProfilerError, "A size must be a number and a unit of bytes, got "),
            (lambda e: e.peak_below(0), ProfilerError, "must be above 0 bytes, got "),
            (lambda e: e.storage("dot", "csr, default"), ProfilerError, "must be the storage types of a call, got "),
            (lambda e: e.storage("dot", "crs -> default"), UnknownNameError, "no storage type named 'crs'"),
            (lambda e: e.storage(None, "csr -> default"), ProfilerError, "must be a name, got "),
            (lambda e: e.grad_rows("dense0.weight", at_most=None), ProfilerError, "must be an integer of at least 0, got "),
            (lambda e: e.grad_rows(7, at_most=1), ProfilerError, "must be a name, got "),
            (lambda e: e.update_rows(at_most="many"), ProfilerError, "must be an integer of at least 0, got "),
            (lambda e: e.update_rows(5, op=""), ProfilerError, "must be a name, got "),
            (lambda e: e.bytes_moved_below(float("nan")), ProfilerError, "A size must be a number and a unit of bytes, got "),
            (lambda e: e.bytes_moved_below("1 MB", op=3), ProfilerError, "must be a name, got "),
            (lambda e: e.bytes_moved_below("1 MB", lane="all"), UnknownNameError, "no lane")]


@pytest.mark.parametrize(("check", "error", "message"), MISTAKES)
def test_every_mistake_is_named_where_it_is_made(clean, check, error, message):
    with pytest.raises(error, match=message) as caught:
        check(expect(clean))
    assert caught.value.hint
    with pytest.raises(error, match=message):
        check(expect())


def test_a_contract_on_what_is_not_there_does_not_hold(clean, library):
    with pytest.raises(ContractError, match="no update by sdg_update was seen"):
        expect(clean).update_rows(5, op="sdg_update")
    with pytest.raises(ContractError, match="dto never ran"):
        expect(clean).bytes_moved_below("1 MB", op="dto")
    with Profiler() as prof:
        library.run("add", (), library.dense(2))
    with pytest.raises(ContractError, match="no update was seen"):
        expect(prof).update_rows(5)
    assert repr(expect(clean).calls("dto", at_most=3)) == "1 contract holds: calls('dto', at_most=3) (it never ran)"
    assert repr(expect(clean).calls("dto", at_most=0)) == "1 contract holds: calls('dto', at_most=0)"


@pytest.mark.parametrize("check", [
    lambda e: e.no_densify(), lambda e: e.densify_at_most(3), lambda e: e.peak_below("1 GB"),
    lambda e: e.storage("x", "default -> default"), lambda e: e.update_rows(5), lambda e: e.bytes_moved_below("1 GB")])
def test_what_another_profiler_did_not_record_is_not_judged(tmp_path, check):
    path = tmp_path / "t.json"
    path.write_text('[{"name": "x", "ph": "X", "ts": 1, "dur": 2}]')
    with pytest.raises(ContractError, match="A trace of another profiler does not say"):
        check(expect(load(path)))
    expect(load(path)).calls("x", 1)


def test_nothing_that_never_ran_is_held_to_anything():
    with pytest.raises(ProfilerError, match="has recorded nothing yet"):
        expect(Profiler())
    with pytest.raises(ProfilerError, match="needs at least one contract"):
        expect()(print)


def marked(**kwargs):
    return SimpleNamespace(name="sparse_contract", args=(), kwargs=kwargs)


def test_a_marker_says_of_torch_whether_it_is_recorded():
    assert pytest_guard.mistake(marked(no_densify=True, torch=None)) == ""
    said = pytest_guard.mistake(marked(no_densify=True, torch="yes"))
    assert "torch must be True, False or None, got 'yes'." in said


def test_a_guard_waits_for_another_profiler_only_in_the_background():
    background = pytest_guard.Guard([], False)
    asked = pytest_guard.Guard([marked(no_densify=True)], False)
    with Profiler():
        background.begin()
        with pytest.raises(ProfilerError, match="Another profiler is recording"):
            asked.begin()
    assert background.row() is None
