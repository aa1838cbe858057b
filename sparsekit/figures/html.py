"""A figure as HTML that a notebook keeps: images that no page can restyle, and the table."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .layout import NARROW, WIDE
from .svg import to_svg
from .text import markup

if TYPE_CHECKING:
    from .drawing import Drawing

#: JupyterLab and VS Code say in their own words whether the page is dark; a picture follows its element's colour scheme.
_DARK = ('<style>:is([data-jp-theme-light="false"],.vscode-dark) img[src^="data:image/svg"]{color-scheme:dark}'
         '[data-jp-theme-light="true"] img[src^="data:image/svg"]{color-scheme:light}</style>')
#: What may not stand in an address within HTML, where a space ends one of ``srcset``.  All else stays as it is: text compresses,
#: unlike base64.
_ENCODED = str.maketrans({character: f"%{ord(character):02X}" for character in ' %#"<>&\\\n\r\t'})


def picture(figure: Drawing) -> str:
    """The picture as ``<picture>``: one image for wide pages, and one that is laid out for narrow ones."""
    wide, narrow = (_address(to_svg(figure, width, titles=False)) for width in (WIDE, NARROW))
    image = f'<img alt="{markup(figure.alt, 1500)}" style="max-width:100%" src="{wide}">'
    return f'{_DARK}<picture><source media="(max-width:{0.9 * WIDE:.0f}px)" srcset="{narrow}">{image}</picture>'


def to_html(figure: Drawing) -> str:
    """Picture and folded table."""
    return f"{picture(figure)}\n{figure.table.folded}".rstrip()


def _address(svg: str) -> str:
    # Within an address, a double quote takes three letters, and single ones do the same in XML.
    short = svg.replace('"', "'").translate(_ENCODED)
    return f"data:image/svg+xml;charset=utf-8,{short}"
