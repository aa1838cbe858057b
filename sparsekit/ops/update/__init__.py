"""Optimizers' steps."""
