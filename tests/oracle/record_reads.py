"""Record that MXNet reads what sparsekit exports: what each network computes there, and the digest of its file.

    python tests/oracle/record_reads.py tests/golden/reads.json FOLDER

with what ``write_exports.py FOLDER`` has written.
"""

import hashlib
import json
import sys
from pathlib import Path

import mxnet as mx
import record_exports
import recording

records = []
facts = json.loads((Path(__file__).parents[1] / "golden" / "exports.json").read_text(encoding="utf-8"))
for case in facts["cases"]:
    folder = Path(sys.argv[2]) / case["net"]
    path = folder / "net-symbol.json"
    names = ["data"] if len(case["inputs"]) == 1 else [f"data{place}" for place in range(len(case["inputs"]))]
    block = mx.gluon.SymbolBlock.imports(str(path), names, str(folder / "net-0000.params"))
    made = block(*[mx.nd.array(values) for values in case["inputs"]])
    records.append({"net": case["net"], "sha256": hashlib.sha256(path.read_bytes()).hexdigest(),
                    "outputs": record_exports.arrays(made)})
recording.save(sys.argv[1], {"cases": records})
