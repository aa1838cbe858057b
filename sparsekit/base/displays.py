"""How lower layers reach the displays and the profiler above them without importing them."""

from __future__ import annotations

from typing import Any

from .errors import UnknownNameError, expected
from .forking import load

#: Lanes without operators, among those of ``core.hooks.LANES``: copies, reads, waits, and what users and the profiler note.
IDLE = ("user", "profiler", "io", "transfer", "compile", "wait")

#: What is said of a profile in which no operator ran.
NO_OPERATORS = ("No operator of sparsekit ran while this was recorded. The profiler records operators on arrays of sparsekit. "
                "It does not record numpy, scipy or plain Python, and PyTorch only with torch=True. Hint: compute with "
                "mx.nd.array(values), or mark parts of your program with prof.span('name').")

#: Name of a display -> ``"module:attribute"`` that builds it; resolved when called, never before.
renderers: dict[str, str] = {
    "timeline_figure": "sparsekit.figures.timeline:timeline_figure",
    "turns_figure": "sparsekit.figures.turns:turns_figure",
    "memory_figure": "sparsekit.figures.memory:memory_figure",
    "peaks_figure": "sparsekit.figures.memory:peaks_figure",
    "graph_figure": "sparsekit.figures.graph:graph_figure",
    "array_html": "sparsekit.figures.array:array_html",
    "array_figure": "sparsekit.figures.array:array_figure",
    "html_page": "sparsekit.figures.page:html_page",
    "traced": "sparsekit.profiler.processes:traced",
    "merged": "sparsekit.profiler.processes:merged",
    "try_fixes": "sparsekit.fixes.trial:try_fixes",
    "cell_step": "sparsekit.fixes.program:cell_step",
    "fixes_figure": "sparsekit.figures.fixes:fixes_figure",
    "server_profile": "sparsekit.profiler.processes:server_profile",
}


def register(name: str, target: str) -> None:
    """Let ``call(name, ...)`` reach ``target``, given as ``"module:attribute"``."""
    module, _, attribute = target.partition(":")
    if not module or not attribute:
        raise UnknownNameError(expected("A display", "registered as 'module:attribute'", target),
                               hint="name the function that makes it, as 'package.module:function'.")
    renderers[name] = target


# Any: the displays belong to the layers above; object: each checks its own arguments
def call(name: str, /, *args: object, **keywords: object) -> Any:
    """Import the display registered as ``name``, now, and call it.

    Raises
    ------
    UnknownNameError
        If nothing is registered as ``name``; the hint lists what is.
    """
    if name not in renderers:
        raise UnknownNameError.of("display", name, renderers)
    module, _, attribute = renderers[name].partition(":")
    return getattr(load(module), attribute)(*args, **keywords)
