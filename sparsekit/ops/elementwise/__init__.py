"""Operators that compute each element by itself, of one array, of two, or of an array and a number."""
