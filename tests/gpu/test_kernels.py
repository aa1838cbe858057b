"""What GPU kernels do with arrays that have gaps, and with rows outside; ``test_grids.py`` holds each to its CPU twin."""

from __future__ import annotations

import fake_cupy
import numpy as np

from sparsekit.kernels import for_device
from sparsekit.kernels.gpu import launch


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
