"""Operators that give one value for many: sums and other statistics, and orders."""
