import numpy as np

from sparsekit.core import hooks
from sparsekit.profiler import Profiler
from sparsekit.profiler.stored import MAX_SAMPLES


def test_the_peak_is_exact_and_its_table_adds_up(library):
    with Profiler() as prof:
        first = library.run("zeros", (), library.dense(100))
        second = library.run("add", (first,), library.dense(200))
        del first
        third = library.run("sum", (second,), library.dense(1))
        del second, third
    memory = prof.memory
    assert memory["peak_bytes"] == 1200
    assert sum(row["bytes"] for row in memory["at_peak"]) == 1200
    assert [row["bytes"] for row in memory["at_peak"]] == [800, 400]
    assert memory["samples"][-1][1] == 0
    assert max(total for _, total, _ in memory["samples"]) == 1200
    assert all(sum(roles.values()) == total for _, total, roles in memory["samples"])
    assert memory["process_peak_bytes"] > 1200


def test_what_is_freed_before_an_operator_does_not_count_with_its_result(library):
    with Profiler() as prof:
        for _ in range(10):
            array = library.run("zeros", (), library.dense(100))
            del array
    assert prof.memory["peak_bytes"] == 400


def test_what_a_fallback_made_dense_counts_together_with_its_result(library):
    def fall_back():
        library.run(library.plan("cast_storage", lane="convert"), (), library.dense(1000))

    with Profiler() as prof:
        result = library.run("take", (), lambda: library.dense(100), inside=fall_back)
    assert prof.memory["peak_bytes"] == 4400
    del result
    roles = {row["role"] for row in prof.memory["at_peak"]}
    assert roles == {"workspace", "activation"}


def test_a_view_is_charged_to_its_base_once(library):
    base = library.dense(10, 10)
    with Profiler() as prof:
        view = library.run("slice", (base,), base[2:4])
        library.run("reshape", (view,), view.reshape(20)[1:])
    assert prof.memory["peak_bytes"] == 400
    assert len(prof.memory["at_peak"]) == 1


def test_roles_are_given_before_or_after_and_hold_for_the_whole_life(library):
    before, after = library.dense(10), library.dense(20)
    holders = [library.Array(before), library.Array(after)]
    hooks.assign(holders[0], "parameter", "dense0_weight")
    with Profiler() as prof:
        library.run("add", (before,), after)
        hooks.assign(holders[1], "optimizer state", "dense0_weight")
    roles = {row["bytes"]: (row["role"], row["owner"]) for row in prof.memory["at_peak"]}
    assert roles == {40: ("parameter", "dense0_weight"), 80: ("optimizer state", "dense0_weight")}
    assert set(prof.memory["samples"][-1][2]) == {"parameter", "optimizer state"}


def test_arrays_with_lasting_roles_that_take_part_are_there_from_the_start(library):
    used, idle = library.Array(library.dense(10)), library.Array(library.dense(1000))
    hooks.assign(used, "parameter", "weight")
    hooks.assign(idle, "parameter", "other model's weight")
    with Profiler() as prof:
        temporary = library.run("zeros", (), library.dense(100))
        del temporary
        library.run("add", (used._store,), library.dense(1))
    assert prof.memory["peak_bytes"] == 440
    assert prof.memory["idle_bytes"] == 4000
    assert prof.memory["samples"][0] == [0, 40, {"parameter": 40}]
    assert {row["owner"] for row in prof.memory["at_peak"]} == {"weight", "zeros"}


def test_a_parameter_that_is_freed_during_the_run_counts_until_then(library):
    holder = library.Array(library.dense(1000))
    hooks.assign(holder, "parameter", "weight")
    with Profiler() as prof:
        library.run("norm", (holder._store,), library.dense(1))
        del holder
        library.run("zeros", (), library.dense(10))
    assert prof.memory["peak_bytes"] == 4004
    assert prof.memory["samples"][-1][1] == 0
    assert [row["owner"] for row in prof.memory["at_peak"]] == ["weight", "norm"]


def test_an_update_tells_gradient_and_state(library, step):
    with Profiler() as prof:
        step(rows=4)
    rows = {(row["role"], row["component"]): row for row in prof.memory["at_peak"]}
    assert rows["gradient", "data"]["owner"] == "dense0_weight"
    assert rows["gradient", "data"]["stype"] == "row_sparse"
    assert rows["gradient", "indices"]["bytes"] == 32
    assert rows["parameter", "data"]["bytes"] == 32000
    assert {component for role, component in rows if role == "input"} == {"data", "indices", "indptr"}
    assert prof.gradient_rows == {"dense0_weight": 4}


def test_a_lasting_sparse_array_keeps_its_role_when_its_components_are_replaced(library):
    gradient = library.row_sparse(0, (100, 8))
    holder = library.Array(gradient)
    hooks.assign(holder, "gradient", "embedding0_weight")
    with Profiler() as prof:
        made = library.run("dot", (), library.row_sparse(7, (100, 8)))
        gradient.replace(made)
        del made
        library.run("square_sum", (gradient,), library.dense(1))
    assert prof.gradient_rows == {"embedding0_weight": 7}
    assert {(row["role"], row["bytes"]) for row in prof.memory["at_peak"] if row["stype"] == "row_sparse"} == {
        ("gradient", 224), ("gradient", 56)}


def test_samples_are_bounded_and_the_peak_survives(library):
    with Profiler() as prof:
        for number in range(3 * MAX_SAMPLES):
            size = 1000 if number == MAX_SAMPLES else 1 + number % 2
            array = library.run("zeros", (), np.zeros(size, np.uint8))
            del array
    assert len(prof.memory["samples"]) <= 2 * MAX_SAMPLES
    assert prof.memory["peak_bytes"] == 1000
    assert max(total for _, total, _ in prof.memory["samples"]) == 1000
    times = [time for time, _, _ in prof.memory["samples"]]
    assert times == sorted(times)
