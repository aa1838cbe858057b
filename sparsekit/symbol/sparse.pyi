"""Operators of ``mx.sym.sparse``.

Written by ``python tests/stubs.py``; a test compares it with that.
"""

from .operators import *
