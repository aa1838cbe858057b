"""Operators that change or return the shape: reshaping, transposing, joining, repeating, splitting."""
