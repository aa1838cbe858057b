"""What one text changes in a weight of a million rows: the program behind README's first picture.

    python profiles/contrast.py profiles/contrast.svg

Rows and bytes are those of gradients that are computed, so the picture is the same on every machine.
"""

from __future__ import annotations

import sys

from sparsekit.course import million_rows_figure
from sparsekit.figures.kit import Figure


def picture() -> Figure:
    """The picture."""
    return million_rows_figure()


if __name__ == "__main__":
    print(picture().save(sys.argv[1]))
