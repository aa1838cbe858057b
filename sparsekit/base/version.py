"""The version, written here and nowhere else."""

from __future__ import annotations

__all__ = ["__version__"]

__version__ = "0.9.0"
