"""Records what the rivals' side of ``sparsekit/docs/coming_from.md`` prints, for those that this Python has.

    PYTHON tests/oracle/record_coming_from.py          adds to tests/golden/coming_from.json
    PYTHON tests/oracle/record_coming_from.py NAME     prints what the section of that rival prints, as JSON

Run it with one Python after the other: one that has MXNet 1.9.1, one with PyTorch, one with JAX, one with scipy.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
import json
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "docs"))

import coming_from  # noqa: E402

GOLDEN = ROOT / "tests" / "golden" / "coming_from.json"


def main(names):
    if names:
        print(json.dumps(coming_from.run([theirs for theirs, _ in coming_from.pairs(names[0])])))
        return
    known = json.loads(GOLDEN.read_text(encoding="utf-8")) if GOLDEN.exists() else {}
    for rival, package in coming_from.PACKAGES.items():
        if importlib.util.find_spec(package):
            theirs = [snippet for snippet, _ in coming_from.pairs(rival)]
            known[rival] = {"version": importlib.metadata.version(package), "snippets": theirs,
                            "printed": coming_from.run(theirs)}
            print(f"recorded {rival} {known[rival]['version']}")
    GOLDEN.write_text(json.dumps(known, indent=1, sort_keys=True) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
