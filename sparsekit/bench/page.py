"""``sparsekit bench report``: one self-contained HTML page of the saved figures of ``sparsekit bench``."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ..base import displays
from ..base.errors import DataFileError
from ..cli import check_writable
from ..figures.bars import bars_figure
from .benches import LABELS

#: The folder of saved figures in a checkout.
RECORDS = Path("profiles")

#: Units in which larger values are better.
RATES = ("MB/s", "GB/s")


def main(argv: Sequence[str] | None = None) -> int:
    """Write the page and print its path.

    Raises
    ------
    DataFileError
        If a file is not a record of ``sparsekit bench``, if there are no files, or if there is no folder for the page.
    """
    parser = argparse.ArgumentParser(prog="sparsekit bench report",
                                     description="Write saved figures as one self-contained HTML page with charts and tables.")
    parser.add_argument("files", nargs="*", type=Path, metavar="FILE", help="records saved by `sparsekit bench … --json FILE` "
                        f"(default: all in the folder {RECORDS})")
    parser.add_argument("-o", "--output", type=Path, default=Path("bench.html"), metavar="PAGE",
                        help="page to write (default: bench.html)")
    options = parser.parse_args(argv)
    files = options.files or sorted(RECORDS.glob("*.json"))
    if not files:
        raise DataFileError(f"There are no records in {RECORDS}.", hint="`sparsekit bench variants --json FILE` saves one.")
    check_writable(options.output)
    sections = [section for path in files for section in sections_of(path)]
    displays.call("html_page", "What sparsekit costs, measured", sections, path=options.output,
                  footer="Made by `sparsekit bench report`.")
    print(f"Wrote {options.output}")
    return 0


def sections_of(path: Path) -> list[tuple[str, Any]]:
    """Return the section of the page for a record: a chart and a table for each of its tables, its traces, its notes."""
    facts = read(path)
    content: list[Any] = [_circumstances(facts)]
    content += [_figure(section) for section in facts["sections"]]
    traces = _traces(path)
    if traces:
        content.append(displays.call("timeline_figure", traces))
    content.append("\n\n".join(map(str, facts["notes"])))
    return [(str(facts["title"]), content)]


def read(path: Path) -> dict[str, Any]:
    """Read a record; raise ``DataFileError`` with the name of the file if it is not one."""
    try:
        facts = json.loads(path.read_text(encoding="utf-8"))
        well = {"title", "versions", "sections", "notes", "rounds"} <= facts.keys() and all(
            {"heading", "unit", "rows"} <= section.keys() for section in facts["sections"])
    except (OSError, ValueError, AttributeError, TypeError) as error:
        raise DataFileError(f"{path.name} cannot be read: {error}.",
                            hint="pass files saved by `sparsekit bench … --json FILE`.") from None
    if not well:
        raise DataFileError(f"{path.name} is not a record of `sparsekit bench`.", hint="pass files saved with --json FILE.")
    return dict(facts)


def _circumstances(facts: dict[str, Any]) -> str:
    versions = ", ".join(f"{name} {version}" for name, version in facts["versions"].items())
    machine = ", ".join(str(facts[key]) for key in ("processor", "machine") if facts.get(key))
    cores = f"{facts['cores']} cores" if facts.get("cores") else ""
    return (f"{versions}. {', '.join(filter(None, (cores, machine)))}. Medians of {facts['rounds']} rounds in which all took "
            "turns; the thin line extends from the smallest to the largest measurement.")


def _figure(section: dict[str, Any]) -> object:
    heading = str(section["heading"])
    return bars_figure(f"{heading[0].upper()}{heading[1:]}" if heading else "", section["rows"], str(section["unit"]),
                       more_is_better=section["unit"] in RATES, note=str(section.get("fact") or ""))


def _traces(path: Path) -> dict[str, Any]:
    """Load the tables of the profiles in the folder beside a record, by label of their variants."""
    from ..profiler import load  # a page without profiles needs no profiler

    folder = path.with_suffix("")
    traces = {name: folder / f"{name}.npz" for name in LABELS}
    return {LABELS[name]: load(trace).tables for name, trace in traces.items() if trace.is_file()}
