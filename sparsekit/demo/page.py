"""The report: what was compared, the three timelines, the memory, and what one sees in them."""

from __future__ import annotations

import json
import platform
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from ..base.formatting import format_bytes, format_count, format_density, format_duration, format_share
from ..base.version import __version__
from ..datasets import DocstringData
from ..widgets import html_report, memory_bars, timelines_figure
from ..widgets.display import write_file
from .compare import TOLERANCE, Verdict, table
from .settings import LEARNING_RATE, Settings
from .training import Outcome, Trained, spans
from .variants import FLOAT

if TYPE_CHECKING:
    from ..profiler.types import Record


__all__ = ["Findings", "about_data", "write"]


class Findings(NamedTuple):
    """All that was found out."""

    settings: Settings
    data: DocstringData
    outcomes: list[Outcome]
    skipped: list[str]
    verdict: Verdict
    trained: Trained
    baseline: float
    conclusion: str


def write(folder: Path, found: Findings) -> None:
    """Write ``report.html``, ``results.json`` and a Chrome trace of each variant."""
    for outcome in found.outcomes:
        outcome.profile.save_trace(folder / f"{outcome.variant.key}.trace.json.gz")
    write_file(folder / "results.json", json.dumps(_plain(found), indent=1) + "\n")
    html_report("Where the sparsity goes: one model, trained three ways" if len(found.outcomes) == 3 else
                "Where the sparsity goes: one model, trained in different ways", _sections(found),
                path=folder / "report.html", footer=_footer(found))


def about_data(data: DocstringData, settings: Settings) -> str:
    """The data set in three sentences."""
    train, test = data.train, data.test
    store = train.data._store
    rows, columns = store.shape
    stored = store.nnz / rows
    positive = float(train.label.mean())
    return (
        f"{format_count(rows + test.data.shape[0])} docstrings from {len(data.versions)} packages, "
        f"{format_count(rows)} of them to train on and the others to test. Words and pairs of neighbouring words are "
        f"hashed into {columns:,} columns; a row stores {stored:.0f} of them ({format_density(stored / columns)}). "
        f"As CSR the training data take {format_bytes(store.nbytes)}, as a dense array they would take "
        f"{format_bytes(4 * rows * columns)}. The question: does a docstring document {data.names[1]} "
        f"({format_share(positive)} do) or {'another package' if data.names[0] == 'others' else data.names[0]}? "
        "Names of packages were left out of the text.")


def _sections(found: Findings) -> list[tuple[str, Any]]:
    columns, rows = table(found.outcomes, found.settings)
    caption = (f"Medians over {len(found.outcomes[0].losses)} batches of {found.settings.batch_size} rows, without the "
               "first two, under the profiler.")
    first: list[Any] = [found.conclusion, found.verdict.text, *found.skipped,
                        {"columns": columns, "rows": rows, "caption": caption}]
    return [("In short", first), ("What was trained", _trained(found)), ("One batch, every way", _timelines(found)),
            ("Memory", _memory(found)), ("What it learned", _accuracy(found)), ("How to repeat this", _repeat(found))]


def _trained(found: Findings) -> list[Any]:
    settings = found.settings
    ways = "\n\n".join(f"{outcome.variant.name.capitalize()}. {outcome.variant.what}" for outcome in found.outcomes)
    return [
        about_data(found.data, settings),
        (f"The model: a first layer from {settings.features:,} features to {settings.units} units, relu, and a second "
         f"layer to one number, the log-odds. Its first weight has {settings.features * settings.units:,} values, "
         f"{format_bytes(4 * settings.features * settings.units)}; nearly all time and memory go there. Stochastic "
         f"gradient descent, learning rate {LEARNING_RATE:g}. Every variant starts from the same values and sees the "
         "same batches."), ways]


def _timelines(found: Findings) -> list[Any]:
    records = {outcome.variant.name: typical(outcome.profile.records) for outcome in found.outcomes}
    title = f"The median batch of each, {len(records)} ways" if len(records) > 1 else "The median batch"
    return [
        _what_one_sees(found), timelines_figure(records, title=title, window="all"),
        ("The same, live. Zoom with the wheel or + and -, move by dragging or with the arrow keys, click an operator "
         "to read the shapes, storage types, stored values and bytes of its arrays."),
        {"timeline": records, "title": title}]


def typical(records: list[Record]) -> list[Record]:
    """The records of the batch of median duration, on a clock that starts with it."""
    batches = sorted(spans(records), key=lambda record: record["duration"])
    if not batches:
        return records
    chosen = batches[(len(batches) - 1) // 2]
    start, end = chosen["start"], chosen["start"] + chosen["duration"]
    return [{**record, "start": record["start"] - start} for record in records
            if start <= record["start"] < end and record is not chosen]


def _what_one_sees(found: Findings) -> str:
    """Explain each lane by the figures of this run."""
    by_key, features = {outcome.variant.key: outcome for outcome in found.outcomes}, f"{found.settings.features:,}"
    texts = []
    if dense := by_key.get("dense"):
        texts.append(
            f"Dense: forward ({_lane(dense, 'forward')}) multiplies every one of the {features} columns, nearly all of "
            f"them zero; backward ({_lane(dense, 'backward')}) computes a gradient for every column of the weight, and "
            f"the update ({_lane(dense, 'update')}) walks through all of it, zeros included. Making the batch dense "
            f"costs another {_lane(dense, 'convert')}.")
    if middle := by_key.get("sparse_input"):
        texts.append(
            f"Sparse input: forward takes {_lane(middle, 'forward')}, since dot reads only the stored values. "
            f"Backward ({_lane(middle, 'backward')}) and update ({_lane(middle, 'update')}) still pass over the whole "
            "gradient, although only a few of its rows are not zero.")
    last = by_key["row_sparse"]
    texts.append(
        f"Row-sparse gradient: only the rows that the batch touched are stored, at most {last.rows:,} of {features}. "
        f"Backward takes {_lane(last, 'backward')} and the update {_lane(last, 'update')}.")
    return "\n\n".join(texts)


def _lane(outcome: Outcome, lane: str) -> str:
    return format_duration(outcome.lanes.get(lane, 0.0))


def _memory(found: Findings) -> list[Any]:
    last = found.outcomes[-1]
    words = (
        f"All arrays that were alive when they took most, by role. The weight is the same {format_bytes(last.weight)} "
        f"every way. The gradient takes {format_bytes(last.gradient)} when it is row-sparse, and as much as the weight "
        "when it is not.")
    dense = [outcome for outcome in found.outcomes if outcome.variant.dense_batch]
    if dense:
        size = FLOAT * found.settings.features * found.settings.batch_size
        words += f" The dense variant makes {format_bytes(size)} of every batch: the workspace that comes and goes."
    # The peak of the whole process is that of all variants so far, and would mislead here.
    memories = {outcome.variant.name: {**outcome.profile.memory, "gradient_rows": outcome.profile.gradient_rows,
                                       "process_peak_bytes": None} for outcome in found.outcomes}
    views = [{"memory": memory, "title": f"Memory over time: {name}"} for name, memory in memories.items()]
    return [words, memory_bars(memories), *views]


def _accuracy(found: Findings) -> list[Any]:
    trained = found.trained
    rows = [[str(i + 1), f"{loss:.4f}", f"{100 * share:.1f} %"]
            for i, (loss, share) in enumerate(zip(trained.losses, trained.accuracies, strict=True))]
    words = (
        f"The row-sparse variant was then trained on all the data. On docstrings that it had not seen it was right in "
        f"{100 * trained.accuracies[-1]:.1f} % of the cases; always answering with the commoner class is right in "
        f"{100 * found.baseline:.1f} %. {trained.batches:,} batches took {format_duration(1e6 * trained.seconds)}.")
    return [words, {"columns": ["epoch", "mean loss", "right on test data"], "rows": rows,
                    "caption": "Part of what it learns is how each project writes, its headings and its idiom."}]


def _repeat(found: Findings) -> list[Any]:
    settings = found.settings
    switches = (" --quick" if settings.packages else "") + ("" if settings.dense else " --no-dense")
    command = (f"sparsekit demo --features {settings.features} --units {settings.units} --batch-size "
               f"{settings.batch_size} --batches {len(found.outcomes[0].losses)} --epochs {settings.epochs} "
               f"--seed {settings.seed}{switches}")
    rows = [[package, version, format_count(found.data.counts[package])]
            for package, version in found.data.versions.items()]
    return [f"{command}. The figures depend on the versions of the packages below: their docstrings are the data.",
            {"columns": ["package", "version", "docstrings"], "rows": rows, "caption": "What was read"},
            "The traces beside this file open in Perfetto, or with sparsekit view; results.json holds every figure."]


def _footer(found: Findings) -> str:
    return (f"Made by sparsekit {__version__} with Python {platform.python_version()} on {platform.machine()}. Losses "
            f"count as the same within {TOLERANCE:.0e}.")


def _plain(found: Findings) -> dict[str, Any]:
    settings = {key: value for key, value in found.settings._asdict().items() if key != "output"}
    variants = {
        outcome.variant.key: {
            "batch_us": outcome.batch, "lanes_us": outcome.lanes, "weight_bytes": outcome.weight,
            "gradient_bytes": outcome.gradient, "gradient_rows": outcome.rows, "peak_bytes": outcome.peak,
            "losses": outcome.losses,
        } for outcome in found.outcomes}
    return {"sparsekit": __version__, "settings": settings, "packages": found.data.versions,
            "docstrings": found.data.counts, "variants": variants, "skipped": found.skipped,
            "same_loss": found.verdict.same, "apart": found.verdict.apart, "baseline": found.baseline,
            "accuracies": found.trained.accuracies, "epoch_losses": found.trained.losses,
            "batches": found.trained.batches, "seconds": found.trained.seconds}
