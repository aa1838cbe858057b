"""Operators of MXNet that the course, the layers and the optimizers do not use."""
