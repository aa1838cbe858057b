"""Every public name of MXNet 1.9.1 is where it is there, or ``DIFFERENCES.md`` says that it is not."""

import fnmatch
import functools
import json
import re
from pathlib import Path

import pytest

import sparsekit as mx

ROOT = Path(__file__).resolve().parents[1]
GOLDEN = json.loads((ROOT / "tests" / "golden" / "names.json").read_text(encoding="utf-8"))
NOT_HERE = (ROOT / "sparsekit" / "DIFFERENCES.md").read_text(encoding="utf-8").split("\n## Not here\n")[1]

#: What the section names as absent; names in a sentence that says they are here are none of them.
LISTED = [name for name in re.findall(r"`([^`() ]+)`", NOT_HERE)
          if name not in ("CSVIter", "LibSVMIter", "FeedForward", "dist_*", "nccl", "horovod",
                          "group2ctxs", "compression_params", "Symbol.optimize_for", "get_backend_symbol")]
PLACES = {**GOLDEN["modules"], **GOLDEN["classes"]}


def found_at(place):
    return functools.reduce(getattr, place.split(".") if place != "." else (), mx)


def matches(pattern, place, name):
    """``nd.x`` is one name, ``nd`` a module with all its names, ``x`` a name of the package or of ``nd`` and ``sym``."""
    full = name if place == "." else f"{place}.{name}"
    short = name if place in (".", "nd", "sym") else full
    return (fnmatch.fnmatchcase(full, pattern) or fnmatch.fnmatchcase(short, pattern) or full.startswith(f"{pattern}."))


def absent(place):
    try:
        holder = found_at(place)
    except AttributeError:
        return PLACES[place]
    return [name for name in PLACES[place] if not hasattr(holder, name)]


@pytest.mark.parametrize("place", PLACES)
def test_a_name_is_here_or_listed_as_absent(place):
    assert [name for name in absent(place) if not any(matches(pattern, place, name) for pattern in LISTED)] == []


def test_what_is_listed_is_absent():
    missing = [(place, name) for place in PLACES for name in absent(place)]
    modules = {place for place in PLACES if not PLACES[place]} | {"gluon.model_zoo", "gluon.data.vision"}
    needless = [pattern for pattern in LISTED if not any(matches(pattern, *one) for one in missing) and pattern not in modules]
    assert needless == []


def test_a_module_with_a_name_of_its_own_is_recorded():
    assert {"nd", "nd.sparse", "sym", "gluon.nn", "autograd", "optimizer", "metric", "io", "kv", "test_utils"} <= set(PLACES)
    assert sum(map(len, PLACES.values())) > 2000
