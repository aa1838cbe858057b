"""CPU kernels in numpy and scipy, for machines without numba; the twins of ``kernels/cpu``."""
