"""The HTML report of the demo: the comparison, timelines, memory and accuracy, with explanations."""

from __future__ import annotations

import json
import platform
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from ..base.files import write_whole
from ..base.formatting import format_bytes, format_count, format_density, format_share
from ..base.version import __version__
from ..datasets import AUTHORS, BookData
from ..figures.page import html_page
from ..figures.timeline import timeline_figure
from ..figures.timeline_data import part_of
from .compare import TOLERANCE, Verdict, headline, table
from .settings import LEARNING_RATE, Settings
from .training import Outcome, Trained
from .variants import FLOAT_BYTES

if TYPE_CHECKING:
    from ..figures.kit import Figure
    from ..profiler.columns import Columns
    from ..profiler.profile import Profile


class Findings(NamedTuple):
    """The results of the demo.  A ``warning`` says why no times are given; it is empty if they are reliable."""

    settings: Settings
    data: BookData
    outcomes: list[Outcome]
    skipped: list[str]
    verdict: Verdict
    trained: Trained
    baseline: float
    warning: str
    conclusion: str


def write(folder: Path, findings: Findings) -> None:
    """Write ``report.html``, ``results.json``, and of each variant the profile and a Chrome trace."""
    for outcome in findings.outcomes:
        outcome.profile.save(folder / f"{outcome.variant.key}.npz")
        outcome.profile.save(folder / f"{outcome.variant.key}.trace.json.gz")
    write_whole(folder / "results.json", f"{json.dumps(_plain(findings), indent=1)}\n".encode())
    ways = "three ways" if len(findings.outcomes) == 3 else "in different ways"
    html_page(f"sparsekit demo: one model, trained {ways}", _sections(findings), path=folder / "report.html",
                footer=_footer(findings))


def about_data(data: BookData, settings: Settings) -> str:
    """Describe the data set in a few sentences."""
    train, test = data.train, data.test
    store = train.data._store
    rows, columns = store.shape
    stored = store.nnz / rows
    positive = float(train.label.mean())
    return (
        f"{format_count(rows + test.data.shape[0])} paragraphs of eight books, "
        f"{format_count(rows)} of them for training and the others for testing. Words and pairs of neighbouring words are "
        f"hashed into {columns:,} columns; a row stores {stored:.0f} of them on average ({format_density(stored / columns)}). "
        f"As CSR the training data take {format_bytes(store.nbytes)}; as a dense array they would take "
        f"{format_bytes(4 * rows * columns)}. The task: is a paragraph of an essay, by {data.names[1]} "
        f"({format_share(positive)} are), or of a story? The paragraphs for testing are those of each book's last fifth.")


def _sections(findings: Findings) -> list[tuple[str, Any]]:
    columns, rows = table(findings.outcomes, timed=not findings.warning)
    caption = (f"Bytes are counted over {len(findings.outcomes[0].losses)} batches of {findings.settings.batch_size} rows; the "
               "largest gradient of the last variant is that of all batches of the data.")
    if not findings.warning:
        caption += " Times are those of steps in turn; the intervals of how fast they are hold together with 99 % confidence."
    number, words = headline(findings.outcomes)
    first: list[Any] = [{"headline": number, "words": words}, _peaks(findings),
                        findings.conclusion, *filter(None, [_two_buffers(findings.outcomes[-1]), findings.warning]),
                        findings.verdict.text, *findings.skipped, {"columns": columns, "rows": rows, "caption": caption}]
    return [("In short", first), ("What was trained", _trained(findings)), ("One batch of each variant", _timelines(findings)),
            ("Memory", _memory(findings)),
            ("Accuracy", _accuracy(findings)), ("How to repeat this", _repeat(findings))]


def _two_buffers(outcome: Outcome) -> str:
    """Say why the picture of the peak has more bytes of the gradient than the table; empty if it has not."""
    held = [row["bytes"] for row in outcome.profile.memory["at_peak"]
            if (row["role"], row["owner"], row["component"]) == ("gradient", "first_weight", "data")]
    return "" if len(held) < 2 else (
        f"At the peak, two gradients of the {outcome.variant.name} exist, and the picture counts both: the backward pass "
        "makes a new gradient before the one of the batch before is freed. The table has the largest gradient of one batch.")


def _trained(findings: Findings) -> list[Any]:
    settings = findings.settings
    ways = "\n\n".join(f"{outcome.variant.name.capitalize()}. {outcome.variant.what}" for outcome in findings.outcomes)
    return [
        about_data(findings.data, settings),
        (f"The model: a first layer from {settings.features:,} features to {settings.units} units, ReLU, and a second "
         f"layer to one number, the log-odds. Its first weight has {settings.features * settings.units:,} values, "
         f"{format_bytes(4 * settings.features * settings.units)}, and takes nearly all memory. The optimizer is "
         f"stochastic gradient descent with learning rate {LEARNING_RATE:g}. Every variant starts from the same values and "
         "sees the same batches."), ways]


def _timelines(findings: Findings) -> list[Any]:
    if findings.warning:
        return [_moved(findings)]
    return [
        _moved(findings), timeline_figure({outcome.variant.name: typical(outcome.profile) for outcome in findings.outcomes}),
        ("Zoom with + and -, move by dragging or with Shift and the arrow keys, click an operator to read the shapes, storage "
         "types, stored values and bytes of its arrays.")]


def typical(profile: Profile) -> Columns:
    """Return the median batch, without the first two, which load kernels; the span around it included."""
    spans = [record for record in profile.records if record["kind"] == "span" and record["name"] == "batch"]
    batches = sorted(spans[2:] or spans, key=lambda record: record["duration"])
    if not batches:
        return profile.tables
    chosen = batches[(len(batches) - 1) // 2]
    return part_of(profile.tables, *(round(1000 * time) for time in (chosen["start"], chosen["start"] + chosen["duration"])))


def _moved(findings: Findings) -> str:
    """Explain the bytes that each lane moves, with the figures of this run."""
    by_key, features = {outcome.variant.key: outcome for outcome in findings.outcomes}, f"{findings.settings.features:,}"
    texts = []
    if dense := by_key.get("dense"):
        texts.append(
            f"Dense: forward ({_lane(dense, 'forward')}) reads all {features} columns, nearly all of them zero; backward "
            f"({_lane(dense, 'backward')}) writes a gradient for every column of the weight, and the update "
            f"({_lane(dense, 'update')}) reads all of it, zeros included. Making the batch dense moves another "
            f"{_lane(dense, 'convert')}.")
    if middle := by_key.get("sparse_input"):
        texts.append(
            f"Sparse input: forward moves {_lane(middle, 'forward')}, since dot reads only the stored values. Backward "
            f"({_lane(middle, 'backward')}) and update ({_lane(middle, 'update')}) still process the whole gradient, although "
            "few of its rows are nonzero.")
    last = by_key["row_sparse"]
    texts.append(
        f"Row-sparse gradient: it stores only the rows that the batch touches, at most {last.rows:,} of {features}. "
        f"Backward moves {_lane(last, 'backward')} and the update {_lane(last, 'update')}.")
    return "\n\n".join(texts)


def _lane(outcome: Outcome, lane: str) -> str:
    return format_bytes(outcome.moved[lane])


def _memory(findings: Findings) -> list[Any]:
    last = findings.outcomes[-1]
    words = (
        "The picture at the top has the arrays at the peak of memory, by role. "
        f"The weight takes {format_bytes(last.weight)} in every variant. The "
        f"gradient takes {format_bytes(last.gradient)} if it is row-sparse, and as much as the weight if it is dense.")
    dense = [outcome for outcome in findings.outcomes if outcome.variant.dense_batch]
    if dense:
        size = FLOAT_BYTES * findings.settings.features * findings.settings.batch_size
        words += f" The dense variant allocates {format_bytes(size)} for every batch, the workspace."
    top = max(outcome.peak for outcome in findings.outcomes)
    views = [] if findings.warning else [outcome.profile.memory.figure(title=f"Memory over time: {outcome.variant.name}", top=top)
                                         for outcome in findings.outcomes]
    return [words, *views]


def _peaks(findings: Findings) -> Figure:
    """The peak of each variant, on one scale."""
    *others, last = findings.outcomes
    against = {outcome.variant.name: outcome.profile.memory for outcome in others}
    shown: Figure = last.profile.memory.figure(against, last.variant.name, "Memory at the peak")
    return shown


def _accuracy(findings: Findings) -> list[Any]:
    trained = findings.trained
    rows = [[str(i + 1), f"{loss:.4f}", f"{100 * share:.1f} %"]
            for i, (loss, share) in enumerate(zip(trained.losses, trained.accuracies, strict=True))]
    words = (
        f"The row-sparse variant was then trained on all the data. It classifies {100 * trained.accuracies[-1]:.1f} % of the "
        f"test paragraphs correctly; predicting the majority class is correct for {100 * findings.baseline:.1f} %. "
        f"{trained.batches:,} batches were trained on.")
    return [words, {"columns": ["epoch", "mean loss", "test accuracy"], "rows": rows,
                    "caption": "The model also learns what each book is about, such as names."}]


def _repeat(findings: Findings) -> list[Any]:
    settings = findings.settings
    switches = (" --quick" if settings.quick else "") + ("" if settings.dense else " --no-dense")
    command = (f"sparsekit demo --features {settings.features} --units {settings.units} --batch-size "
               f"{settings.batch_size} --batches {len(findings.outcomes[0].losses)} --epochs {settings.epochs} "
               f"--seed {settings.seed}{switches}")
    authors = [paragraph.author for part in findings.data.paragraphs for paragraph in part]
    rows = [[author, format_count(authors.count(author))] for author in AUTHORS]
    return [f"{command}. The data, bytes and losses are the same on every machine, up to rounding.",
            {"columns": ["author", "paragraphs"], "rows": rows, "caption": "The books, in the public domain"},
            "The traces beside this file open in Perfetto, the .npz files with sparsekit view; results.json holds all figures.",
            {"links": {**{f"Trace of {outcome.variant.name}": f"{outcome.variant.key}.trace.json.gz"
                          for outcome in findings.outcomes},
                       "All figures": "results.json", "Perfetto, to open a trace in": "https://ui.perfetto.dev"}}]


def _footer(findings: Findings) -> str:
    return (f"Made by sparsekit {__version__} with Python {platform.python_version()} on {platform.machine()}. Losses "
            f"count as the same within {TOLERANCE:.0e}.")


def _plain(findings: Findings) -> dict[str, Any]:
    settings = {key: value for key, value in findings.settings._asdict().items() if key != "output"}
    settings["batches"] = len(findings.outcomes[0].losses)
    timed = not findings.warning
    variants = {
        outcome.variant.key: {
            "weight_bytes": outcome.weight, "gradient_bytes": outcome.gradient, "gradient_rows": outcome.rows,
            "peak_bytes": outcome.peak, "moved_bytes": outcome.moved, "losses": outcome.losses,
            "batch_us": outcome.time if timed else None, "time_by_first": outcome.ratio if timed else None,
        } for outcome in findings.outcomes}
    return {"sparsekit": __version__, "settings": settings, "variants": variants, "skipped": findings.skipped,
            "same_loss": findings.verdict.same, "apart": findings.verdict.apart, "baseline": findings.baseline,
            "accuracies": findings.trained.accuracies, "epoch_losses": findings.trained.losses,
            "batches": findings.trained.batches, "warning": findings.warning}
