"""One HTML page of figures, tables and words that needs no network and no kernel."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ..base import checks
from ..base.entry import entries
from ..base.errors import ParameterError, expected
from ..base.files import failures_named, written
from .answers import pictures, prepared, script, style
from .drawing import Drawing
from .html import to_html
from .layout import MIDDLE, NARROW, WIDE
from .marks import Table
from .palette import style_sheet
from .svg import to_svg
from .text import markup

#: Nothing may leave the page or come into it, whatever a name in the data says.
_POLICY = "default-src 'none'; img-src data:; style-src 'unsafe-inline'; script-src 'unsafe-inline'"
_STYLE = """:root{color-scheme:light dark}:root[data-theme="light"]{color-scheme:light}:root[data-theme="dark"]{color-scheme:dark}
body{max-width:1030px;margin:0 auto;padding:20px 14px 50px;overflow-wrap:break-word;
font:16px/1.55 system-ui,Helvetica Neue,Arial,sans-serif}
body.sk{background:var(--paper);color:var(--ink)}h1{font-size:28px;line-height:1.2}
h2{font-size:21px;margin:36px 0 8px}p{max-width:46em}
figure{margin:14px 0}.scroll{overflow-x:auto}.headline strong{font-size:42px;display:block;line-height:1.2}
a{color:inherit}
table{border-collapse:collapse;font-size:14px;font-variant-numeric:tabular-nums}
.scroll{margin:8px 0 18px}.scroll table{width:max-content}
th,td{text-align:left;padding:2px 14px 2px 0;vertical-align:top}.scroll :is(th,td){min-width:4.5em;max-width:13em}
caption{text-align:left;position:sticky;left:0;width:min(46em,100vw - 30px);padding-bottom:4px}
figure>svg{max-width:100%;height:auto}
@media print{.bar,.over{display:none!important}.scroll{overflow:visible}.scroll table{width:auto;font-size:9px}
.scroll :is(th,td){min-width:0;padding-right:6px;overflow-wrap:anywhere}}"""


def html_page(title: str, sections: Iterable[tuple[str, Any]] | Mapping[str, Any], path: str | os.PathLike[str] | None = None,
              footer: str = "") -> str:  # fmt: skip
    """Write figures, tables and words as one HTML page.

    Figures can be zoomed, searched and asked where scripts run, and show their picture and table where they do not.

    Parameters
    ----------
    title : str
    sections : list of (heading, content), or mapping of heading to content
        A content is a string (empty lines separate paragraphs), a ``Figure``, a ``Table``,
        ``{"columns": [...], "rows": [...], "caption": ""}``, ``{"headline": ..., "words": ...}`` for the one number of the page,
        ``{"links": {words: address}}`` to files beside the page or to ``https://`` addresses, or a list of these.  Anything else
        is shown as text.
    path : path, optional
        File to which the page is written; it appears under its name when it is complete.
    footer : str, optional

    Returns
    -------
    str
        The page.
    """
    checks.text("title", title), checks.text("footer", footer)
    pairs = _pairs(sections)
    parts = [_section(place + 1, heading, content) for place, (heading, content) in enumerate(pairs)]
    if len(pairs) > 3:  # below the first section, which says what there is to say
        parts.insert(1, _contents([heading for heading, _ in pairs]))
    body = "\n".join(parts)
    alone = len(pairs) == 1 and isinstance(pairs[0][1], Drawing) and pairs[0][1].title == title
    heading = "" if alone else f"<header><h1>{markup(title)}</h1></header>\n"
    page = (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{markup(title)}</title>\n<style>\n{style_sheet(())}\n{_STYLE}\n{style()}</style>\n</head>\n<body class=\"sk\">\n"
        f"{heading}<main>\n{body}\n</main>\n"
        f"{f'<footer>{markup(footer, 2000)}</footer>' if footer else ''}\n{enhancer(body)}</body>\n</html>\n"
    )
    if path is not None:
        with failures_named(path), written(path) as file:
            file.write(page.encode())
    return page


def _pairs(sections: object) -> list[tuple[object, object]]:  # object: headings and contents may be anything
    pairs = list(sections.items() if isinstance(sections, Mapping) else sections if isinstance(sections, (list, tuple)) else [0])
    if not all(isinstance(pair, (tuple, list)) and len(pair) == 2 for pair in pairs):
        raise ParameterError(expected("sections", "a mapping of headings to contents, or a list of pairs", sections),
                             hint="html_page('Run', {'Timeline': prof.timeline()}), for example.")
    return [(heading, content) for heading, content in pairs]


def _section(number: int, heading: object, content: object) -> str:  # object: a heading is shown as text, a content as below
    head = f'<h2 id="section-{number}">{markup(heading)}</h2>' if heading else ""
    return f"<section>{head}\n{_content(content)}\n</section>"


def _contents(headings: Sequence[object]) -> str:  # object: as above
    links = (f'<li><a href="#section-{place + 1}">{markup(heading)}</a></li>'
             for place, heading in enumerate(headings) if heading)  # fmt: skip
    return f'<nav aria-label="Contents"><ol>{"".join(links)}</ol></nav>'


def _content(content: object) -> str:  # object: anything else is shown as text
    if isinstance(content, Drawing):
        return enhanced(content)
    if isinstance(content, Table):
        return f'<div class="scroll">{content.html}</div>'
    if isinstance(content, (list, tuple)):
        return "\n".join(_content(item) for item in content)
    if isinstance(content, Mapping) and "headline" in content:
        return f'<p class="headline"><strong>{markup(content["headline"])}</strong> {markup(content.get("words", ""), 2000)}</p>'
    if isinstance(content, Mapping) and isinstance(content.get("links"), Mapping):
        links = (f'<li><a href="{markup(address, 2000)}">{markup(words)}</a></li>' for words, address in content["links"].items()
                 if str(address).startswith("https://") or ":" not in str(address))  # fmt: skip
        return f"<ul>{''.join(links)}</ul>"
    if isinstance(content, Mapping) and "columns" in content:
        table = Table(content["columns"], content.get("rows") or (), content.get("caption") or "")
        return f'<div class="scroll">{table.html}</div>'
    return "\n".join(f"<p>{markup(part.strip(), 20_000)}</p>" for part in str(content).split("\n\n") if part.strip())


def enhanced(figure: Drawing) -> str:
    """A figure within a page: its picture for wide and for narrow screens, its table, and what the enhancer is given.

    A figure with nothing to zoom or to ask stays a picture.
    """
    if not figure.asks:
        return f"<figure>{to_html(figure)}</figure>"
    table = f'<div class="the-table">{figure.table.folded}</div>'
    views = {"wide": prepared(figure, WIDE), "middle": pictures(figure, MIDDLE), "narrow": pictures(figure, NARROW)}
    # Nothing ends the script element that it stands in.
    data = json.dumps(views, separators=(",", ":"), ensure_ascii=True).replace("<", "\\u003c")
    return f'<figure data-figure>{to_svg(figure, WIDE, live=True)}{table}<script type="application/json">{data}</script></figure>'


def enhancer(body: str) -> str:
    """The script for the figures of a page; empty for a page without any."""
    if "<figure data-figure>" not in body:
        return ""
    start = """
for (const figure of document.querySelectorAll("figure[data-figure]")) {
  const data = JSON.parse(figure.querySelector("script").textContent);
  const other = figure.clientWidth < 580 ? data.narrow : figure.clientWidth < 860 ? data.middle : null;
  if (other) {
    figure.querySelector("svg").outerHTML = other.svg;
    data.wide.frames = other.frames;
    for (const [name, svg] of Object.entries(other.answers)) data.wide.answers[name].svg = svg;
  }
  enhance(figure, data.wide, null);
}"""
    return f'<script type="module">\n{script()}{start}\n</script>\n'


entries(globals(), ["html_page"])
