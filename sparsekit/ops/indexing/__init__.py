"""Operators that read or write elements at places: slices, take, gather, scatter, sequences."""
