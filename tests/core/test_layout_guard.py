"""The guard of tables: no wrong layout of memory passes it, and none ends the process."""

import subprocess
import sys
import warnings

import numpy as np
import pytest

import sparsekit as mx
from sparsekit import doctor
from sparsekit.base import layout
from sparsekit.core import apart
from sparsekit.core.table import machine
from tests.calls import initialized, refused

NAMES = ("CLASS", "ITEMS", "MEMORY", "SIZES", "DTYPE", "FLAGS", "KIND")

pytestmark = pytest.mark.skipif(bool(machine.reason_against_tables()), reason=machine.reason_against_tables() or "-")

#: Asks the guard about layouts, one by one; what it prints last before a crash is the layout that it crashed at.
ASK = """
import sys
from sparsekit.core.table import machine
from sparsekit.kernels.cpu import table_rows

for line in sys.stdin:
    name, offset = line.split()
    right = getattr(table_rows, name)
    setattr(table_rows, name, int(offset))
    print(name, offset, end=" ", flush=True)
    machine.reason_against_tables.cache_clear()
    machine.unknown_layout.cache_clear()
    print(machine.reason_against_tables() or "accepted", flush=True)
    setattr(table_rows, name, right)
"""


def answers(layouts):
    """For each layout what the guard said, or what became of the process."""
    found, waiting = {}, list(layouts)
    while waiting:
        text = "".join(f"{name} {offset}\n" for name, offset in waiting)
        done = subprocess.run([sys.executable, "-c", ASK], input=text, capture_output=True, text=True, timeout=300)
        for line in done.stdout.splitlines():
            name, offset, *said = line.split(maxsplit=2)
            found[name, int(offset)] = said[0] if said else f"ended with {done.returncode}: {done.stderr}"
        left = [one for one in waiting if one not in found]
        if len(left) == len(waiting):
            raise AssertionError(done.stderr)
        waiting = left
    return found


def right(name):
    return getattr(machine.load("sparsekit.kernels.cpu.table_rows"), name)


def test_every_wrong_layout_is_refused_the_right_one_is_not_and_none_ends_the_process():
    far = (-8, -1, 3, 1 << 20, 1 << 40, -(1 << 40), (1 << 63) - 8)
    found = answers([(name, offset) for name in NAMES for offset in (*range(0, 136, 4), *far)])
    assert len(found) == len(NAMES) * 41
    accepted = {one: said for one, said in found.items() if "not where" not in said}
    assert accepted == {(name, right(name)): "accepted" for name in NAMES}


def test_a_pointer_to_nowhere_is_not_followed():
    held = np.arange(3)
    assert layout._word_behind(held.ctypes.data + 8) == 1
    assert [layout._word_behind(pointer) for pointer in (None, 0, 1, 8, 1 << 46, (1 << 64) - 8)] == [None] * 6


def forget():
    for one in (machine.reason_against_tables, machine.unknown_layout):
        one.cache_clear()


@pytest.fixture
def unchecked(monkeypatch):
    """A version of numpy that nobody has checked."""
    monkeypatch.setattr(layout, "NUMPYS", {(9, 9)})
    monkeypatch.setattr(apart, "_warned", [])
    forget()
    yield f"numpy {np.__version__} has not been checked"
    forget()


def trained(steps=6, strict=False):
    mx.random.seed(1)
    net = initialized(mx.gluon.nn.Dense(2, in_units=3), mx.init.One(), hybrid=True)
    trainer = mx.gluon.Trainer(net.collect_params(), "sgd")
    step = mx.gluon.TrainStep(net, mx.gluon.loss.L2Loss(), trainer, strict=strict)
    losses = [step(mx.nd.ones((4, 3)), mx.nd.zeros((4, 2))).asnumpy() for _ in range(steps)]
    return net, step, np.array(losses)


def test_versions_that_nobody_checked_read_no_memory_and_say_so_once(unchecked, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(layout, "NUMPYS", {tuple(map(int, np.__version__.split(".")[:2]))})
        before = trained()[2]
    forget()

    def read(*_):
        raise AssertionError("memory was read")

    for name in ("own_word", "_word_behind"):
        monkeypatch.setattr(layout, name, read)
    monkeypatch.setattr(layout.ctypes, "string_at", read)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        net, step, losses = trained()
        mx.gluon.hybrid.explain(net)
        trained()
    assert [str(one.message).count(unchecked) for one in said] == [1]
    assert said[0].filename == __file__
    np.testing.assert_array_equal(losses, before)
    ((where, op, why),) = [row.values() for row in step.explain()]
    assert (where, op) == ("", "")
    assert unchecked in why
    assert all(unchecked in row["reason"] for row in mx.gluon.hybrid.explain(net))
    refused(mx.base.errors.UnsupportedError, unchecked, trained, strict=True)


@pytest.mark.parametrize(("name", "value"), [("version_info", (3, 99, 0)), ("byteorder", "big"), ("maxsize", 1 << 31)])
def test_other_interpreters_and_processors_are_refused_by_name(monkeypatch, name, value):
    assert layout.unknown_versions() == ""
    monkeypatch.setattr(layout.sys, name, value)
    assert layout.unknown_versions() != ""


def test_another_interface_of_numpy_is_refused(monkeypatch):
    monkeypatch.setattr(layout, "INTERFACE", 0x3000000)
    assert "interface 0x2000000 has not been checked" in layout.unknown_versions()


def test_another_name_of_the_structure_of_loops_is_refused(monkeypatch):
    monkeypatch.setattr(machine, "CAPSULE", b"numpy_9.9_ufunc_call_info")
    monkeypatch.setattr(machine, "_loops", {})
    assert "the structure of numpy's inner loops is unknown" in machine._loop_differs()


def test_the_doctor_says_where_steps_run(monkeypatch):
    assert doctor.steps_finding() == doctor.Finding("compiled steps", "in tables of compiled calls")
    monkeypatch.setattr(doctor, "STEPS", "import sparsekit.base.layout as one; one.NUMPYS = {(9, 9)}\n" + doctor.STEPS)
    found = doctor.steps_finding()
    assert found.value.startswith("in Python, which is slower: the memory layout of Python 3.")
    assert found.remedy.endswith("with numpy 9.9")
