"""Estimators for scikit-learn: linear models and factorization machines on sparse data.

They have scikit-learn's interface, go into its pipelines and searches, and train with ``gluon.TrainStep`` on csr batches.  They
need scikit-learn: ``pip install 'sparsekit[sklearn]'``.
"""

from __future__ import annotations

from ..base.optional import optional_import

optional_import("sklearn", "sklearn", "sparsekit.sklearn")

from .estimators import (  # noqa: E402 - scikit-learn is needed to define them
    FactorizationMachineClassifier,
    FactorizationMachineRegressor,
    SparseClassifier,
    SparseRegressor,
)

__all__ = ["FactorizationMachineClassifier", "FactorizationMachineRegressor", "SparseClassifier", "SparseRegressor"]
