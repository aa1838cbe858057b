"""Choose the settings of the examples in tests by their scores in validation; nothing is tested.

    python tests/examples/choose_settings.py tests/golden/example_settings.json [NAME ...]
"""

import json
import sys
from pathlib import Path

import kept_data

from sparsekit.examples import NAMES, running


def main():
    path = Path(sys.argv[1])
    found = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    for name in sys.argv[2:] or NAMES:
        print(name)
        options = kept_data.options_of(name)
        choice = running.choose(kept_data.kind_of(name), kept_data.data_of(name, options), options)
        found[name] = {"settings": choice.settings, "validation": choice.score}
        path.write_text(json.dumps(found, indent=1, sort_keys=True) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
