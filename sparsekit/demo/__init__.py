"""``sparsekit demo``: train on real text three ways, compare time and memory, write an HTML report."""

from .command import main

__all__ = ["main"]
