"""numba kernels over numpy buffers; indices have been validated before they get here."""
