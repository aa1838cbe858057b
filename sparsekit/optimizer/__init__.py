"""Optimizers: ``mx.optimizer``."""

from __future__ import annotations

from .optimizer import SGD, Optimizer, Updater, create, get_updater, register

__all__ = ["SGD", "Optimizer", "Updater", "create", "get_updater", "register"]
