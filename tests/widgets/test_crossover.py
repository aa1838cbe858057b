"""The crossover explorer: memory is that of real arrays, time that of the grid, break-evens where curves cross."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

import sparsekit as mx
from sparsekit.base.errors import ParameterError, UnknownNameError, UnsupportedError
from sparsekit.widgets import crossover_figure
from sparsekit.widgets.break_even import crossover_payload
from sparsekit.widgets.crossover_model import FORMATS, Grid, Setting, break_evens, estimate_time, load_grid, memory


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("index_dtype", ["int32", "int64"])
def test_memory_is_that_of_the_arrays(dtype, index_dtype):
    rows, batch, units, stored = 200, 8, 5, 40
    places = np.sort(np.random.default_rng(0).choice(rows * batch, stored, replace=False))
    csr = mx.nd.sparse.csr_matrix((np.ones(stored), places % rows, np.searchsorted(places, np.arange(batch + 1) * rows)),
                                  shape=(batch, rows), dtype=dtype, index_dtype=index_dtype)  # fmt: skip
    dense = mx.nd.ones((batch, units), dtype=dtype)
    gradient = mx.nd.dot(csr, dense, transpose_a=True, forward_stype="row_sparse")
    setting = Setting(dtype, index_dtype, rows, units, batch, stored / (rows * batch))
    assert memory("csr", setting)["batch"] == csr._store.nbytes
    assert memory("dense", setting)["batch"] == csr.tostype("default").asnumpy().nbytes
    assert memory("csr", setting)["gradient"] == gradient.asnumpy().nbytes
    # Rows that random places touch are an expectation: for the rows really touched the bytes agree.
    real = gradient._store.nbytes / len(gradient.indices.asnumpy())
    width = np.dtype(dtype).itemsize * units + gradient.indices.asnumpy().itemsize
    assert real == width
    assert setting.touched == pytest.approx(len(gradient.indices.asnumpy()), rel=0.15)


def test_touched_rows_are_bounded():
    assert Setting(rows=100, batch=5, density=1.0).touched == 100
    assert Setting(rows=100, batch=5, density=0.0).touched == 0
    assert Setting(rows=10**6, batch=8, density=1e-6).touched <= 8


AXES = {"dtype": ["float32"], "index_dtype": ["int64"], "rows": [10, 100], "units": [1, 4], "batch": [2, 8],
        "density": [0.01, 1.0]}  # fmt: skip


def linear(rows, units, batch, density):
    return 5 + 0.1 * rows * units * batch * density + 0.3 * rows * units


def made(holes=()):
    cells = list(itertools.product(*(AXES[name] for name in ("rows", "units", "batch", "density"))))
    sparse = [None if cell in holes else linear(*cell) for cell in cells]
    dense = [2.0 * linear(*cell, 1.0) for cell in itertools.product(AXES["rows"], AXES["units"], AXES["batch"])]
    return Grid(AXES, {"csr": sparse, "row_sparse": sparse, "dense": dense})


@pytest.mark.parametrize("place", [(10, 1, 2, 0.01), (100, 4, 8, 1.0), (37, 3, 5, 0.2), (99, 1, 7, 0.011)])
def test_interpolation_is_exact_where_costs_are_products_of_sizes(place):
    setting = Setting("float32", "int64", *place)
    time, beyond = estimate_time(made(), "csr", setting)
    assert time == pytest.approx(linear(*place))
    assert not beyond
    assert estimate_time(made(), "dense", setting)[0] == pytest.approx(2 * linear(*place[:3], 1.0))


def test_outside_the_grid_is_said():
    assert estimate_time(made(), "csr", Setting("float32", "int64", 1000, 1, 2, 0.5))[1]
    assert estimate_time(made(), "csr", Setting("float16", "int64", 10, 1, 2, 0.5)) == (None, True)
    time, beyond = estimate_time(made({(100, 4, 8, 1.0)}), "csr", Setting("float32", "int64", 100, 4, 8, 1.0))
    # Scaled by the work from the nearest smaller cell that was measured.
    assert time == pytest.approx(linear(100, 4, 8, 0.01) * 100)
    assert beyond


def test_break_evens_are_where_the_smallest_changes():
    densities = [10.0**i for i in range(-4, 1)]
    curves = {"dense": [1.0] * 5, "csr": [0.01, 0.1, 0.5, 5.0, 50.0], "row_sparse": [None] * 5}
    ((density, before, after),) = break_evens(densities, curves)
    assert (before, after) == ("csr", "dense")
    assert density == pytest.approx(1e-2 * 10 ** (math.log(2) / math.log(10)))


def test_the_grid_that_comes_along_was_measured():
    facts = load_grid()
    assert facts["command"].startswith("sparsekit bench crossover")
    sizes = {name: len(values) for name, values in facts["axes"].items()}
    whole = math.prod(sizes.values())
    assert len(facts["times"]["csr"]) == len(facts["times"]["row_sparse"]) == whole
    assert len(facts["times"]["dense"]) == whole // sizes["density"] // sizes["index_dtype"]
    for kind in FORMATS:
        known = [time for time in facts["times"][kind] if time is not None]
        assert len(known) > 0.6 * len(facts["times"][kind])
        assert all(0 < time < 1e8 for time in known)
    assert facts["checked"] >= 20


def test_the_picture_states_the_finding():
    shown = crossover_figure()
    assert "csr + row-sparse gradient takes least memory" in shown.alt
    assert "Dense wins in memory above" in shown.alt
    assert [row[0] for row in shown.rows] == ["dense", "csr + dense gradient", "csr + row-sparse gradient"]
    assert shown.svg == crossover_figure().svg
    assert "<b>" not in crossover_figure("<b>").svg


@pytest.mark.parametrize("options", [
    {"density": 0}, {"density": 1}, {"rows": 1, "units": 1, "batch": 1}, {"rows": 1e6, "batch": np.int64(8)},
    {"rows": 10**12, "units": 10**6, "batch": 10**6, "density": 1e-9}, {"dtype": "float16"}])  # fmt: skip
def test_odd_settings_are_drawn(options):
    assert crossover_figure(**options).rows


def test_unknown_types_are_named():
    with pytest.raises(UnknownNameError, match="float33"):
        crossover_figure(dtype="float33")
    with pytest.raises(UnknownNameError, match="int16"):
        crossover_figure(index_dtype="int16")


@pytest.mark.parametrize("options", [
    {"density": 5}, {"density": -0.1}, {"density": math.nan}, {"density": "much"}, {"density": None}, {"density": True},
    {"rows": -1}, {"rows": 0}, {"rows": math.inf}, {"rows": 2.5}, {"rows": 10**400}, {"units": -3}, {"units": True},
    {"batch": "x"}, {"batch": None}, {"grid": {"axes": 3}}, {"grid": "here"}])  # fmt: skip
@pytest.mark.parametrize("display", [crossover_figure, crossover_payload])
def test_what_cannot_be_meant_is_refused_by_name(display, options):
    with pytest.raises(ParameterError, match=f"^{next(iter(options))}=? must ") as caught:
        display(**options)
    assert caught.value.hint


def test_options_that_there_are_none_of_are_named():
    with pytest.raises(UnknownNameError, match="'densty'") as caught:
        crossover_figure(densty=0.5)
    assert "'density'" in caught.value.hint


def test_a_profile_has_its_place_on_the_map():
    weight = mx.nd.ones((300, 4))
    weight.attach_grad(stype="row_sparse")
    places = np.arange(12)
    batch = mx.nd.sparse.csr_matrix((np.ones(12), places * 25, [0, 4, 8, 12]), shape=(3, 300), dtype="float32")
    with mx.Profiler() as prof:
        for _ in range(2):
            with mx.autograd.record():
                loss = mx.nd.sparse.dot(batch, weight).sum()
            loss.backward()
    sent = crossover_payload(profile=prof)
    assert sent["setting"] == {"dtype": "float32", "index_dtype": "int64", "rows": 300, "units": 4, "batch": 3,
                               "density": pytest.approx(12 / 900)}
    here = sent["here"]
    assert here["kind"] == "row_sparse"
    assert here["memory"] == batch._store.nbytes + weight.grad._store.nbytes
    spent = sum(record["self"] for record in prof.records if record["name"] in ("dot", "sparse.dot"))
    assert here["time"] == pytest.approx(spent / 2)
    shown = crossover_figure(profile=prof, units=8)
    assert "you are here" in shown.svg
    assert "Your profile, with csr + row-sparse gradient" in shown.alt
    assert "8 units" in shown.alt
    with pytest.raises(UnsupportedError, match="no product of a csr batch"):
        crossover_figure(profile=[record for record in prof.records if record["name"] == "sum"])


def test_ratios_are_above_one():
    assert [row[4] for row in crossover_figure().rows] == ["", "1.5× less", "226× less"]
    assert crossover_figure().rows[2][6].endswith("× faster")
    assert crossover_figure(density=0.9).rows[1][6].endswith("× slower")
