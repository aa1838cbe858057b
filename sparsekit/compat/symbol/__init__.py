"""Operators of symbols that hold graphs or run Python: loops, branches and operators of the user's own."""
