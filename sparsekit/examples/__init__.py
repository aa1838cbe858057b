"""Examples: typical models for sparse data.

    python -m sparsekit.examples.linear_classification
    python -m sparsekit.examples.factorization_machine --epochs 3 --profile trace.json

Each module trains one model on real data that comes along.  It first takes a few steps in dense and in sparse
storage, from the same initial values, and then trains the sparse model.  ``running`` is the code that they share.
"""

from __future__ import annotations

__all__ = ["NAMES"]

#: The examples, the simplest first.
NAMES = ("linear_classification", "factorization_machine", "matrix_factorization", "wide_and_deep", "language_model")
