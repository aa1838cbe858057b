"""Record what cupy offers, for the stand-in that tests run on: needs cupy, and no GPU.

    python tests/oracle/record_cupy.py tests/golden/cupy.json
"""

from __future__ import annotations

import inspect
import json
import re
import sys
from pathlib import Path
from typing import Any

import cupy
import cupyx.scipy.special


def parameters(function: Any) -> list[str] | None:
    """Names of the parameters, None if neither the signature nor the first line of the documentation says them."""
    try:
        found = list(inspect.signature(function).parameters.values())
        return None if any(item.kind in (item.VAR_KEYWORD, item.VAR_POSITIONAL) for item in found) else [
            item.name for item in found]
    except (TypeError, ValueError):
        pass
    line = re.match(r"[\w.]+\(([^)]*)\)", function.__doc__ or "")
    if not line:
        return None
    return [part.split("=")[0].split(":")[0].split()[-1].strip("* ") for part in line.group(1).split(",")
            if part.strip() and part.strip() != "self"]


def main() -> None:
    """Write the names."""
    functions, ufuncs, values = {}, [], []
    for name in sorted(dir(cupy)):
        found = getattr(cupy, name)
        if name.startswith("_") or inspect.ismodule(found):
            continue
        if isinstance(found, cupy.ufunc):
            ufuncs.append(name)
        elif callable(found) and not inspect.isclass(found):
            functions[name] = parameters(found)
        else:
            values.append(name)
    methods, attributes = {}, []
    for name in sorted(dir(cupy.ndarray)):
        found = getattr(cupy.ndarray, name)
        if name.startswith("_"):
            continue
        if callable(found):
            methods[name] = parameters(found)
        else:
            attributes.append(name)
    made = {"version": cupy.__version__, "functions": functions, "ufuncs": ufuncs, "values": values, "methods": methods,
            "attributes": attributes, "linalg": sorted(name for name in dir(cupy.linalg) if not name.startswith("_")),
            "cuda": {name: sorted(part for part in dir(getattr(cupy.cuda, name)) if not part.startswith("_")) for name in (
                "Device", "Event", "Graph", "MemoryPool", "PinnedMemoryPool", "Stream", "get_current_stream", "runtime",
                "alloc_pinned_memory", "get_elapsed_time", "set_pinned_memory_allocator", "using_allocator")},
            "special": sorted(name for name in dir(cupyx.scipy.special) if not name.startswith("_"))}
    Path(sys.argv[1]).write_text(json.dumps(made, indent=0, sort_keys=True) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
