"""Models that people train on sparse data, to run, to read and to copy.

    python -m sparsekit.examples.linear_classification
    python -m sparsekit.examples.factorization_machine --epochs 3 --profile trace.json

Each module trains one model on real data that every installation carries, first a few steps in dense and in sparse
storage, from the same initial values, and then the sparse one to the end.  ``running`` holds what they share.
"""

from __future__ import annotations

__all__ = ["NAMES"]

#: The examples, from the simplest on.
NAMES = ("linear_classification", "factorization_machine", "matrix_factorization", "wide_and_deep", "language_model")
