"""Turns the slides' notebook into one HTML file to present from, which needs no kernel, no server and no network.

    python notebooks/slides/export.py                  writes slides.html
    python notebooks/slides/export.py -o talk.html

nbconvert renders the cells, with their saved outputs; which slide a cell is on is in its metadata, as JupyterLab's
property inspector sets it. In the browser: arrow keys, Home and End; ``f`` for the whole screen, ``o`` for all slides at once,
``n`` for the speaker's notes.
Where scripts are off the slides are one below the other, and printing gives a page each.
"""

from __future__ import annotations

import argparse
import html
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import nbformat
from nbconvert import HTMLExporter
from pygments.formatters import HtmlFormatter

from sparsekit.base.files import write_whole

HERE = Path(__file__).resolve().parent

#: What follows from a cell's place in the talk: a new slide, a new one below a topic, a part that appears later.
STARTS = ("slide", "subslide")

PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; img-src data:; style-src 'unsafe-inline'; \
script-src 'unsafe-inline'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>
{style}
</style>
</head>
<body>
<main>
{slides}
</main>
<nav aria-label="Slides"><button type="button" data-go="-1">previous</button><output aria-live="polite"></output>\
<button type="button" data-go="1">next</button></nav>
<script>
{script}
</script>
</body>
</html>
"""


def kind_of(cell: Any) -> str:
    """The cell's place in the talk; ``-`` continues where the last one was."""
    return str(cell.metadata.get("slideshow", {}).get("slide_type", "-"))


def slides_of(cells: Iterable[Any]) -> list[list[Any]]:
    """The cells of each slide; skipped ones are left out."""
    slides: list[list[Any]] = []
    for cell in cells:
        kind = kind_of(cell)
        if kind == "skip":
            continue
        if kind in STARTS or not slides:
            slides.append([])
        slides[-1].append(cell)
    return slides


def rendered(cell: Any, exporter: HTMLExporter) -> str:
    """One cell as HTML; what draws a picture may be hidden."""
    exporter.exclude_input = "hide-input" in cell.metadata.get("tags", ())
    body, _ = exporter.from_notebook_node(nbformat.v4.new_notebook(cells=[cell]))
    around = {"fragment": '<div class="fragment">{}</div>', "notes": '<aside class="notes" aria-label="Notes">{}</aside>'}
    start, end = around.get(kind_of(cell), "{}").split("{}")
    return f"{start}{body}{end}"


def page(notebook: Any) -> str:
    """The whole talk."""
    exporter = HTMLExporter(template_name="basic", exclude_input_prompt=True, exclude_output_prompt=True,
                            exclude_anchor_links=True)
    slides = slides_of(notebook.cells)
    parts = [f'<section class="slide" id="slide-{number}" aria-label="Slide {number} of {len(slides)}">\n'
             f'{"".join(rendered(cell, exporter) for cell in cells)}\n</section>' for number, cells in enumerate(slides, 1)]
    title = re.search(r"^# (.+)$", notebook.cells[0].source, re.M)
    colours = HtmlFormatter(style="friendly").get_style_defs(".highlight")
    style = f"{colours}\n{(HERE / 'slides.css').read_text(encoding='utf-8')}"
    return PAGE.format(title=html.escape(title.group(1) if title else "Slides"), style=style, slides="\n".join(parts),
                       script=(HERE / "slides.js").read_text(encoding="utf-8"))


def main(argv: Sequence[str] | None = None) -> None:
    """Write the file and say where it is."""
    parser = argparse.ArgumentParser(description=str(__doc__).partition("\n")[0])
    parser.add_argument("notebook", nargs="?", type=Path, default=HERE / "sparse_tensors.ipynb")
    parser.add_argument("-o", "--output", type=Path, default=Path("slides.html"))
    options = parser.parse_args(argv)
    write_whole(options.output, page(nbformat.read(options.notebook, as_version=4)).encode())
    print(f"Wrote {options.output}")


if __name__ == "__main__":
    main()
