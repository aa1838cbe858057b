"""Modules that wrap other modules or plain Python, and the model before modules."""
