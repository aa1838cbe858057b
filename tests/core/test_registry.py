"""The registry knows operators before the modules that declare them are imported."""

import copy
import json
import pickle
import subprocess
import sys

import pytest

from sparsekit.core.op import Op, find, registry
from sparsekit.ops import declared

AT_IMPORT = """
import json, sys
import sparsekit as mx
import sparsekit.ndarray
from sparsekit.core.op import registry
loaded = sorted(name for name in sys.modules if name.startswith("sparsekit."))
known = sorted(registry)
counted, held = len(registry), "CTCLoss" in registry
dir(mx.nd), dir(mx.nd.linalg)
more = {name for name in sys.modules if name.startswith("sparsekit.")} - set(loaded)
assert more == {"sparsekit.compat", "sparsekit.compat.names"}, "telling names imports modules, beside the table of MXNet's"
assert not any(name.startswith("sparsekit.compat") for name in loaded)
print(json.dumps({"known": known, "counted": counted, "held": held, "all": sorted(dict(registry.items()))}))
"""


def test_names_are_known_before_their_modules_are_imported() -> None:
    done = subprocess.run([sys.executable, "-c", AT_IMPORT], capture_output=True, text=True, timeout=400)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["held"]
    assert found["known"] == found["all"]
    assert found["counted"] == len(found["all"]) > 400


@pytest.mark.parametrize("module", sorted(declared.LATER))
def test_a_module_that_loads_later_declares_the_names_it_is_listed_with(module: str) -> None:
    found = {name for name, op in registry.items() if op._module["__name__"] == f"sparsekit.{module}"}
    assert found == set(declared.LATER[module].split())


def test_an_operator_of_ones_own_is_found_and_goes() -> None:
    op = Op("_of_my_own", "data", shape=lambda shapes, attrs: shapes[0], sample=list, doc="")
    try:
        assert find("_of_my_own") is op
        assert "_of_my_own" in registry
        assert "_of_my_own" in list(registry)
    finally:
        del registry["_of_my_own"]
    assert "_of_my_own" not in registry
    assert registry.get("_of_my_own") is None


def test_an_operator_with_other_rows_leaves_the_registered_one_as_it_is() -> None:
    op = find("broadcast_mul")
    rows = list(op.rules)
    fewer = op.with_rules(rows[:1])
    assert fewer.rules == rows[:1]
    assert op.rules == rows
    assert fewer is not op


def test_a_copy_and_a_pickle_of_an_operator_are_the_registered_one() -> None:
    op = find("broadcast_mul")
    assert copy.copy(op) is copy.deepcopy(op) is pickle.loads(pickle.dumps(op)) is op
