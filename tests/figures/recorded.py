"""Tables of profiles that a test writes down as records, in the form in which ``Profile.records`` has them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from sparsekit.profiler.columns import Columns, Strings, build

Record = Mapping[str, Any]


def array(stype: str, shape: Sequence[int], stored: int = 0, role: str = "", owner: str = "") -> dict[str, Any]:
    """An array of 4-byte values and 8-byte indices."""
    size = 1
    for axis in shape:
        size *= axis
    indices = {"default": 0, "csr": 8 * (stored + sum(shape[:1]) + 1), "row_sparse": 8 * stored}[stype]
    taken = indices + 4 * (size if stype == "default" else stored * shape[-1] if stype == "row_sparse" else stored)
    return {"stype": stype, "shape": list(shape), "stored": size if stype == "default" else stored, "bytes": taken, "role": role,
            "owner": owner}


def _ns(microseconds: float) -> int:
    return round(1000 * microseconds)


def tables(records: Sequence[Record], marks: Sequence[Record] = (), ledger: Sequence[Record] = (), name: str = "",
           process: str = "", error: int = -1) -> Columns:  # fmt: skip
    """The tables of one run.  Times are in microseconds; what is left out is empty."""
    arrays: dict[str, int] = {}
    kinds: dict[str, dict[str, Any]] = {}
    rows = []
    for record in sorted(records, key=lambda one: (one["start"], -one["duration"])):
        kind = {field: record.get(field, "") for field in ("name", "lane", "layer", "line", "became_dense")}
        kind |= {field: record.get(field, 0) for field in ("bytes", "flops", "dense_flops")}
        for side in ("inputs", "outputs"):
            kind[side] = [arrays.setdefault(json.dumps(one), len(arrays)) for one in record.get(side, ())]
        words = (", ".join(one["stype"] for one in record.get(side, ())) for side in ("inputs", "outputs"))
        kind["storage"] = " -> ".join(words).strip() if kind["inputs"] or kind["outputs"] else ""
        kind["attrs"] = json.dumps(record["attrs"]) if record.get("attrs") else ""
        kinds.setdefault(json.dumps(kind), kind)
        number = list(kinds).index(json.dumps(kind))
        own = _ns(record.get("self", record["duration"]))
        rows.append({"run": 0, "thread": record.get("thread", 0), "kind": number, "start": _ns(record["start"]),
                     "duration": _ns(record["duration"]), "own": own, "net": _ns(record["duration"]), "depth": 0, "node": -1,
                     "conversion": record.get("conversion", -1), "made_by": record.get("made_by", [])})
    described = [json.loads(text) for text in arrays]
    return build(
        Strings(),
        runs={"name": [name], "process": [process], "error": [error], "events": [len(rows)],
              "wall": [max((row["start"] + row["duration"] for row in rows), default=0)]},
        arrays={**{field: [one[field] for one in described] for field in ("stype", "shape", "stored", "bytes", "role", "owner")},
                "dtype": ["float32"] * len(described)} if described else {},
        kinds=_columns(list(kinds.values())), events=_columns(rows),
        marks=_columns([{"run": 0, "time": _ns(mark["time"]), "kind": mark["kind"], "name": mark["name"],
                         "value": json.dumps(mark.get("value")), "unit": mark.get("unit", ""), "line": mark.get("line", "")}
                        for mark in marks]),
        ledger=_columns([{"run": 0, "times": 1, "source": "csr", "target": "default", "shape": [3, 4], "bytes_before": 40,
                          "bytes_after": 48_000, "kind": "fallback", "line": "train.py:3", "remedy": "none", **one,
                          "time": _ns(one["time"])} for one in ledger]))  # fmt: skip


def _columns(rows: Sequence[Record]) -> dict[str, list[Any]]:
    return {field: [row[field] for row in rows] for field in rows[0]} if rows else {}


def training(dense: bool = False, steps: int = 10, slow: float = 1.0, compiles: bool = True) -> list[dict[str, Any]]:
    """A made-up training of three layers on sparse data; a step takes about 157 ms with a dense gradient, 0.7 ms without."""
    records: list[dict[str, Any]] = []
    now = 0.0

    def call(name: str, lane: str, duration: float, layer: str = "", inputs: Any = (), outputs: Any = (), **more: Any) -> int:
        nonlocal now
        moved = sum(one["bytes"] for one in (*inputs, *outputs) if one["bytes"] < 10_000_000 or dense)
        records.append({"name": name, "lane": lane, "start": now, "duration": duration * slow, "layer": layer, "inputs": inputs,
                        "outputs": outputs, "bytes": moved, "line": "train.py:12", **more})  # fmt: skip
        now += duration * slow + 3
        return len(records) - 1

    if compiles:
        call("compile csr_dot_dense", "compile", 40_000)
    batch, weight = array("csr", (10, 1_000_000), 100, "input"), array("default", (1_000_000, 128), role="parameter")
    small = array("default", (10, 128), role="activation")
    gradient = array("default" if dense else "row_sparse", (1_000_000, 128), 100, "gradient")
    for _ in range(steps):
        call("LibSVMIter.next", "io", 90, outputs=(batch,))
        call("dot", "forward", 40, "dense0", (batch, weight), (small,), bytes=57_608)
        call("relu", "forward", 11, "relu0", (small,), (small,))
        call("dot", "backward", 88_000 if dense else 300, "dense0", (batch, small), (gradient,))
        call("sgd_update", "update", 61_000 if dense else 150, "dense0", (weight, gradient), (weight,))
    return records
