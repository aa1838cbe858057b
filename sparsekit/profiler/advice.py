"""Advice by fixed rules: each finding has its event, the reason, the expected saving, and a lesson to read.

A rule gives a finding for each event, and findings with the same cause are merged.  Findings are ranked by the share of the
run that they would save: of the memory at the peak, of the bytes moved, or of the time.  Rules use bytes and counts wherever
possible, so that the same program gets the same advice on a busy machine.
"""

from __future__ import annotations

import itertools
import math
import re
import statistics
from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from ..base.formatting import format_bytes, format_count, format_duration, format_percent
from ..core import hooks
from .describe import storage
from .table import Table
from .torch_gradients import COUNTED, CountedRows, counted_rows
from .torch_operands import OPERAND, of_three_axes, zero_operands
from .torch_operators import is_torch
from .torch_twin import TRIED

if TYPE_CHECKING:
    from .profile import Profile
    from .types import ArrayRecord, Record

#: The contexts that a copy names; one from or to numpy names one, and is of other values each time.
_DEVICES = re.compile(r"\b[a-z]+\(\d+\)")

#: Iterators over arrays in memory, and the microseconds from which one of their batches is slow; a user's data set may
#: read files.
IN_MEMORY, SLOW_BATCH = ("DataLoader", "NDArrayIter"), 5000

#: Operators whose first input is the numbers of the rows that they look up.
EMBEDDINGS = ("Embedding", "_embedding", "_contrib_SparseEmbedding")

#: Smaller savings in bytes are not reported.
SMALL = 4096

#: Savings of a smaller share of the run's memory, bytes moved or time are not reported either.
LEAST = 0.01

#: The share of the peak from which the width of indices is reported: int64 is the default, as in MXNet.
MATERIAL = 0.1


class Finding(NamedTuple):
    """One piece of advice.

    Attributes
    ----------
    rule : str
        Name of the rule.
    where : str
        The event that triggered it: operator, layer and line.
    reason, remedy : str
        Why the rule applies, and what to change.  If a number differs between the occurrences, the text gives its range.
    saving : str
        The expected saving as text, in bytes or time.
    amount : float
        The expected saving as a number, in bytes or microseconds.
    times : int
        Number of occurrences.  ``amount``, ``saving`` and ``event`` describe the occurrence with the highest cost.
    lesson : str
        Notebook and section that teach the remedy: a value of ``LESSONS``.
    event : dict or None
        The record that triggered the rule.
    share : float
        The saving as a share of the run's total: of the bytes at the peak, the bytes moved or the time.  The findings are
        sorted by this share.
    """

    rule: str
    where: str
    reason: str
    remedy: str
    saving: str
    amount: float
    times: int
    lesson: str
    event: Record | None
    share: float = 0.0


class Advice:
    """What the rules found, largest saving first.

    Attributes
    ----------
    findings : list of Finding
    seen : bool
        Whether an operator was recorded that rules could read.
    """

    def __init__(self, findings: list[Finding], seen: bool = True) -> None:
        self.findings, self.seen = findings, seen

    def __len__(self) -> int:
        return len(self.findings)

    def __iter__(self) -> Iterator[Finding]:
        return iter(self.findings)

    def table(self) -> Table:
        """The findings as a table."""
        cells = [[f.rule, f.where, format_count(f.times), f.reason, f.remedy, f.saving, f.lesson] for f in self.findings]
        rows = [finding._asdict() for finding in self.findings]
        footer = f"{len(RULES)} rules were checked; {len({f.rule for f in self.findings})} gave findings."
        return Table(("rule", "where", "times", "reason", "what to do", "saving", "lesson"), rows, cells, footer, "Advice")

    def __repr__(self) -> str:
        parts = [f"{number}. {f.reason}\n   {f.where}{f', {f.times} times' if f.times > 1 else ''}\n   {f.remedy}\n"
                 f"   Saving: {f.saving}. See {f.lesson}." for number, f in enumerate(self.findings, 1)]
        return "\n".join(parts) or (f"No advice: {len(RULES)} rules were checked." if self.seen else
                                    "No advice: no operator was recorded that a rule could read.")

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict[str, str]:  # object: IPython's, not used
        return {"text/plain": repr(self), "text/html": self.table().html}


def paragraphs(advice: Advice) -> str:
    """Write the findings as paragraphs of a page, which a table of so many words would be too wide for."""
    return "\n\n".join(
        f"{number}. {f.reason} {f.remedy} Saving: {f.saving}.\n\nWhere: {f.where}{f', {f.times} times' if f.times > 1 else ''}. "
        f"Lesson: {f.lesson}." for number, f in enumerate(advice, 1)) or repr(advice)


class _Found(NamedTuple):
    """What a rule finds, as the fields of ``Finding`` say it.

    ``figures`` has name -> value and formatter of what stands in braces in the reason: findings do not differ by these.
    ``repeated`` says how often the run would save the amount, at least.
    """

    where: str
    reason: str
    remedy: str
    saving: str
    amount: float
    event: Record | None
    figures: Mapping[str, tuple[float, Callable[[float], str]]] = MappingProxyType({})
    repeated: int = 1


class _Rule(NamedTuple):
    """A rule, and the lesson on it: notebook and heading, as the target of a link.

    ``saves`` says what ``amount`` is: bytes ``held`` at the peak, bytes ``moved``, either (empty), or microseconds (``time``).
    """

    name: str
    lesson: str
    saves: str
    find: Callable[[_RuleData], Iterator[_Found]]


RULES: list[_Rule] = []


def _rule(lesson: str, saves: str = "") -> Callable[[Callable[[_RuleData], Iterator[_Found]]], None]:
    """Declare the function below as the rule of its name."""
    return lambda find: RULES.append(_Rule(find.__name__.lstrip("_"), lesson, saves, find))


def advise(profile: Profile) -> Advice:
    """Apply every rule; merge findings of one cause, and rank them by the share of the run that they would save."""
    run = _RuleData(profile)
    findings: list[Finding] = []
    for rule in RULES:
        causes: dict[tuple[str, str], list[_Found]] = {}
        for case in rule.find(run):
            causes.setdefault((case.where, case.reason), []).append(case)
        findings += [run.finding(rule, case) for case in causes.values()]
    # Costs that occur once for each machine come last: they do not grow with the run.
    return Advice(sorted((finding for finding in findings if finding.share >= LEAST), key=lambda f: (
        f.rule == "compilation", -round(f.share, 2), _PLACES[f.rule], -f.amount, f.where, f.reason)),
        bool(run.totals))


class _RuleData:
    """A profile with the data that several rules use, computed once."""

    def __init__(self, profile: Profile) -> None:
        self.records, self.ledger, self.memory = profile.records, profile.ledger, profile.memory
        self.totals, self.wall, self.accounted = profile.totals, profile.wall, profile.accounted
        self.peak = max(1, self.memory["peak_bytes"])
        #: Whether the operators are PyTorch's.
        self.torch = any(is_torch(record) for record in self.records) and all(map(is_torch, self.operators()))
        self.moved = max(1, sum(row["bytes"] for row in self.totals))
        #: Sparse arrays that became dense, implicitly or explicitly, by shape.
        self.sparse_before: dict[tuple[int, ...], ArrayRecord] = {}
        for record in self.operators():
            for output in record["outputs"]:
                source = next((array for array in record["inputs"] if _sparse(array) and array["shape"] == output["shape"]), None)
                if source is not None and not _sparse(output):
                    self.sparse_before.setdefault(tuple(output["shape"]), source)

    def operators(self, *lanes: str) -> Iterator[Record]:
        """The operators' records, of some lanes if given."""
        return (record for record in self.records if record["kind"] == "op" and (not lanes or record["lane"] in lanes))

    def finding(self, rule: _Rule, cases: list[_Found]) -> Finding:
        """One finding of several of a cause: that of the largest saving, with the range of each figure."""
        largest = max(cases, key=lambda case: case.amount)
        reason, remedy, lesson = largest.reason, largest.remedy, rule.lesson
        if self._of_torch(largest.event):
            remedy = _IN_TORCH.get(rule.name) or remedy
            lesson = _LESSON_IN_TORCH if "row_sparse" in lesson else lesson
            for ours, theirs in _NAMES_IN_TORCH.items():
                reason = reason.replace(ours, theirs)
        for name, (_, write) in largest.figures.items():
            values = [case.figures[name][0] for case in cases]
            ends = dict.fromkeys((write(min(values)), write(max(values))))
            reason = reason.replace(f"{{{name}}}", " to ".join(ends))
        share = self._share(rule.saves, largest.amount, sum(case.repeated for case in cases))
        return Finding(rule.name, largest.where, reason, remedy, largest.saving, largest.amount, len(cases), lesson,
                       largest.event, share)

    def _of_torch(self, event: Record | None) -> bool:
        """Whether a finding is of a tensor of PyTorch."""
        if event is None:
            return self.torch
        return event["name"] in (COUNTED, OPERAND) or (is_torch(event) if event["kind"] == "op" else self.torch)

    def _share(self, saves: str, amount: float, times: int) -> float:
        """What a saving is of the run."""
        held, moved, spent = amount / self.peak, amount * times / self.moved, amount / self.wall if self.wall else 0.0
        return float(min(1.0, {"held": held, "moved": moved, "time": spent}.get(saves, max(held, moved))))


def _at(record: Record) -> str:
    layer = f" in {record['layer']}" if record["layer"] else ""
    return f"{record['name']} ({record['lane']}){layer}{' at ' + record['line'] if record['line'] else ''}"


def _shape(array: ArrayRecord) -> str:
    return "×".join(map(str, array["shape"]))


def _length(array: ArrayRecord) -> int:
    """Rows of an array; 0 of one without axes, which a damaged trace may call sparse."""
    return int(array["shape"][0]) if array["shape"] else 0


def _sparse(array: ArrayRecord) -> bool:
    return bool(array["stype"] != "default")


@_rule("notebooks/01_csr.ipynb#9.-One-line-makes-an-array-dense")
def _became_dense(profile: _RuleData) -> Iterator[_Found]:
    """A sparse array implicitly became dense, because no kernel takes it."""
    events = {(record["name"], record["line"]): record for record in profile.operators()
              if record.get("became_dense") == hooks.FALLBACK}
    for entry in profile.ledger:
        extra = max(0, entry.bytes_after - entry.bytes_before)
        if entry.kind == hooks.FALLBACK and extra > SMALL:
            yield _Found(f"{entry.op}{' at ' + entry.line if entry.line else ''}",
                         f"A {entry.source} array of {'×'.join(map(str, entry.shape))} silently became {entry.target}: "
                         f"{entry.reason}.", entry.remedy, f"{format_bytes(extra)} each time", extra,
                         events.get((entry.op, entry.line), events.get(("cast_storage", entry.line))))


@_rule("notebooks/08_profiling.ipynb#6.-The-fix")
def _dense_by_nature(profile: _RuleData) -> Iterator[_Found]:
    """A sparse array gives a large dense result without a warning, since the result is dense by nature."""
    remedies = {(entry.op, entry.line): entry.remedy for entry in profile.ledger if entry.kind == hooks.NATURAL}
    for record in profile.operators():
        operand = max((array for array in record["inputs"] if _sparse(array)), key=lambda a: math.prod(a["shape"]), default=None)
        result = record["outputs"][0] if record["outputs"] else None
        if record.get("became_dense") != hooks.NATURAL or result is None or operand is None:
            continue
        if any(not _sparse(array) and array["shape"] == result["shape"] for array in record["inputs"]):
            continue  # a dense input was as large before: adding a csr mask to dense scores takes no more memory
        extra = result["bytes"] - operand["bytes"]
        if extra > 16 * SMALL:
            remedy = remedies.get((record["name"], record["line"])) or (
                "Use a function that keeps zeros, such as log1p(x) instead of log(1 + x)")
            yield _Found(_at(record), f"It takes a {operand['stype']} array of {_shape(operand)}, "
                         f"{{given}}, and gives a dense one of {format_bytes(result['bytes'])}: zeros do not stay zero.",
                         f"{remedy[0].upper()}{remedy[1:]}.",
                         f"{format_bytes(extra)} each time, and everything computed from it", extra, record,
                         {"given": (operand["bytes"], format_bytes)})


@_rule("notebooks/03_train_gluon.ipynb#6.-Third-variant:-a-row-sparse-gradient")
def _dense_gradient(profile: _RuleData) -> Iterator[_Found]:
    """A weight that only few rows of a sparse batch reach has a dense gradient."""
    forward: dict[int, Record] = {}
    stored = {tuple(array["shape"]) for record in profile.operators("update") for array in record["inputs"]
              if array["stype"] == "row_sparse"}
    for record in profile.operators("forward", "backward"):
        if record["node"] is None or is_torch(record):
            continue  # the rows of PyTorch's gradients are counted, which zero_rows reads
        if record["lane"] == "forward":
            first = record["inputs"][0] if record["inputs"] else None
            # Also for a batch that became dense before: the gradient stays dense when the batch is csr again.
            if record["name"] in EMBEDDINGS:
                forward[record["node"]] = record
                continue
            batch = first
            if first and first["stype"] != "csr":
                batch = None if _sparse(first) else profile.sparse_before.get(tuple(first["shape"]))
            if batch is not None and batch["stype"] == "csr":
                forward[record["node"]] = {**record, "inputs": [batch, *record["inputs"][1:]]}
            continue
        started = forward.get(record["node"])
        for gradient in record["outputs"] if started else ():
            case = _hardly_reached(record, started, gradient, tuple(gradient["shape"]) in stored) if started else None
            if case:
                yield case


def _hardly_reached(record: Record, started: Record, gradient: ArrayRecord, stored: bool) -> _Found | None:
    """The finding for the dense gradient of a weight (inputs, units), or (units, inputs) of a fully connected layer.

    ``stored`` says that the update gets the gradient row_sparse, so that the weight has that grad_stype already.
    """
    batch = started["inputs"][0]
    embedding = started["name"] in EMBEDDINGS
    turned = started["name"] == "FullyConnected" and gradient["shape"][1:] == batch["shape"][1:]
    place, noun = (1, "columns") if turned else (0, "rows")
    fits = (gradient["shape"] == started["inputs"][1]["shape"] if embedding and len(started["inputs"]) > 1
            else len(batch["shape"]) == 2 and gradient["shape"][place: place + 1] == batch["shape"][1:])
    dense = fits and gradient["stype"] == "default"
    length = gradient["shape"][place] if dense else 0
    touched = min(batch["nnz"], length)
    saved = gradient["bytes"] - touched * (gradient["bytes"] // length + 8) if length else 0
    if 4 * touched >= length or saved <= SMALL:
        return None
    remedy = ("The weight has grad_stype='row_sparse' already: keep the batch csr up to this layer." if stored
              else "Make the layer with Dense(…, weight_grad_stype='row_sparse'), which keeps its weight as (in_units, units); "
              "for your own weight use dot(x, weight) with grad_stype='row_sparse'." if turned
              else "Make the layer with Embedding(…, sparse_grad=True)." if embedding
              else "Give the weight grad_stype='row_sparse'.")
    return _Found(_at(record), f"The gradient is dense, {_shape(gradient)}, and a batch touches at most "
                  f"{{touched}} of its {noun}.", remedy, f"at least {format_bytes(saved)} of memory, and its writing in "
                  "every step", saved, record, {"touched": (touched, format_count)})


@_rule("notebooks/14_pytorch.ipynb#3.-Fix,-and-prove-the-fix")
def _zero_rows(profile: _RuleData) -> Iterator[_Found]:
    """A dense gradient of PyTorch holds zeros but in few rows, or columns, as was counted."""
    ways = {record["attrs"].get("parameter"): record["attrs"].get("way") for record in profile.records
            if record["name"] == TRIED}
    for gradient in counted_rows(profile.records):
        saved, way = gradient.bytes - gradient.as_rows, ways.get(gradient.parameter)
        if not gradient.mostly_zero or saved <= SMALL or not isinstance(way, str) or not way:
            continue  # also where PyTorch takes no sparse gradient
        yield _Found(_gradient_of(gradient), f"The gradient of {gradient.parameter} is dense, "
                     f"{'×'.join(map(str, gradient.shape))}, {format_bytes(gradient.bytes)}: at most "
                     f"{format_count(gradient.most)} of its {format_count(gradient.length)} {gradient.axis} are not zero.", way,
                     f"{format_bytes(saved)} of memory, as these {gradient.axis} take {format_bytes(gradient.as_rows)}, and the "
                     "writing of zeros in every step", saved, gradient.event, repeated=gradient.passes)


def _gradient_of(gradient: CountedRows) -> str:
    return f"gradient of {gradient.parameter}{f' ({gradient.module})' if gradient.module else ''}"


@_rule("notebooks/14_pytorch.ipynb#2.-Find")
def _masked_product(profile: _RuleData) -> Iterator[_Found]:
    """The gradient of a sparse matrix is computed as a dense one, of which the stored places are kept."""
    for record in profile.operators("backward"):
        if record["name"] == "aten::sparse_mask" and len(record["inputs"]) > 1 and not _sparse(record["inputs"][0]):
            product, kept = record["inputs"][:2]
            saved = product["bytes"] - kept["bytes"]
            if saved > SMALL:
                yield _Found(_at(record), f"The gradient of a {kept['stype']} matrix of {_shape(kept)} is a dense product, "
                             f"{format_bytes(product['bytes'])}, of which {{kept}} values are kept.",
                             "If the matrix is not trained, make it without requires_grad. Otherwise multiply with "
                             "matrix.to_sparse_csr(): torch.sparse.mm computes only the stored places of its gradient.",
                             f"{format_bytes(saved)} each time", saved, record, {"kept": (kept["nnz"], format_count)})


@_rule("notebooks/14_pytorch.ipynb#2.-Find")
def _zero_operand(profile: _RuleData) -> Iterator[_Found]:
    """A dense matrix that every step multiplies is mostly zero."""
    for matrix in zero_operands(profile.records):
        saved = matrix.bytes - matrix.needed
        if matrix.kept and matrix.way and saved > SMALL:
            yield _Found(f"product{f' at {matrix.line}' if matrix.line else ''}",
                         f"A dense matrix of {'×'.join(map(str, matrix.shape))}, {format_bytes(matrix.bytes)}, is multiplied in "
                         f"every step, and {format_percent(matrix.stored / math.prod(matrix.shape))} of it is not zero.",
                         f"Make it sparse once, before the loop: matrix = matrix.{matrix.way}. Products with @, torch.mm and "
                         f"torch.matmul take it.{of_three_axes(matrix)}",
                         f"{format_bytes(saved)} of memory, and the reading of zeros in every product", saved, matrix.event,
                         repeated=matrix.times)


#: Classes from which on a loss that computes all of them is told of, and the width that an adaptive softmax needs.
MANY_CLASSES, WIDE = 2000, 16


@_rule("notebooks/14_pytorch.ipynb#2.-Find")
def _whole_softmax(profile: _RuleData) -> Iterator[_Found]:
    """A loss compares with all words of a vocabulary, which gives a weight a gradient without zeros."""
    weights = {gradient.length: gradient for gradient in counted_rows(profile.records)
               if not gradient.mostly_zero and gradient.layout == "default"}
    for record in profile.operators("forward"):
        scores = record["inputs"][0] if record["name"] == "aten::nll_loss_forward" and record["inputs"] else None
        weight = weights.get(scores["shape"][-1]) if scores and scores["shape"] else None
        width = min(weight.shape) if weight is not None else 0
        if scores is None or weight is None or weight.length < MANY_CLASSES or scores["bytes"] <= SMALL or width < WIDE:
            continue
        cuts = [weight.length // 100, weight.length // 10]
        yield _Found(_at(record), f"The loss computes all {format_count(weight.length)} classes: {_shape(scores)} scores take "
                     f"{format_bytes(scores['bytes'])}, and so do their logarithms and their gradient; the gradient of "
                     f"{weight.parameter} has no zero row.", "Unless the model needs all of them, train with "
                     f"nn.AdaptiveLogSoftmaxWithLoss({width}, {weight.length}, cutoffs={cuts}), classes sorted by frequency, or "
                     "with a loss of sampled classes. Both change the training.",
                     f"up to {format_bytes(3 * scores['bytes'])}", 3 * scores["bytes"], record)


#: What rules advise, in PyTorch's words; a rule without an entry advises in words that hold for both.
_IN_TORCH = {
    "wide_indices": "Make the tensor with int32 indices: crow_indices.int(), col_indices.int().",
    "hardly_sparse": "Convert it once with to_dense().",
    "double_precision": "Use float32, model.float(), unless you need the digits.",
    "reading": "Give the DataLoader num_workers, or read the data once and keep them as tensors.",
}

#: What reasons call the layouts and types of PyTorch.
_NAMES_IN_TORCH = {"row_sparse": "sparse COO", "became default": "became dense",
                   ", the default of the library and of MXNet": ""}

#: The lesson in place of those on row_sparse arrays.
_LESSON_IN_TORCH = "notebooks/14_pytorch.ipynb#2.-Find"


@_rule("notebooks/02_row_sparse.ipynb#3.-What-it-costs", "held")
def _full_rows(profile: _RuleData) -> Iterator[_Found]:
    """A row-sparse gradient stores most rows."""
    for gradient in counted_rows(profile.records):
        if gradient.layout == "row_sparse" and 2 * gradient.most > gradient.length and gradient.bytes > SMALL:
            saved = 8 * gradient.stored
            yield _Found(_gradient_of(gradient),
                         f"The gradient of {gradient.parameter} is sparse, {'×'.join(map(str, gradient.shape))}, and stores "
                         f"{format_count(gradient.most)} of its {format_count(gradient.length)} rows, more than half.",
                         "Make the layer with sparse=False: dense kernels need no row numbers.",
                         f"{format_bytes(saved)} of indices, and the time to merge rows", saved, gradient.event)
    for record in profile.operators("backward"):
        for output in record["outputs"] if not is_torch(record) else ():
            rows = output.get("rows", 0)
            if output["stype"] == "row_sparse" and 2 * rows > _length(output) and output["bytes"] > SMALL:
                saved = output["components"].get("indices", 0)
                yield _Found(_at(record), f"A row_sparse gradient of {_shape(output)} stores {{rows}} rows, more than half.",
                             "Use grad_stype='default': dense kernels need no row numbers.",
                             f"{format_bytes(saved)} of indices, and the time to merge rows", saved, record,
                             {"rows": (rows, format_count)})


@_rule("notebooks/07_optimizers_lazy_or_not.ipynb#5.-What-the-full-update-costs", "moved")
def _eager_update(profile: _RuleData) -> Iterator[_Found]:
    """An update with a row-sparse gradient still reads and writes every row."""
    for record in profile.operators("update"):
        gradient = next((array for array in record["inputs"] if array["stype"] == "row_sparse"), None)
        if record["attrs"].get("lazy_update") is False and gradient:
            share = gradient.get("rows", 0) / max(1, _length(gradient))
            unneeded = int((record["bytes"] - gradient["bytes"]) * (1 - share))
            if 4 * share < 1 and unneeded > SMALL:
                yield _Found(_at(record), f"With lazy_update=False, the update changes all "
                             f"{_length(gradient):,} rows, although the gradient stores few.",
                             "Make the optimizer with lazy_update=True, if lazy updates suit your model.",
                             f"up to {format_bytes(unneeded)} read and written per step", unneeded, record)


def _as_dense(array: ArrayRecord) -> int:
    """Bytes that a sparse array would take as a dense one; 0 if it stores nothing."""
    # In integers: the shape in a damaged trace may overflow a float.
    return int(math.prod(array["shape"])) * array["components"].get("data", 0) // array["nnz"] if array["nnz"] else 0


@_rule("notebooks/01_csr.ipynb#6.-What-it-costs", "held")
def _wide_indices(profile: _RuleData) -> Iterator[_Found]:
    """Indices of 64 bits where 32 would do."""
    seen: set[tuple[str, tuple[int, ...], int]] = set()
    for record in profile.operators():
        for array in record["inputs"]:
            index_bytes = sum(size for name, size in array["components"].items() if name != "data")
            key = (array["stype"], tuple(array["shape"]), array["nnz"])
            fixed = is_torch(record) and array["stype"] in ("coo", "row_sparse")  # PyTorch has no others
            if (array["index_dtype"] == "int64" and not fixed and max(array["shape"], default=0) < 2**31 and array["nnz"] < 2**31
                    and index_bytes > 2 * max(SMALL, MATERIAL * profile.peak) and key not in seen
                    and array["bytes"] <= _as_dense(array)):
                seen.add(key)
                yield _Found(_at(record), f"The indices of a {array['stype']} array of {_shape(array)} take "
                             f"{format_bytes(index_bytes)} as int64, the default of the library and of MXNet; int32 is large "
                             "enough.", "Make it with index_dtype='int32'.", f"{format_bytes(index_bytes // 2)}",
                             index_bytes // 2, record)


@_rule("notebooks/01_csr.ipynb#6.-What-it-costs", "held")
def _hardly_sparse(profile: _RuleData) -> Iterator[_Found]:
    """A sparse format that takes more memory than the dense array."""
    first: dict[tuple[str, tuple[int, ...]], Record] = {}
    weights = {tuple(record["inputs"][0]["shape"]) for record in profile.operators("update")
               if record["inputs"] and record["inputs"][0]["stype"] == "row_sparse"}
    for record in profile.operators():
        for array in record["inputs"]:
            dense = _as_dense(array)
            if not _sparse(array) or array["bytes"] <= max(dense, SMALL):
                continue
            if array["stype"] == "row_sparse" and (record["lane"] in ("backward", "update") or tuple(array["shape"]) in weights):
                continue  # a gradient, which full_rows reports, or a weight, which holds all its rows
            extra = array["bytes"] - dense
            start = first.setdefault((array["stype"], tuple(array["shape"])), record)
            yield _Found(_at(start), f"A {array['stype']} array of {_shape(array)} with density "
                         "{density} takes {bytes}; as a dense array it takes less.", "Convert it once with tostype('default').",
                         format_bytes(extra), extra, start,
                         {"density": (array["density"], "{:.2f}".format), "bytes": (array["bytes"], format_bytes)})


@_rule("notebooks/09_memory.ipynb#6.-What-if?-Narrower-numbers", "held")
def _double_precision(profile: _RuleData) -> Iterator[_Found]:
    """Parameters, their gradients or the optimizer's states in float64."""
    rows = [row for row in profile.memory["at_peak"] if row.get("dtype") == "float64" and row["bytes"] > SMALL
            and row["role"] in ("parameter", "gradient", "optimizer state")]
    if rows:
        largest, size = max(rows, key=lambda row: row["bytes"]), sum(row["bytes"] for row in rows)
        others = f" and {len(rows) - 1} more" if len(rows) > 1 else ""
        yield _Found(f"{largest['role']} of {largest['owner']}{others}",
                     f"{'They take' if others else 'It takes'} {format_bytes(size)} as float64.",
                     "Use float32, net.cast('float32'), unless you need the digits.", format_bytes(size // 2), size / 2, None)


@_rule("notebooks/A1_csr_reference.ipynb#1.-Conversions", "moved")
def _repeated_conversion(profile: _RuleData) -> Iterator[_Found]:
    """The same conversion again and again on the same line."""
    groups: dict[tuple[str, str, tuple[int, ...]], list[Record]] = {}
    for record in profile.operators():
        alone = record["depth"] == 0 and not record.get("became_dense")  # otherwise it belongs to another cause
        converts = record["name"] == "cast_storage" or (
            is_torch(record) and record["lane"] == "convert" and record["inputs"][0]["stype"] != "row_sparse")  # a gradient
        if converts and record["line"] and record["inputs"] and alone:
            key = (record["line"], storage(record["inputs"], record["outputs"]), tuple(record["inputs"][0]["shape"]))
            groups.setdefault(key, []).append(record)
    for group in groups.values():
        time = sum(record["duration"] for record in group[1:])
        size = sum(record["bytes"] for record in group[1:])
        if len(group) > 2 and group[0]["bytes"] > SMALL:
            yield _Found(_at(group[0]), f"An array of {_shape(group[0]['inputs'][0])} is converted "
                         f"{len(group)} times on one line.", "Convert it once, before the loop; if these are batches, convert "
                         "the whole data set.",
                         f"{format_bytes(size)} read and written, {format_duration(time)} in this profile", size, group[0])


@_rule("notebooks/09_memory.ipynb#8.-Temporaries", "held")
def _temporaries(profile: _RuleData) -> Iterator[_Found]:
    """An operator makes and frees more than a tenth of the peak inside."""
    peak = profile.memory["peak_bytes"]
    told = {entry.op for entry in profile.ledger}  # the temporaries inside follow from that
    for row in profile.memory.get("temporaries", ()):
        if row["most"] > max(peak / 10, 16 * SMALL) and row["op"] not in told:
            yield _Found(f"{row['op']}{' in ' + row['layer'] if row['layer'] else ''}",
                         f"One call allocated and freed {format_bytes(row['most'])}; the peak is {format_bytes(peak)}.",
                         "Look for a conversion inside the call (convert lane), or process fewer rows at once.",
                         format_bytes(row["most"]), row["most"], None)


@_rule("notebooks/08_profiling.ipynb#2.-The-timeline", "time")
def _compilation(profile: _RuleData) -> Iterator[_Found]:
    """A good part of the run is compilation."""
    time = sum(row["self"] for row in profile.totals if row["lane"] == "compile")
    if profile.wall and time > max(profile.wall / 10, 10_000):
        first = next((record for record in profile.records if record["lane"] == "compile"), None)
        yield _Found(_at(first) if first else "compile lane",
                     f"{format_percent(time / profile.wall)} of the time is compilation and imports, which happen once.",
                     "Run a step before profiling, use schedule(wait=0, "
                     "warmup=1, active=…), or call sparsekit.kernels.warm() beforehand.", format_duration(time), time, first)


@_rule("notebooks/03_train_gluon.ipynb#2.-Sparse-data-on-disk", "time")
def _reading(profile: _RuleData) -> Iterator[_Found]:
    """A good part of the run is reading data."""
    batched = [record["duration"] for record in profile.records if record["name"] in IN_MEMORY]
    quick = bool(batched) and statistics.median(batched) < SLOW_BATCH
    rows = [row for row in profile.totals if row["lane"] == "io" and not (quick and row["name"] in IN_MEMORY)]
    time = sum(row["self"] for row in rows)
    if profile.wall and time > max(profile.wall * 0.3, 1000):
        names = {row["name"] for row in rows}
        first = next((record for record in profile.records if record["lane"] == "io" and record["name"] in names), None)
        yield _Found(_at(first) if first else "io lane",
                     f"{format_percent(time / profile.wall)} of the time is reading batches.",
                     "Read the file once with load_libsvm and keep the CSR matrix, or use DataLoader workers.",
                     format_duration(time), time, first)


@_rule("notebooks/08_profiling.ipynb#2.-The-timeline", "time")
def _between_operators(profile: _RuleData) -> Iterator[_Found]:
    """Python between the operators takes longer than they do."""
    # Between operators of PyTorch the profiler itself takes more than Python does.
    outer = [record for record in profile.records if record["depth"] == 0 and record["lane"] != "user" and not is_torch(record)]
    pairs = [(before, after) for before, after in itertools.pairwise(outer) if before["thread"] == after["thread"]
             and before["kind"] == after["kind"] == "op" and before["lane"] == after["lane"] == "forward"]
    if len(pairs) <= 100:
        return
    records = [before for before, _ in pairs]
    # The median, which other programs on the machine change least.
    gaps = [max(0.0, after["start"] - before["start"] - before["duration"]) for before, after in pairs]
    gap, median = statistics.median(gaps), statistics.median(record["duration"] for record in records)
    if median < min(100, gap):
        idle = gap * len(gaps)
        yield _Found(_at(records[0]), f"{format_count(len(records))} operators have a median time of "
                     f"{format_duration(median)}, and Python takes {format_duration(gap)} between two of them.",
                     "Call net.hybridize(); use larger batches.", f"part of {format_duration(idle)}", idle, records[0])


@_rule("notebooks/10_gpu.ipynb#2.-The-bytes-of-a-copy", "moved")
def _repeated_transfer(profile: _RuleData) -> Iterator[_Found]:
    """Equal copies between devices again and again."""
    groups: dict[tuple[str, str, int], list[Record]] = {}
    for record in profile.records:
        if record["lane"] == "transfer" and record["bytes"] > SMALL and len(set(_DEVICES.findall(record["name"]))) != 1:
            groups.setdefault((record["name"], record["layer"], record["bytes"]), []).append(record)
    for (name, _, size), group in groups.items():
        if len(group) > 2:
            yield _Found(_at(group[0]), f"{name}: {format_bytes(size)} were copied {len(group)} times.",
                         "Copy once, before the loop, and keep the copy.", format_bytes(size * (len(group) - 1)),
                         size * (len(group) - 1), group[0])


@_rule("notebooks/08_profiling.ipynb#6.-The-fix", "moved")
def _repeated_read(profile: _RuleData) -> Iterator[_Found]:
    """Large arrays are copied out of the library again and again on one line."""
    groups: dict[tuple[str, str], list[Record]] = {}
    for record in profile.records:
        _, arrow, target = record["name"].partition(" -> ")
        if record["lane"] == "transfer" and arrow and target in ("numpy", "scipy") and record["bytes"] > 16 * SMALL:
            groups.setdefault((record["name"], record["line"]), []).append(record)
    for (name, _), group in groups.items():
        if len(group) > 2:
            size = sum(record["bytes"] for record in group[1:])
            yield _Found(_at(group[0]), f"{name}: {format_count(len(group))} reads of up to "
                         f"{format_bytes(max(record['bytes'] for record in group))} on one line.",
                         "Compute on the arrays of the library, read them once after the loop, or read only the number that "
                         "you need: loss.mean().asscalar().", format_bytes(size), size, group[0])


#: The lesson of each rule, and its place among them.
LESSONS = {rule.name: rule.lesson for rule in RULES}
_PLACES = {rule.name: place for place, rule in enumerate(RULES)}
