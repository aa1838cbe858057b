"""Operators as records, the one way to call them, and the graph they leave behind."""
