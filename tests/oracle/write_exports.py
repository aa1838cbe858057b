"""Write the networks of ``exports.json`` as sparsekit exports them; run by sparsekit's Python, for ``record_reads.py``.

    python tests/oracle/write_exports.py FOLDER
"""

import importlib.util
import sys
from pathlib import Path

HERE = Path(__file__).parent

reads = HERE.parent / "golden" / "reads.json"
if not reads.exists():
    reads.write_text('{"cases": []}', encoding="utf-8")
spec = importlib.util.spec_from_file_location("test_export", HERE.parent / "gluon" / "test_export.py")
module = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)
for name in module.CASES:
    folder = Path(sys.argv[1]) / name
    folder.mkdir(parents=True, exist_ok=True)
    module.network(name).export(folder / "net")
