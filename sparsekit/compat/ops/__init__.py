"""Operators that MXNet has and neither the course nor any layer or optimizer uses."""
