"""Advice: fixed rules, each with the event that triggered it, the reason, the saving to expect, and where to read on."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from . import words
from .describe import storage
from .table import Table

__all__ = ["LESSONS", "RULES", "Advice", "Finding", "advise"]

#: Where the remedy of each rule is taught: notebook and heading, as a link leads there.
LESSONS = {
    "became_dense": "notebooks/01_csr.ipynb#13.-When-there-is-no-sparse-way",
    "dense_by_nature": "notebooks/08_profiling.ipynb#6.-The-fix",
    "dense_gradient": "notebooks/03_train_gluon.ipynb#6.-Third-variant:-a-row-sparse-gradient",
    "full_rows": "notebooks/02_row_sparse.ipynb#7.-What-it-costs",
    "eager_update": "notebooks/07_optimizers_lazy_or_not.ipynb#5.-What-the-full-update-costs",
    "wide_indices": "notebooks/01_csr.ipynb#6.-What-it-costs",
    "hardly_sparse": "notebooks/01_csr.ipynb#6.-What-it-costs",
    "double_precision": "notebooks/09_memory.ipynb#6.-What-if?-Narrower-numbers",
    "repeated_conversion": "notebooks/01_csr.ipynb#7.-Conversions",
    "temporaries": "notebooks/09_memory.ipynb#8.-Temporaries",
    "compilation": "notebooks/08_profiling.ipynb#2.-The-timeline",
    "reading": "notebooks/03_train_gluon.ipynb#2.-Sparse-data-on-disk",
    "between_operators": "notebooks/08_profiling.ipynb#2.-The-timeline",
    "repeated_transfer": "notebooks/10_gpu.ipynb#2.-What-travels",
}

#: The contexts that a copy names; one from or to numpy names one, and is of other values each time.
_DEVICES = re.compile(r"\b[a-z]+\(\d+\)")

#: Below this many bytes nothing is worth a word.
SMALL = 4096


class Finding(NamedTuple):
    """One piece of advice.

    Attributes
    ----------
    rule : str
        Name of the rule.
    where : str
        The event that triggered it: operator, layer and line.
    reason, remedy : str
    saving : str
        What to expect, in bytes or time.
    amount : float
        The saving as a number, bytes or microseconds, for sorting.
    times : int
        How often it happened.
    lesson : str
        Notebook and section that teach the remedy; an entry of ``LESSONS``.
    event : dict or None
        The record that triggered the rule.
    """

    rule: str
    where: str
    reason: str
    remedy: str
    saving: str
    amount: float
    times: int
    lesson: str
    event: dict[str, Any] | None


class Advice:
    """What the rules found, largest saving first.

    Attributes
    ----------
    findings : list of Finding
    """

    def __init__(self, findings: list[Finding]) -> None:
        self.findings = findings

    def __len__(self) -> int:
        return len(self.findings)

    def __iter__(self) -> Iterator[Finding]:
        return iter(self.findings)

    def table(self) -> Table:
        """The findings as a table."""
        cells = [[f.rule, f.where, words.count(f.times), f.reason, f.remedy, f.saving, f.lesson] for f in self.findings]
        rows = [finding._asdict() for finding in self.findings]
        footer = f"{len(RULES)} rules were asked; {len({f.rule for f in self.findings})} had something to say."
        return Table(("rule", "where", "times", "reason", "what to do", "saving", "lesson"), rows, cells, footer, "Advice")

    def __repr__(self) -> str:
        parts = [f"{number}. {f.reason}\n   {f.where}{f', {f.times} times' if f.times > 1 else ''}\n   {f.remedy}\n"
                 f"   Saving: {f.saving}. See {f.lesson}." for number, f in enumerate(self.findings, 1)]
        return "\n".join(parts) or f"Nothing to advise: {len(RULES)} rules were asked."

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        return {"text/plain": repr(self), "text/html": self.table().html}


RULES: list[Callable[[Any], Iterator[Finding]]] = []


def _rule(function: Callable[[Any], Iterator[Finding]]) -> Callable[[Any], Iterator[Finding]]:
    RULES.append(function)
    return function


def advise(profile: Any) -> Advice:
    """Ask every rule; findings of the same rule at the same place are put together."""
    grouped: dict[tuple[str, str, str], Finding] = {}
    for rule in RULES:
        for found in rule(profile):
            key = found.rule, found.where, found.reason
            held = grouped.get(key)
            grouped[key] = found if held is None else held._replace(times=held.times + found.times)
    order = {rule.__name__.lstrip("_"): number for number, rule in enumerate(RULES)}
    return Advice(sorted(grouped.values(), key=lambda f: (order[f.rule], -f.amount, f.where)))


def _at(record: dict[str, Any]) -> str:
    layer = f" in {record['layer']}" if record["layer"] else ""
    return f"{record['name']} ({record['lane']}){layer}{' at ' + record['line'] if record['line'] else ''}"


def _shape(array: dict[str, Any]) -> str:
    return "×".join(map(str, array["shape"]))


def _sparse(array: dict[str, Any]) -> bool:
    return bool(array["stype"] != "default")


def _operators(profile: Any, *lanes: str) -> Iterator[dict[str, Any]]:
    return (record for record in profile.records if record["kind"] == "op" and (not lanes or record["lane"] in lanes))


@_rule
def _became_dense(profile: Any) -> Iterator[Finding]:
    """A sparse array silently became dense."""
    for found in profile.ledger:
        extra = max(0, found.bytes_after - found.bytes_before)
        yield Finding("became_dense", f"{found.op}{' at ' + found.line if found.line else ''}",
                      f"A {found.source} array of {'×'.join(map(str, found.shape))} silently became {found.target}: "
                      f"{found.reason}.",
                      found.remedy, f"{words.bytes_(extra)} each time", extra, 1, LESSONS["became_dense"], None)


@_rule
def _dense_by_nature(profile: Any) -> Iterator[Finding]:
    """A small sparse array gives a large dense one of the same shape, with no warning, since no other result would be right."""
    for record in _operators(profile, "forward", "backward"):
        made = record["outputs"][0] if record["outputs"] else None
        given = next((a for a in record["inputs"] if made and _sparse(a) and a["shape"] == made["shape"]), None)
        most = max(10 * given["bytes"], 16 * SMALL) if given else 0
        if made and given and not _sparse(made) and not record["fallback"] and made["bytes"] > most:
            extra = made["bytes"] - given["bytes"]
            yield Finding("dense_by_nature", _at(record), f"It takes a {given['stype']} array of {_shape(given)}, "
                          f"{words.bytes_(given['bytes'])}, and gives a dense one of {words.bytes_(made['bytes'])}: zeros do "
                          "not stay zero.", "Compute what is meant by functions that keep zero, such as log1p(x) for "
                          "log(1 + x), or on the stored values alone.", f"{words.bytes_(extra)} each time, and what follows "
                          "from it", extra, 1, LESSONS["dense_by_nature"], record)


@_rule
def _dense_gradient(profile: Any) -> Iterator[Finding]:
    """A weight that only few rows of a sparse batch reach has a dense gradient."""
    forward: dict[Any, dict[str, Any]] = {}
    for record in _operators(profile, "forward", "backward"):
        if record["lane"] == "forward" and record["inputs"] and record["inputs"][0]["stype"] == "csr":
            forward[record["node"]] = record["inputs"][0]
        batch = forward.get(record["node"]) if record["lane"] == "backward" and record["node"] is not None else None
        for made in record["outputs"] if batch else ():
            touched = min(batch["nnz"], made["shape"][0]) if batch and made["shape"] else 0
            whole = made["stype"] == "default" and batch and made["shape"][:1] == batch["shape"][1:]
            if whole and touched < made["shape"][0] / 4:
                saved = made["bytes"] - touched * (made["bytes"] // made["shape"][0] + 8)
                if saved > SMALL:
                    yield Finding("dense_gradient", _at(record), f"The gradient is dense, {_shape(made)}, and a batch reaches at "
                                  f"most {words.count(touched)} of its rows.", "Give the weight grad_stype='row_sparse'.",
                                  f"at least {words.bytes_(saved)} of memory, and its writing in every step", saved, 1,
                                  LESSONS["dense_gradient"], record)


@_rule
def _full_rows(profile: Any) -> Iterator[Finding]:
    """A row-sparse gradient stores most rows."""
    for record in _operators(profile, "backward"):
        for made in record["outputs"]:
            if made["stype"] == "row_sparse" and made["rows"] > made["shape"][0] / 2 and made["bytes"] > SMALL:
                saved = made["components"].get("indices", 0)
                yield Finding("full_rows", _at(record), f"A row_sparse gradient of {_shape(made)} stores {made['rows']:,} rows, "
                              "more than half.", "Use grad_stype='default': dense kernels need no row numbers.",
                              f"{words.bytes_(saved)} of indices, and the time of merging rows", saved, 1,
                              LESSONS["full_rows"], record)


@_rule
def _eager_update(profile: Any) -> Iterator[Finding]:
    """An update with a row-sparse gradient still reads and writes every row."""
    for record in _operators(profile, "update"):
        if record["attrs"].get("lazy_update") is False and any(a["stype"] == "row_sparse" for a in record["inputs"]):
            gradient = next(a for a in record["inputs"] if a["stype"] == "row_sparse")
            whole = record["outputs"][0]["bytes"] if record["outputs"] else 0
            if gradient["rows"] < gradient["shape"][0] / 4 and whole > SMALL:
                yield Finding("eager_update", _at(record), f"lazy_update=False: all {gradient['shape'][0]:,} rows are updated, "
                              "and the gradient has few.", "Make the optimizer with lazy_update=True, if its meaning suits you.",
                              f"up to {words.bytes_(whole)} read and written a step", whole, 1, LESSONS["eager_update"], record)


@_rule
def _wide_indices(profile: Any) -> Iterator[Finding]:
    """Indices of 64 bits where 32 would do."""
    seen: set[Any] = set()
    for record in _operators(profile):
        for array in record["inputs"]:
            index_bytes = sum(size for name, size in array["components"].items() if name != "data")
            key = (record["name"], record["line"], tuple(array["shape"]))
            if (array["index_dtype"] == "int64" and max(array["shape"], default=0) < 2**31 and array["nnz"] < 2**31
                    and index_bytes > SMALL and key not in seen):
                seen.add(key)
                yield Finding("wide_indices", _at(record), f"The indices of a {array['stype']} array of {_shape(array)} take "
                              f"{words.bytes_(index_bytes)} as int64, and int32 can count them.",
                              "Make it with index_dtype='int32'.", f"{words.bytes_(index_bytes // 2)}", index_bytes // 2, 1,
                              LESSONS["wide_indices"], record)


@_rule
def _hardly_sparse(profile: Any) -> Iterator[Finding]:
    """A sparse format that takes more memory than the dense array."""
    for record in _operators(profile):
        for array in record["inputs"]:
            item = array["components"].get("data", 0) / array["nnz"] if array["nnz"] else 0
            dense = math.prod(array["shape"]) * item
            if _sparse(array) and array["bytes"] > max(dense, SMALL):
                yield Finding("hardly_sparse", _at(record), f"A {array['stype']} array of {_shape(array)} with density "
                              f"{array['density']:.2f} takes {words.bytes_(array['bytes'])}; dense it takes less.",
                              "Convert it once with tostype('default').", words.bytes_(array["bytes"] - dense),
                              array["bytes"] - dense, 1, LESSONS["hardly_sparse"], record)


@_rule
def _double_precision(profile: Any) -> Iterator[Finding]:
    """Parameters or their gradients in float64."""
    for row in profile.memory["at_peak"]:
        if row.get("dtype") == "float64" and row["role"] in ("parameter", "gradient", "optimizer state") and row["bytes"] > SMALL:
            yield Finding("double_precision", f"{row['role']} of {row['owner']}", f"It is held as float64, "
                          f"{words.bytes_(row['bytes'])}.", "Use float32, net.cast('float32'), unless you need the digits.",
                          words.bytes_(row["bytes"] // 2), row["bytes"] / 2, 1, LESSONS["double_precision"], None)


@_rule
def _repeated_conversion(profile: Any) -> Iterator[Finding]:
    """The same conversion again and again on the same line."""
    groups: dict[Any, list[dict[str, Any]]] = {}
    for record in _operators(profile):
        if record["name"] == "cast_storage" and record["line"] and record["inputs"] and record["depth"] == 0:
            key = (record["line"], storage(record["inputs"], record["outputs"]), tuple(record["inputs"][0]["shape"]))
            groups.setdefault(key, []).append(record)
    for found in groups.values():
        time = sum(record["duration"] for record in found[1:])
        if len(found) > 2 and found[0]["bytes"] > SMALL:
            yield Finding("repeated_conversion", _at(found[0]), f"An array of {_shape(found[0]['inputs'][0])} is converted "
                          f"{len(found)} times on one line.", "If it is the same array, convert it once, before the loop.",
                          f"{words.duration(time)} in this profile", time, 1, LESSONS["repeated_conversion"], found[0])


@_rule
def _temporaries(profile: Any) -> Iterator[Finding]:
    """An operator makes and frees more than a tenth of the peak inside."""
    peak = profile.memory["peak_bytes"]
    for row in profile.memory.get("temporaries", ()):
        if row["most"] > max(peak / 10, 16 * SMALL):
            yield Finding("temporaries", f"{row['op']}{' in ' + row['layer'] if row['layer'] else ''}",
                          f"It made and freed {words.bytes_(row['most'])} inside one call; the peak is {words.bytes_(peak)}.",
                          "Look for a conversion inside it (convert lane), or work on fewer rows at once.",
                          words.bytes_(row["most"]), row["most"], 1, LESSONS["temporaries"], None)


@_rule
def _compilation(profile: Any) -> Iterator[Finding]:
    """A good part of the run is compilation."""
    time = sum(row["self"] for row in profile.totals if row["lane"] == "compile")
    if profile.wall and time > max(profile.wall / 10, 10_000):
        first = next((record for record in profile.records if record["lane"] == "compile"), None)
        yield Finding("compilation", _at(first) if first else "compile lane", f"{words.share(time / profile.wall)} of the time "
                      "is compilation and imports, which happen once.", "Run a step before profiling, use schedule(wait=0, "
                      "warmup=1, active=…), or call sparsekit.kernels.warm() beforehand.",
                      words.duration(time), time, 1, LESSONS["compilation"], first)


@_rule
def _reading(profile: Any) -> Iterator[Finding]:
    """A good part of the run is reading data."""
    time = sum(row["self"] for row in profile.totals if row["lane"] == "io")
    if profile.wall and time > max(profile.wall * 0.3, 1000):
        first = next((record for record in profile.records if record["lane"] == "io"), None)
        yield Finding("reading", _at(first) if first else "io lane", f"{words.share(time / profile.wall)} of the time is reading "
                      "batches.", "Read the file once with load_libsvm and keep the CSR matrix, or use DataLoader workers.",
                      words.duration(time), time, 1, LESSONS["reading"], first)


@_rule
def _between_operators(profile: Any) -> Iterator[Finding]:
    """Python between the operators takes longer than they do."""
    records = [record for record in _operators(profile, "forward", "backward") if record["depth"] == 0]
    idle = profile.wall * (1 - profile.accounted)
    if len(records) > 100 and idle > profile.wall / 2:
        median = sorted(record["duration"] for record in records)[len(records) // 2]
        if median < 100:
            yield Finding("between_operators", _at(records[0]), f"{words.share(idle / profile.wall)} of the time passes between "
                          f"operators, whose median is {words.duration(median)}.", "Call net.hybridize(); use larger batches.",
                          f"part of {words.duration(idle)}", idle, 1, LESSONS["between_operators"], records[0])


@_rule
def _repeated_transfer(profile: Any) -> Iterator[Finding]:
    """Equal copies between devices again and again."""
    groups: dict[Any, list[dict[str, Any]]] = {}
    for record in profile.records:
        if record["lane"] == "transfer" and record["bytes"] > SMALL and len(set(_DEVICES.findall(record["name"]))) != 1:
            groups.setdefault((record["name"], record["layer"], record["bytes"]), []).append(record)
    for (name, _, size), found in groups.items():
        if len(found) > 2:
            yield Finding("repeated_transfer", _at(found[0]), f"{name}: {words.bytes_(size)} went this way {len(found)} times.",
                          "Copy once, before the loop, and keep the copy.", words.bytes_(size * (len(found) - 1)),
                          size * (len(found) - 1), 1, LESSONS["repeated_transfer"], found[0])
