"""Run the code blocks of the tutorial "Sparse NDArrays with Gluon" under MXNet 1.9.1 and record what each prints.

    python tests/oracle/record_tutorial.py tests/golden/tutorial_output.txt

The blocks are those of ``tests/golden/tutorial_blocks.json``.  Blocks marked ``%%timeit`` run once; training loops of the two
variants with dense gradients stop after two batches.
"""

import contextlib
import io
import itertools
import json
import os
import pathlib
import random
import sys
import tempfile

import mxnet as mx
import numpy as np

BLOCKS = pathlib.Path(__file__).resolve().parents[1] / "golden" / "tutorial_blocks.json"

EXTRA = """\
print(repr(net), net.name, net.prefix)
print(net.collect_params())
print(repr(net[0].weight), net[0].weight.name, net[0].bias.name, net[0].prefix)
print(net[0].weight.data().stype, net[0].weight.data().shape, net[0].weight.grad().stype)
print(pred.shape, pred.stype, loss.shape, loss.stype, type(loss).__name__, data.shape, label.shape)
print(trainer.learning_rate, loss_fn, loss_fn.name)
"""


def prepared(block, dense):
    block = block.replace("%%timeit\n", "") + "\n"
    return block.replace("in data_iter:", "in itertools.islice(data_iter, 2):") if dense else block


names = {"itertools": itertools}
target = os.path.abspath(sys.argv[1])
os.chdir(tempfile.mkdtemp())
for seed in (random.seed, np.random.seed, mx.random.seed):
    seed(0)
dense, parts = True, []
for number, block in enumerate(json.loads(BLOCKS.read_text(encoding="utf-8"))):
    dense = dense and "'row_sparse')" not in block
    text = prepared(block, dense)
    if "loss.backward()" in text:
        text += EXTRA
    output = io.StringIO()
    with contextlib.redirect_stdout(output):
        exec(text, names)
    parts.append(f"=== block {number}\n{output.getvalue()}")
with open(target, "w", encoding="utf-8") as file:
    file.write("".join(parts))
