"""Every GPU kernel against its CPU twin, on the same inputs, through device functions compiled for the processor."""

from __future__ import annotations

import inspect
import sys
from pathlib import Path

import fake_cupy
import numpy as np
import pytest

from sparsekit.kernels import FILES, for_device
from sparsekit.kernels.gpu import launch

sys.path.insert(0, str(Path(__file__).parents[1] / "kernels"))  # for the module there that is not a test

from kernel_arguments import Inputs, arguments

NAMES = sorted({name for names in FILES.values() for name in names})
ON_HOST = {"numbers", "bounds"}


def compare(name, value, index, tolerance):
    cpu, gpu = for_device("cpu"), for_device("gpu")
    given = arguments(name, Inputs(value, index))
    host = [getattr(cpu, item) if isinstance(item, str) else
            [part.copy() for part in item] if isinstance(item, list) else np.copy(item) if isinstance(item, np.ndarray) else item
            for item in given]
    names = inspect.signature(getattr(cpu, name)).parameters
    device = [getattr(gpu, item, None) if isinstance(item, str) else [fake_cupy.ndarray(part.copy()) for part in item]
              if isinstance(item, list) else fake_cupy.ndarray(item.copy())
              if isinstance(item, np.ndarray) and word not in ON_HOST else item for word, item in zip(names, given, strict=True)]
    wanted, found = getattr(cpu, name)(*host), getattr(gpu, name)(*device)
    stop = wanted if isinstance(wanted, int) and name.startswith(("csr_", "row_sparse")) else None
    for left, right in zip(flat(host), flat(device), strict=True):
        cut = stop if stop and left.shape[0] > Inputs.rows + 1 else None
        same(left[:cut], right[:cut], tolerance)
    for left, right in zip(flat(wanted if isinstance(wanted, tuple) else [wanted]),
                           flat(found if isinstance(found, tuple) else [found]), strict=True):
        same(left, right, tolerance)


def flat(values):
    for value in values:
        if isinstance(value, (list, tuple)):
            yield from flat(value)
        elif isinstance(value, fake_cupy.ndarray):
            yield value._host
        elif isinstance(value, (np.ndarray, int)) and not isinstance(value, bool):
            yield np.asarray(value) if isinstance(value, np.ndarray) else np.full(1, value)


def same(left, right, tolerance):
    if left.dtype.kind == "f":
        np.testing.assert_allclose(right.astype(float), left.astype(float), rtol=tolerance, atol=tolerance)
    else:
        np.testing.assert_array_equal(right.astype(np.int64), left.astype(np.int64))


@pytest.mark.parametrize("name", NAMES)
def test_a_kernel_gives_what_its_cpu_twin_gives(stand_in, name):
    compare(name, np.float32, np.int64, 1e-5)


@pytest.mark.parametrize("name", [name for name in NAMES if name.startswith("csr_") and name != "csr_product"])
def test_with_narrow_indices(stand_in, name):
    compare(name, np.float32, np.int32, 1e-5)


@pytest.mark.parametrize("name", ["csr_dot_dense", "csr_transposed_dot_dense", "sum_rows_grouped", "csr_add_csr"])
def test_half_precision_adds_up_in_single(stand_in, name):
    compare(name, np.float16, np.int64, 2e-3)


def test_arrays_that_are_not_contiguous_are_copied_and_written_back(stand_in):
    gpu, data = for_device("gpu"), np.arange(6, dtype=np.float32).reshape(2, 3)
    out = fake_cupy.ndarray(np.zeros((4, 6), np.float32)[:, ::2])
    gpu.copy_rows(fake_cupy.ndarray(np.asfortranarray(data)), fake_cupy.ndarray(np.array([3, 1])), out)
    np.testing.assert_array_equal(out.get(), [[0, 0, 0], [3, 4, 5], [0, 0, 0], [0, 1, 2]])


def test_a_row_outside_the_weight_is_left_out(stand_in):
    gpu, weight = for_device("gpu"), fake_cupy.ndarray(np.ones((2, 2), np.float32))
    gpu.update_rows(gpu.sgd_step, weight, fake_cupy.ndarray(np.ones((3, 2), np.float32)),
                    fake_cupy.ndarray(np.array([-1, 1, 2])), np.array([1, np.inf, 0.5, 0, *[0] * 8], np.float32), ())
    np.testing.assert_array_equal(weight.get(), [[1, 1], [0.5, 0.5]])


def test_rows_share_up_to_a_warp_of_threads():
    assert [launch.lanes_for(average) for average in (0, 1, 1.5, 3, 17, 1000)] == [1, 1, 2, 4, 32, 32]
