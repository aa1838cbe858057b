"""Every public name of MXNet 1.9.1 is where it is there, or its error and ``DIFFERENCES.md`` say that it is not."""

import importlib
import importlib.util
import pickle
import pydoc
import re
import runpy
import subprocess
import sys
import types
from pathlib import Path

import pytest

import sparsekit as mx
from sparsekit.base.errors import AbsentImportError, AbsentNameError, UnknownNameError
from sparsekit.compat import names

old_names = types.SimpleNamespace(**runpy.run_path(str(Path(__file__).with_name("old_names.py"))))
PATHS = [path for path in old_names.TREE if names.kind_of(path) is None]
ABSENT = [path for path in old_names.TREE if names.kind_of(path) is not None]


def places_of(path):
    """Every name that a module of MXNet has, and the module where it is the same object."""
    return [(name, place) for by_place in old_names.TREE[path] for place, found in by_place.items() for name in found.split()]


def is_absent(path, name):
    return names.kind_of(old_names.dotted(path, name)) is not None


def test_the_tree_is_mxnets():
    assert (len(PATHS) > 90, len(ABSENT) > 80, {"nd", "sym"}.isdisjoint(old_names.TREE)) == (True, True, True)
    assert sum(len(old_names.own_names(path)) for path in PATHS) > 3000


@pytest.mark.parametrize("path", PATHS)
def test_a_module_of_mxnet_has_the_same_names(path):
    module = importlib.import_module(f"sparsekit.{path}".rstrip("."))
    lacking = [name for name in old_names.own_names(path) if not hasattr(module, name)]
    assert [name for name in lacking if not is_absent(path, name)] == []
    shown = dir(module)
    assert [name for name, place in places_of(path) if place != name and hasattr(module, name) and name not in shown
            and name in old_names.own_names(path)] == []


@pytest.mark.parametrize("path", PATHS)
def test_a_name_is_the_object_that_it_is_elsewhere(path):
    module = old_names.module_at(path)
    for name, place in places_of(path):
        other = old_names.module_at(place) if names.kind_of(place) is None else None
        if not old_names.is_module(name, place) and hasattr(module, name) and hasattr(other, name):
            assert getattr(module, name) is getattr(other, name), (name, place)


@pytest.mark.parametrize("path", ABSENT)
def test_importing_what_is_not_here_says_what_to_use(path):
    with pytest.raises(ImportError) as caught:
        importlib.import_module(f"sparsekit.{path}")
    assert "Hint: " in str(caught.value) or "is not a package" in str(caught.value)
    assert isinstance(caught.value, ModuleNotFoundError)


def test_the_table_has_no_dead_row():
    rows = [(path, name) for path, given in names.table["modules"].items() for name in old_names.names_of(given)]
    assert len(rows) > 150
    assert [row for row in rows if not old_names.has(*row)] == []
    assert [path for path, ours in names.table["modules"].items() if isinstance(ours, str) and old_names.module_at(path)
            is not importlib.import_module(f"sparsekit.{ours}")] == []


def test_no_kind_of_absent_names_is_empty():
    absent = [old_names.dotted(path, name) for path, lacking in old_names.missing().items() for name in lacking or [""]]
    patterns = [pattern for _, _, found in names.table["absent"].values() for pattern in found.split()]
    everything = [*absent, *(name.rstrip(".") for name in absent), *old_names.TREE, "kvstore.horovod", "torch", "th"]
    assert [pattern for pattern in patterns if not any(names.fnmatchcase(name, pattern) for name in everything)] == []


def test_the_list_of_differences_is_that_of_the_table():
    assert old_names.with_list(old_names.DIFFERENCES.read_text(encoding="utf-8")) == old_names.DIFFERENCES.read_text(
        encoding="utf-8"), "python tests/old_names.py writes it"
    assert None not in {names.kind_of(old_names.dotted(path, name)) for path, lacking in old_names.missing().items()
                        for name in lacking}


# what asking for it does


def test_a_name_that_is_not_here_is_an_attribute_error_and_an_import_error():
    with pytest.raises(AbsentNameError, match=r"MXNet's gluon\.nn\.Conv2D is not in sparsekit.*\n?Hint: torch\.nn") as caught:
        mx.gluon.nn.Conv2D  # noqa: B018
    assert (isinstance(caught.value, AttributeError), isinstance(caught.value, mx.MXNetError)) == (True, True)
    assert (hasattr(mx.gluon.nn, "Conv2D"), getattr(mx, "npx", 3)) == (False, 3)
    with pytest.raises(AbsentImportError, match=r"gluon\.nn\.Conv2D.*\n?Hint: torch\.nn"):
        from sparsekit.gluon.nn import Conv2D  # noqa: F401
    with pytest.raises(AbsentImportError, match=r"gluon\.nn\.basic_layers") as caught:
        from sparsekit.gluon.nn.basic_layers import SyncBatchNormal  # noqa: F401
    assert isinstance(caught.value, ImportError)
    with pytest.raises(AbsentImportError, match=r"gluon\.data\.vision.*\n?Hint: torchvision"):
        from sparsekit.gluon.data.vision import transforms  # noqa: F401
    try:
        import sparsekit.recordio as found
    except ImportError:
        found = None
    assert found is None


def test_a_name_that_mxnet_has_not_either_gets_the_nearest_ones():
    with pytest.raises(UnknownNameError, match="Hint: did you mean 'Dropout'"):
        mx.gluon.nn.Dropuot  # noqa: B018
    with pytest.raises(ImportError, match="did you mean 'BatchEndParam'"):
        from sparsekit.model import BatchEndParm  # noqa: F401
    with pytest.raises(ModuleNotFoundError, match=r"No module named 'sparsekit\.nonsense'"):
        import sparsekit.nonsense  # noqa: F401
    with pytest.raises(AttributeError, match="__nonsense__"):
        mx.nd.__nonsense__  # noqa: B018


STATEMENTS = """
from sparsekit.context import cpu, Context
from sparsekit.ndarray.contrib import adamw_update
from sparsekit.util import is_np_array
from sparsekit.name import NameManager, Prefix
from sparsekit.attribute import AttrScope
from sparsekit.executor import Executor
from sparsekit.runtime import Features
from sparsekit.gluon.data.dataloader import DataLoader, default_batchify_fn, _as_in_context, ForkingPickler
from sparsekit.gluon.loss import Loss, _apply_weighting, _reshape_like
from sparsekit.gluon.utils import _get_repo_url, _get_repo_file_url, replace_file
from sparsekit.optimizer.optimizer import Adam, Updater
from sparsekit.ndarray.linalg import gemm2
from sparsekit.ndarray.utils import load, save
from sparsekit.symbol.sparse import dot
from sparsekit.io.io import NDArrayIter
from sparsekit.ndarray import NDArray, sparse as sp, op
from sparsekit.contrib.symbol import ctc_loss
from sparsekit.module import BucketingModule
from sparsekit.test_utils import *
import sparsekit.symbol.linalg as linalg
import sparsekit.gluon.contrib.data.sampler as sampler
import sparsekit.operator, sparsekit.monitor, sparsekit.visualization
import sparsekit.viz
from sparsekit import viz, nd, util
assert assert_almost_equal and mx.nd is nd and linalg is mx.sym.linalg and sparsekit.operator is mx.operator
assert _get_repo_file_url("gluon", "a.zip") == "https://apache-mxnet.s3-accelerate.dualstack.amazonaws.com/gluon/a.zip"
"""


def test_statements_of_programs_in_a_fresh_process():
    done = subprocess.run([sys.executable, "-c", STATEMENTS], capture_output=True, text=True, cwd=old_names.ROOT, timeout=400)
    assert (done.returncode, done.stderr) == (0, "")


def test_private_helpers_do_what_they_do_in_mxnet(tmp_path, monkeypatch):
    from sparsekit.gluon.data.dataloader import ForkingPickler, _as_in_context
    from sparsekit.gluon.loss import _apply_weighting, _reshape_like
    from sparsekit.gluon.utils import _get_repo_url, replace_file

    loss, weight = mx.nd.ones((2, 3)), mx.nd.array([[1], [2]])
    assert _apply_weighting(mx.nd, loss, 0.5, weight).asnumpy().tolist() == [[0.5] * 3, [1] * 3]
    assert _apply_weighting(mx.nd, loss) is loss
    with pytest.raises(TypeError, match="weight must be a number"):
        _apply_weighting(mx.nd, loss, "2")
    assert _reshape_like(mx.nd, mx.nd.arange(6), loss).shape == (2, 3)
    assert _reshape_like(mx.sym, mx.sym.var("a"), mx.sym.var("b")).list_arguments() == ["a", "b"]
    monkeypatch.setenv("MXNET_GLUON_REPO", "https://example.org/mirror")
    assert _get_repo_url() == "https://example.org/mirror/"
    (tmp_path / "new").write_text("new")
    (tmp_path / "old").write_text("old")
    replace_file(str(tmp_path / "new"), str(tmp_path / "old"))
    assert [(path.name, path.read_text()) for path in tmp_path.iterdir()] == [("old", "new")]
    with pytest.raises(OSError, match="nowhere"):
        replace_file(str(tmp_path / "old"), str(tmp_path / "nowhere" / "old"))
    assert list(tmp_path.iterdir()) == []
    moved = _as_in_context((loss, [weight, 3]), mx.cpu(1))
    assert (moved[0].context, moved[1][0].context, moved[1][1]) == (mx.cpu(1), mx.cpu(1), 3)
    assert pickle.loads(bytes(ForkingPickler.dumps(loss))).asnumpy().tolist() == loss.asnumpy().tolist()


def test_modules_that_have_no_file_are_modules_to_tools():
    import sparsekit.io.io as view

    assert pickle.loads(b"csparsekit.io.io\nDataDesc\n.") is mx.io.DataDesc
    assert pickle.loads(b"csparsekit.context\nContext\n.") is mx.Context
    assert "NDArrayIter" in pydoc.render_doc(view, renderer=pydoc.plaintext)
    assert importlib.util.find_spec("sparsekit.io.io").name == "sparsekit.io.io"
    assert importlib.reload(view) is view
    assert {"viz", "util", "test_utils", "operator", "contrib"} <= set(dir(mx))
    assert "BucketingModule" in dir(mx.mod)
    assert re.fullmatch(r"<module 'sparsekit\.io\.io'.*>", repr(view))
