"""Layers' operators: fully connected, activations, dropout, normalization, softmax, outputs with losses."""
