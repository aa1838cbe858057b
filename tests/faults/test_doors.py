"""Nothing that a user holds leads to the structure of a sparse array, which kernels rely on without looking."""

from __future__ import annotations

from pathlib import Path

import programs
import pytest


@pytest.mark.thorough
def test_nothing_public_leads_to_the_structure_of_a_sparse_array():
    done = programs.run(Path(__file__).with_name("doors.py").read_text(encoding="utf-8"), timeout=400)
    assert done.check().splitlines() == ["done"], done.stderr[-500:]
