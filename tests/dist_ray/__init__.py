"""Tests with processes that Ray starts."""
