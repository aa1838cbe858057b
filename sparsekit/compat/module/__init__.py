"""Modules that contain other modules or Python functions, and ``FeedForward``."""
