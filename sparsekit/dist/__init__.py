"""Training on several machines: servers that hold the values, and workers that push gradients to them."""
