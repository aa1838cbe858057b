"""The examples in MXNet's docstrings: found, run, and compared with what MXNet 1.9.1 gives."""
