"""Every code block of the tutorial "Sparse NDArrays with Gluon", in order, with only the import changed."""

from __future__ import annotations

import contextlib
import io
import json
import re
import textwrap
from pathlib import Path

import numpy as np
import pytest

from sparsekit.base.naming import NameManager

GOLDEN = Path(__file__).parent / "golden"
BLOCKS = json.loads((GOLDEN / "tutorial_blocks.json").read_text(encoding="utf-8"))
PRINTED = {int(number): text for number, text in re.findall(
    r"^=== block (\d+)\n(.*?)(?=^=== block|\Z)", (GOLDEN / "tutorial_output.txt").read_text(encoding="utf-8"), re.M | re.S)}

#: The two variants with a dense gradient take the time of a whole row-sparse epoch for each batch: two batches do.
DENSE = (17, 20)


def runnable(number, block):
    block = block.replace("import mxnet as mx", "import sparsekit as mx")
    if block.startswith("%%timeit"):
        block = block.partition("\n")[2]
        if number - 1 in DENSE or number in DENSE:
            block = block.replace("in data_iter:", "in islice(data_iter, 2):")
    return block


@pytest.fixture(scope="module")
def printed(tmp_path_factory):
    """What each block printed."""
    names = {}
    exec("from itertools import islice", names)
    before = getattr(np, "product", None)
    np.product = np.prod  # NumPy 2 removed it; the block that uses it is otherwise as written
    found = []
    try:
        # Names count from 0, whatever other tests have named before.
        with contextlib.chdir(tmp_path_factory.mktemp("tutorial")), NameManager():
            for number, block in enumerate(BLOCKS):
                out = io.StringIO()
                with contextlib.redirect_stdout(out):
                    exec(compile(textwrap.dedent(runnable(number, block)), f"block {number}", "exec"), names)
                found.append(out.getvalue())
    finally:
        if before is None:
            del np.product
        else:
            np.product = before
    return found


def blocks_with(text):
    return [number for number, block in enumerate(BLOCKS) if text in block]


def test_all_blocks_run(printed):
    assert len(printed) == len(BLOCKS) > 20


def expected(block_text, occurrence=0):
    """MXNet's output of the block whose code holds ``block_text``, under our package's name."""
    wanted = [text for text in PRINTED.values() if block_text in text][occurrence]
    return wanted.replace("mxnet.", "sparsekit.")


@pytest.mark.parametrize("said", ["non-zero elements", "CSRNDArray 0.128008 MBs", "data.stype: csr"])
def test_prints_what_mxnet_prints(printed, said):
    assert expected(said) in printed


@pytest.mark.parametrize("layer", ["dense0", "fullyconnectedsparse0"])
def test_memory_of_the_dense_gradients_is_that_of_mxnet(printed, layer):
    wanted = next(text for text in PRINTED.values() if text.startswith("Memory Allocation") and layer in text)
    assert wanted in printed


def test_memory_of_the_row_sparse_gradient(printed):
    lines = printed[blocks_with("print_memory_allocation(net")[-1]].splitlines()
    assert lines[1] == "512.000 MBs ( 99.999%) for {:<40}".format("fullyconnectedsparse1")
    assert 0.03 < float(lines[5].split()[0]) < 0.08


def test_a_sparse_batch_is_a_kilobyte_and_a_dense_one_forty_megabytes(printed):
    text = next(text for text in printed if "sparse batch" in text)
    assert re.fullmatch(r"sparse batch: 0\.00\d+ MBs\ndense batch: 40\.0 MBs\n", text)


def test_file_lines_are_libsvm(printed):
    lines = printed[blocks_with("openfile.readline()")[0]].splitlines()
    assert len(lines) == 10
    assert all(re.match(r"[01]\.0( \d+:\d|$)", line) for line in lines)
