"""CUDA kernels through cupy, mirroring ``kernels/cpu`` file by file."""
