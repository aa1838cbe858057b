"""Make data of the table "Symbolic storage inference" of the notes on MXNet 1.9.1's storage types, of every row of it.

    python tests/oracle/derive_symbol_table.py STORAGE_TYPES.md tests/golden/symbol_storage_table.json

Nothing is left out in silence: a row without a call, a cell that cannot be read and a combination that is there twice stop.
"""

import json
import re
import sys

HEADING = "## Symbolic storage inference"
STYPES = {"dense": "default", "rsp": "row_sparse", "csr": "csr"}

#: What a row's words are as a call, by the names that ``record_symbol_storage.py`` has for it.
CALLS = {"dot(a,b)": "S.dot(a, b)", "dot(a,b,transpose_a)": "S.dot(a, b, transpose_a=True)",
         "elemwise_add": "S.elemwise_add(a, b)", "elemwise_mul": "S.elemwise_mul(a, b)",
         "Embedding(data,w)": "S.Embedding(a, b, input_dim=5, output_dim=3)",
         "Embedding(data,w,sparse_grad=True)": "S.Embedding(a, b, input_dim=5, output_dim=3, sparse_grad=True)",
         "contrib.SparseEmbedding": "S.contrib.SparseEmbedding(a, b, input_dim=5, output_dim=3)",
         "retain(x,idx)": "S.sparse.retain(a, b)",
         "_square_sum(axis=1,keepdims)": "S._internal._square_sum(a, axis=1, keepdims=True)",
         "broadcast_add(dot(x,w),b), w=": "S.broadcast_add(S.dot(a, b), c)",
         "FullyConnected(x,w)": "S.FullyConnected(a, b, num_hidden=3, no_bias=True)", "sum(axis=0)": "S.sum(a, axis=0)",
         "cast_storage->default": "S.cast_storage(a, stype='default')", "take(w,idx)": "S.take(a, b)",
         "LinearRegressionOutput(x,label)": "S.LinearRegressionOutput(a, b)", "x*2": "a * 2", "x+2": "a + 2",
         **{name: f"S.{name}(a)" for name in ("square", "abs", "sqrt", "relu", "sin", "exp", "negative")}}
#: Names of gradients in rows whose inputs are not called a and b.
NAMES = {"broadcast_add(dot(x,w),b), w=": {"x": "a", "w": "b", "b": "c"}}


def rows(text):
    """The cells of each row of the section's table."""
    section = text.split(HEADING, 1)[1].split("\n## ", 1)[0]
    lines = [line for line in section.splitlines() if line.startswith("| `")]
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines]


def result(cell, names):
    """What a row gives: storage types of outputs and of gradients, or an error."""
    if cell == "error":
        return {"error": True}
    found = re.fullmatch(r"out (\w+); grads (.+)", cell)
    pairs = [pair.split(":") for pair in found[2].split(", ")]
    return {"outputs": [STYPES[found[1]]], "gradients": {names.get(name, name): STYPES[stype] for name, stype in pairs}}


with open(sys.argv[1], encoding="utf-8") as file:
    table = rows(file.read())
cases, seen = [], set()
for row, combinations, gives in table:
    row = row.strip("`")
    for combination in combinations.split(";"):
        stypes = [STYPES[word.strip()] for word in combination.split(",")]
        key = (row, *stypes)
        if key in seen:
            sys.exit(f"{key} is there twice.")
        seen.add(key)
        cases.append({"row": row, "call": CALLS[row], "stypes": stypes, **result(gives, NAMES.get(row, {}))})
unused = set(CALLS) - {case["row"] for case in cases}
if unused:
    sys.exit(f"There are no rows {sorted(unused)}.")
with open(sys.argv[2], "w", encoding="utf-8") as file:
    file.write(json.dumps({"rows": len(table)})[:-1] + ', "cases": [\n' + ",\n".join(map(json.dumps, cases)) + "\n]}\n")
