"""Recorded runs of one network on one scale of time: the program behind README's timeline.

    python profiles/timeline.py profiles/timeline.svg

`sparsekit bench variants` records the runs, in profiles/variants.
"""

from __future__ import annotations

import sys
from pathlib import Path

from sparsekit import profiler

RUNS = {"dense gradient": "sparse_forward", "row-sparse gradient": "row_sparse"}

if __name__ == "__main__":
    runs = {name: Path(__file__).parent / "variants" / f"{file}.npz" for name, file in RUNS.items()}
    print(profiler.merge(runs).timeline().save(sys.argv[1]))
