"""Record what the names that old programs use give in MXNet; the calls are in ``compat_cases.py``."""

import sys
from pathlib import Path

import mxnet as mx
import recording

sys.path.insert(0, str(Path(__file__).resolve().parent))
from compat_cases import CASES

recording.save(sys.argv[1], {"cases": [[case.__name__, case(mx)] for case in CASES]})
