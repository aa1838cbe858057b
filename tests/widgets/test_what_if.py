"""What the peak would have been: the recomputed bytes are those that the changed arrays really take."""

from __future__ import annotations

import pytest

from sparsekit.base.errors import UnknownNameError
from sparsekit.widgets import what_if_figure
from sparsekit.widgets.what_if import alive_if, live_memory, run_of


def part(owner, role, stype, shape, component, size, dtype=None):
    return {"owner": owner, "role": role, "stype": stype, "shape": shape, "component": component, "bytes": size,
            "dtype": dtype}  # fmt: skip


def model(typed=True, gradient_rows=None):
    kinds = {"data": "float32", "indices": "int64", "indptr": "int64"}
    parts = [("weight", "parameter", "default", [1000, 8], "data", 32_000),
             ("weight", "optimizer state", "default", [1000, 8], "data", 32_000),
             ("weight", "gradient", "row_sparse", [1000, 8], "data", 50 * 32),
             ("weight", "gradient", "row_sparse", [1000, 8], "indices", 400),
             ("batch", "input", "csr", [10, 1000], "data", 240),
             ("batch", "input", "csr", [10, 1000], "indices", 480),
             ("batch", "input", "csr", [10, 1000], "indptr", 88),
             ("dot", "activation", "default", [10, 8], "data", 320)]  # fmt: skip
    alive = [part(*values, kinds[values[4]] if typed else None) for values in parts]
    return {"at_peak": alive, **({"gradient_rows": gradient_rows} if gradient_rows else {})}


def total(memory, **options):
    sizes = {}
    for item in alive_if(run_of(memory), **options).alive:
        sizes[item.role] = sizes.get(item.role, 0) + item.bytes
    return sizes


@pytest.mark.parametrize("typed", [True, False], ids=["types said", "types inferred"])
def test_each_switch_gives_the_bytes_of_the_changed_arrays(typed):
    memory = model(typed)
    assert total(memory) == {"parameter": 32_000, "optimizer state": 32_000, "gradient": 2000, "input": 808, "activation": 320}
    assert total(memory, index_dtype="int32") == {**total(memory), "gradient": 50 * 36, "input": 240 + 240 + 44}
    assert total(memory, value_dtype="float16")["gradient"] == 50 * 24
    assert total(memory, value_dtype="float64")["parameter"] == 64_000
    assert total(memory, gradient="default")["gradient"] == 32_000
    assert total(memory, gradient="row_sparse") == total(memory)
    assert total(memory, lazy_state=True)["optimizer state"] == 50 * 40
    double = total(memory, batch=2.0)
    assert double == {**total(memory), "gradient": 100 * 40, "input": 480 + 960 + 168, "activation": 640}
    assert total(memory, batch=1e6)["gradient"] == 1000 * 40


def test_rows_of_a_dense_gradient_come_from_the_profile_or_are_bounded_by_the_batch():
    dense = {"at_peak": [item for item in model()["at_peak"] if item["role"] != "gradient"]}
    dense["at_peak"].append(part("weight", "gradient", "default", [1000, 8], "data", 32_000, "float32"))
    assert run_of(dense).bounds == {1000: 60}
    assert total(dense, gradient="row_sparse")["gradient"] == 60 * 40
    assert "The rows of weight that a batch touches are bounded by its stored values" in what_if_figure(dense).alt
    said = {**dense, "gradient_rows": {"weight": 20}}
    assert total(said, gradient="row_sparse")["gradient"] == 20 * 40
    alone = {"at_peak": dense["at_peak"][-1:]}
    assert total(alone, gradient="row_sparse") == {"gradient": 32_000}


def test_whole_numbers_stay_what_they_are():
    memory = {"at_peak": [part("labels", "input", "default", [10], "data", 80, "int64")]}
    assert total(memory, value_dtype="float16") == {"input": 80}


def test_the_picture_compares_the_choices():
    shown = what_if_figure(model())
    assert shown.rows[0][0] == "as recorded"
    assert {row[0] for row in shown.rows} >= {"int32 indices", "float16 values", "lazy state", "dense gradients"}
    assert "with float16 values it would take" in shown.alt
    asked = what_if_figure(model(), index_dtype="int32", batch=4.0)
    assert [row[0] for row in asked.rows] == ["as recorded", "as chosen"]
    with pytest.raises(UnknownNameError):
        what_if_figure(model(), value_dtype="int32")
    with pytest.raises(UnknownNameError):
        what_if_figure(model(), index_dtype="float32")


ODD = [None, {}, {"at_peak": [
    None, {}, {"bytes": float("nan")}, {"shape": "ab", "bytes": 5, "role": "gradient"},
    {"shape": [10**12, 10**12], "stype": "row_sparse", "component": "indices", "bytes": 8}]}]  # fmt: skip


@pytest.mark.parametrize("odd", ODD, ids=range(3))
def test_odd_memory_is_drawn(odd):
    assert what_if_figure(odd).alt
    assert "model" in live_memory(odd)


LIVES = {"kinds": [["activation", "", "default", [10, 8], "data", [10, 8], "float32", 320]], "moments": [[[0, 3]]],
         "batch": 10, "bounds": {}}  # fmt: skip


def test_moments_of_a_run_are_taken_and_other_things_in_their_place_are_not():
    shown = run_of({**model(), "lives": LIVES})
    assert shown.moments == [[(0, 3)]]
    assert alive_if(shown, value_dtype="float64").bytes == sum(total(model(), value_dtype="float64").values())
    for wrong in (7, "kinds", {}, {**LIVES, "kinds": [["a"]]}, {**LIVES, "moments": [[[1, 1]]]}, {**LIVES, "moments": None},
                  {**LIVES, "kinds": [[*LIVES["kinds"][0][:6], "<b>", 320]]}, {**LIVES, "bounds": 3},
                  {**LIVES, "kinds": [[*LIVES["kinds"][0][:3], ["x"], *LIVES["kinds"][0][4:]]]}):  # fmt: skip
        assert run_of({**model(), "lives": wrong}).moments is None
        assert live_memory({**model(), "lives": wrong})["model"]["moments"] is None
