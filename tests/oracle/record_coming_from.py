"""Records what the rivals' side of ``sparsekit/docs/coming_from.md`` prints, for those that this Python has.

    PYTHON tests/oracle/record_coming_from.py tests/golden/coming_from.json NAME     records the section of that rival anew
    PYTHON tests/oracle/record_coming_from.py NAME                                   prints what it prints, as JSON

The Python has to have the rival's package.
"""

import importlib.metadata
import json
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "docs"))

import coming_from  # noqa: E402


def main(target, name):
    """Print the section of a rival, or put it into a file."""
    theirs = [theirs for theirs, _ in coming_from.pairs(name)]
    printed = coming_from.run(theirs)
    if target is None:
        print(json.dumps(printed))
        return
    known = json.loads(target.read_text(encoding="utf-8")) if target.exists() else {}
    known[name] = {"version": importlib.metadata.version(coming_from.PACKAGES[name]), "snippets": theirs, "printed": printed}
    target.write_text(json.dumps(known, indent=1, sort_keys=True) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 2 else None, sys.argv[-1])
