"""Operators that change or tell the shape: reshaping, transposing, joining, repeating, splitting."""
