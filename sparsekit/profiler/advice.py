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
        A figure that differs from time to time is given as its range.
    saving : str
        What to expect, in bytes or time.
    amount : float
        The saving as a number, bytes or microseconds, for sorting.
    times : int
        How often it happened; ``amount``, ``saving`` and ``event`` are of the time when it cost most.
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


class _Met(NamedTuple):
    """A finding whose reason names figures in braces, which do not make it another finding: name -> value and its writer."""

    finding: Finding
    figures: dict[str, tuple[float, Callable[[Any], str]]]


_Rule = Callable[[Any], Iterator[Finding | _Met]]

RULES: list[_Rule] = []


def _rule(function: _Rule) -> _Rule:
    RULES.append(function)
    return function


def advise(profile: Any) -> Advice:
    """Ask every rule; findings of the same rule at the same place, for the same reason, are put together."""
    grouped: dict[tuple[str, str, str], list[_Met]] = {}
    for rule in RULES:
        for found in rule(profile):
            met = found if isinstance(found, _Met) else _Met(found, {})
            grouped.setdefault((met.finding.rule, met.finding.where, met.finding.reason), []).append(met)
    order = {rule.__name__.lstrip("_"): number for number, rule in enumerate(RULES)}
    return Advice(sorted(map(_together, grouped.values()), key=lambda f: (order[f.rule], -f.amount, f.where, f.reason)))


def _together(met: list[_Met]) -> Finding:
    """One finding of several: that of the largest saving, with the range of each figure."""
    largest = max((one.finding for one in met), key=lambda finding: finding.amount)
    reason = largest.reason
    for name, (_, write) in met[0].figures.items():
        values = [one.figures[name][0] for one in met]
        ends = list(dict.fromkeys((write(min(values)), write(max(values)))))
        reason = reason.replace(f"{{{name}}}", " to ".join(ends))
    return largest._replace(reason=reason, times=sum(one.finding.times for one in met))


def _at(record: dict[str, Any]) -> str:
    layer = f" in {record['layer']}" if record["layer"] else ""
    return f"{record['name']} ({record['lane']}){layer}{' at ' + record['line'] if record['line'] else ''}"


def _shape(array: dict[str, Any]) -> str:
    return "×".join(map(str, array["shape"]))


def _length(array: dict[str, Any]) -> int:
    """Rows of an array; 0 of one without axes, which a damaged trace may call sparse."""
    return int(array["shape"][0]) if array["shape"] else 0


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
def _dense_by_nature(profile: Any) -> Iterator[Finding | _Met]:
    """A small sparse array gives a large dense one of the same shape, with no warning, since no other result would be right."""
    for record in _operators(profile, "forward", "backward"):
        made = record["outputs"][0] if record["outputs"] else None
        given = next((a for a in record["inputs"] if made and _sparse(a) and a["shape"] == made["shape"]), None)
        most = max(10 * given["bytes"], 16 * SMALL) if given else 0
        if made and given and not _sparse(made) and not record["fallback"] and made["bytes"] > most:
            extra = made["bytes"] - given["bytes"]
            yield _Met(Finding("dense_by_nature", _at(record), f"It takes a {given['stype']} array of {_shape(given)}, "
                               f"{{given}}, and gives a dense one of {words.bytes_(made['bytes'])}: zeros do "
                               "not stay zero.", "Compute what is meant by functions that keep zero, such as log1p(x) for "
                               "log(1 + x), or on the stored values alone.", f"{words.bytes_(extra)} each time, and what "
                               "follows from it", extra, 1, LESSONS["dense_by_nature"], record),
                       {"given": (given["bytes"], words.bytes_)})


@_rule
def _dense_gradient(profile: Any) -> Iterator[Finding | _Met]:
    """A weight that only few rows of a sparse batch reach has a dense gradient."""
    forward: dict[Any, dict[str, Any]] = {}
    for record in _operators(profile, "forward", "backward"):
        if record["node"] is None:
            continue
        if record["lane"] == "forward":
            if record["inputs"] and record["inputs"][0]["stype"] == "csr":
                forward[record["node"]] = record
            continue
        started = forward.get(record["node"])
        for made in record["outputs"] if started else ():
            found = _hardly_reached(record, started, made) if started else None
            if found:
                yield found


def _hardly_reached(record: dict[str, Any], started: dict[str, Any], made: dict[str, Any]) -> _Met | None:
    """What is to say of the dense gradient of a weight (inputs, units), or (units, inputs) of a fully connected layer."""
    batch = started["inputs"][0]
    turned = started["name"] == "FullyConnected" and made["shape"][1:] == batch["shape"][1:]
    place, what = (1, "columns") if turned else (0, "rows")
    whole = len(batch["shape"]) == 2 and made["stype"] == "default" and made["shape"][place: place + 1] == batch["shape"][1:]
    length = made["shape"][place] if whole else 0
    touched = min(batch["nnz"], length)
    saved = made["bytes"] - touched * (made["bytes"] // length + 8) if length else 0
    if 4 * touched >= length or saved <= SMALL:
        return None
    remedy = ("Make the layer with Dense(…, weight_grad_stype='row_sparse'), which keeps its weight as (in_units, units); for a "
              "weight of your own take dot(x, weight) with grad_stype='row_sparse'." if turned
              else "Give the weight grad_stype='row_sparse'.")
    return _Met(Finding("dense_gradient", _at(record), f"The gradient is dense, {_shape(made)}, and a batch reaches at most "
                        f"{{touched}} of its {what}.", remedy, f"at least {words.bytes_(saved)} of memory, and its writing in "
                        "every step", saved, 1, LESSONS["dense_gradient"], record), {"touched": (touched, words.count)})


@_rule
def _full_rows(profile: Any) -> Iterator[Finding | _Met]:
    """A row-sparse gradient stores most rows."""
    for record in _operators(profile, "backward"):
        for made in record["outputs"]:
            rows = made.get("rows", 0)
            if made["stype"] == "row_sparse" and 2 * rows > _length(made) and made["bytes"] > SMALL:
                saved = made["components"].get("indices", 0)
                yield _Met(Finding("full_rows", _at(record), f"A row_sparse gradient of {_shape(made)} stores {{rows}} rows, "
                                   "more than half.", "Use grad_stype='default': dense kernels need no row numbers.",
                                   f"{words.bytes_(saved)} of indices, and the time of merging rows", saved, 1,
                                   LESSONS["full_rows"], record), {"rows": (rows, words.count)})


@_rule
def _eager_update(profile: Any) -> Iterator[Finding]:
    """An update with a row-sparse gradient still reads and writes every row."""
    for record in _operators(profile, "update"):
        gradient = next((array for array in record["inputs"] if array["stype"] == "row_sparse"), None)
        if record["attrs"].get("lazy_update") is False and gradient:
            whole = record["outputs"][0]["bytes"] if record["outputs"] else 0
            if 4 * gradient.get("rows", 0) < _length(gradient) and whole > SMALL:
                yield Finding("eager_update", _at(record), f"lazy_update=False: all {_length(gradient):,} rows are updated, "
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
def _hardly_sparse(profile: Any) -> Iterator[Finding | _Met]:
    """A sparse format that takes more memory than the dense array."""
    for record in _operators(profile):
        for array in record["inputs"]:
            # In whole numbers: no float holds the product of what a damaged trace calls a shape.
            dense = math.prod(array["shape"]) * array["components"].get("data", 0) // array["nnz"] if array["nnz"] else 0
            if _sparse(array) and array["bytes"] > max(dense, SMALL):
                extra = array["bytes"] - dense
                yield _Met(Finding("hardly_sparse", _at(record), f"A {array['stype']} array of {_shape(array)} with density "
                                   "{density} takes {bytes}; dense it takes less.", "Convert it once with tostype('default').",
                                   words.bytes_(extra), extra, 1, LESSONS["hardly_sparse"], record),
                           {"density": (array["density"], "{:.2f}".format), "bytes": (array["bytes"], words.bytes_)})


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
