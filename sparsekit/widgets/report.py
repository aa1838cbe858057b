"""One HTML file that holds everything: words, tables, pictures, and the live views without a kernel."""

from __future__ import annotations

import base64
import json
import os
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from ..base.tables import escape, html_table
from ..figures.answers import style as enhanced_style
from ..figures.array import array_figure
from ..figures.drawing import Drawing
from ..figures.page import enhanced, enhancer
from .compare import timelines_figure
from .display import Display, write_file
from .pack import pack_timeline, plain
from .processes import processes_figure
from .sources import module, read, style
from .timeline import timeline_figure

if TYPE_CHECKING:
    from .types import Records


__all__ = ["html_report"]

#: Nothing may leave the page or come into it, whatever a name in the data says.
_POLICY = "default-src 'none'; img-src data:; style-src 'unsafe-inline'; script-src 'unsafe-inline'"


def html_report(
    title: str,
    sections: Iterable[tuple[str, Any]] | Mapping[str, Any],
    path: str | os.PathLike[str] | None = None,
    footer: str = "",
) -> str:
    """Write words, tables, pictures and live views as one HTML page that needs no network and no kernel.

    Every live view comes with its static picture and table, which the page shows if scripts are disabled.

    Parameters
    ----------
    title : str
    sections : list of (heading, content), or mapping of heading to content
        A content is a string (empty lines separate paragraphs), a ``Display`` or ``Figure``,
        ``{"timeline": records}`` or ``{"timeline": {name: records, ...}}``,
        ``{"inspector": array}``,
        ``{"columns": [...], "rows": [...], "caption": ""}``, ``{"headline": "131× smaller", "words": "..."}`` for the one
        number of the page, ``{"links": {words: address}}`` to files beside the page or to ``https://`` addresses,
        or a list of these.  A view may also have ``"title"`` and ``"description"``.  A timeline of one run may have
        ``"marks"``, as for ``timeline_figure``, and one of several processes ``"clock": "common"`` and ``"errors"``, as for
        ``processes_figure``.
        Any other content is shown as text.
    path : path, optional
        File to which the page is written; it appears under its name when it is complete.
    footer : str, optional

    Returns
    -------
    str
        The HTML page.
    """
    pairs = list(sections.items() if isinstance(sections, Mapping) else sections)
    parts = [_section(i + 1, str(heading), content) for i, (heading, content) in enumerate(pairs)]
    if len(pairs) > 3:  # below the first section, which says what there is to say
        parts.insert(1, _contents([str(heading) for heading, _ in pairs]))
    body = "\n".join(parts)
    controls = enhanced_style() if enhancer(body) else ""
    page = (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(title)}</title>\n<style>\n{read('report.css')}{style()}{controls}</style>\n</head>\n<body>\n"
        f'<header><h1>{escape(title)}</h1><button type="button" hidden>theme: auto</button></header>\n'
        f"<main>\n{body}\n</main>\n"
        f"{f'<footer>{escape(footer)}</footer>' if footer else ''}\n{_scripts(body)}</body>\n</html>\n"
    )
    if path is not None:
        write_file(path, page)
    return page


def _contents(headings: Iterable[str]) -> str:
    links = (f'<li><a href="#section-{i + 1}">{escape(heading)}</a></li>' for i, heading in enumerate(headings))
    return f'<nav aria-label="Contents"><ol>{"".join(links)}</ol></nav>\n'


def _section(number: int, heading: str, content: dict[str, Any]) -> str:
    return f'<section>\n<h2 id="section-{number}">{escape(heading)}</h2>\n{_content(content)}\n</section>'


def _content(content: object) -> str:
    if isinstance(content, Display):
        return _static(content)
    if isinstance(content, Drawing):
        return enhanced(content)
    if isinstance(content, (list, tuple)):
        return "\n".join(_content(item) for item in content)
    if isinstance(content, Mapping):
        for kind, build in _VIEWS.items():
            if kind in content:
                names = ("marks", "clock", "errors") if kind == "timeline" else ()
                extra = {name: content[name] for name in names if content.get(name)}
                display, values = build(content[kind], str(content.get("title") or ""), **extra)
                return _live(kind, display, content, values)
        if "inspector" in content:
            return enhanced(array_figure(content["inspector"], str(content.get("title") or "")))
        if "headline" in content:
            words = escape(str(content.get("words") or ""))
            return f'<p class="headline"><strong>{escape(str(content["headline"]))}</strong> {words}</p>'
        if "links" in content:
            links = (f'<li><a href="{escape(address)}">{escape(words)}</a></li>' for words, address in content["links"].items()
                     if str(address).startswith("https://") or ":" not in str(address))
            return f"<ul>{''.join(links)}</ul>"
        if "columns" in content:
            table = html_table(content["columns"], content.get("rows") or (), str(content.get("caption") or ""))
            return f'<div class="scroll">{table}</div>'
    return "\n".join(f"<p>{escape(part.strip())}</p>" for part in str(content).split("\n\n") if part.strip())


def _static(display: Display) -> str:
    return f"<figure>{display.image}{display.folded_table}</figure>"


def _timeline(records: Records, title: str, marks: Iterable[Mapping[str, Any]] | None = None, clock: str = "own",
              errors: Mapping[str, float | None] | None = None) -> tuple[Display, dict[str, Any]]:
    runs: Mapping[str, Any]
    if clock == "common" and isinstance(records, Mapping):
        display, runs = processes_figure(records, title=title, errors=errors), records
    elif isinstance(records, Mapping):
        display, runs = timelines_figure(records, title=title), records
    else:
        run: Any = records if isinstance(records, Collection) else list(records or ())
        display, runs = timeline_figure(run, title=title, marks=marks), {"": run}
    payload = base64.b64encode(pack_timeline(runs, marks, clock)).decode("ascii")
    return display, {"payload": payload, "selected": -1}


#: Kind of a live view -> what gives its static picture and the values of its model.
_VIEWS: dict[str, Callable[..., tuple[Display, dict[str, Any]]]] = {
    "timeline": _timeline,
}  # fmt: skip


def _live(kind: str, display: Display, content: Mapping[str, Any], values: dict[str, Any]) -> str:
    values["title"] = plain(str(content.get("title") or kind.capitalize()))
    values["description"] = plain(str(content.get("description") or display.alt))
    return (
        f'<figure data-view="{kind}"><div class="static">{display.image}</div><div class="live"></div>'
        f'{display.folded_table}<script type="application/json">{_json(values)}</script></figure>'
    )


def _json(value: dict[str, int | str]) -> str:
    """Write JSON that cannot end the script element it stands in, whatever a name contains."""
    text = json.dumps(value, separators=(",", ":"), ensure_ascii=True)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _scripts(body: str) -> str:
    kinds = [kind for kind in _VIEWS if f'<figure data-view="{kind}">' in body]
    views = (
        f'<script type="module">\n{module(f"{kind}.js")}\nsparsekitReport.show("{kind}", render);\n</script>\n'
        for kind in kinds
    )
    return f"<script>\n{read('report.js')}</script>\n{''.join(views)}{enhancer(body)}"
