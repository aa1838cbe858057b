"""Operators as records, their dispatch, and the graph of recorded calls."""
