"""``%%needs PACKAGE``: a cell that needs a package; without it, the cell shows what it showed when the notebook was saved."""

# mypy: disable-error-code="untyped-decorator"
# IPython's decorators have no types.

from __future__ import annotations

import importlib.util
import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from ..base.errors import MissingPackageError, UnknownNameError
from ..base.optional import whole_import
from ..lab import SHIPPED
from ..profiler.magics import CodeMagics

if TYPE_CHECKING:
    from ..base.types import JSON

#: Packages that cells may need: their names in sentences, and the extra that installs each.
PACKAGES = {"ray": ("Ray", "dist"), "torch": ("PyTorch", "torch")}

# Any: a module of IPython, which need not be installed
magic: Any = whole_import("IPython.core.magic")


@magic.magics_class
class NeedsMagics(CodeMagics):
    """The magic of cells that need a package."""

    @magic.line_cell_magic
    def needs(self, line: str, cell: str | None = None) -> None:
        """``%needs PACKAGE`` says whether a package is installed; ``%%needs PACKAGE`` runs a cell, or shows its saved output."""
        package = line.strip()
        if package not in PACKAGES:
            raise UnknownNameError.of("package", package, PACKAGES)
        name, extra = PACKAGES[package]
        here = importlib.util.find_spec(package) is not None
        if not here and os.environ.get(f"SPARSEKIT_REQUIRE_{package.upper()}") == "1":  # where nothing may be left out
            raise MissingPackageError(f"This cell needs {name}, which is not installed.",
                                      hint=f"pip install 'sparsekit[{extra}]'")
        if cell is None:
            print(f"{name} is installed: every cell runs." if here else
                  f"{name} is not installed: cells that need it show their saved outputs. pip install 'sparsekit[{extra}]' "
                  f"installs it.")
        elif here:
            for piece in self.compiled(cell, before="\n"):
                exec(piece, self.shell.user_ns)
        else:
            self._show(f"%%needs {package}\n{cell}", name)

    def _show(self, source: str, name: str) -> None:
        """Show the saved outputs of a cell."""
        outputs = next((saved for path in self._notebooks() if (saved := saved_outputs(path, source)) is not None), None)
        if outputs is None:
            print(f"This cell needs {name}, and no saved notebook has an output of it.")
        for output in outputs or ():
            if output["output_type"] == "stream":
                stream = sys.stderr if output.get("name") == "stderr" else sys.stdout
                stream.write(str(_joined(output["text"])))
            elif "data" in output:
                data = {kind: _joined(value) for kind, value in output["data"].items()}
                self.shell.display_pub.publish(data, output.get("metadata") or {})

    def _notebooks(self) -> Iterator[Path]:
        """The notebook that is running, as far as it says so, then those beside it, and those of the package."""
        running = self.shell.user_ns.get("__vsc_ipynb_file__") or os.environ.get("JPY_SESSION_NAME", "")
        if running.endswith(".ipynb"):
            yield Path(running)
        for folder in (Path(), SHIPPED):
            yield from sorted(folder.glob("*.ipynb"))


def saved_outputs(path: Path, source: str) -> list[Any] | None:  # Any: JSON
    """The outputs that a notebook's file has of a cell; None if it has no such cell, or none of its outputs.

    Parameters
    ----------
    path : Path
    source : str
        Text of the cell.
    """
    try:
        cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
        outputs = [cell["outputs"] for cell in cells if cell["cell_type"] == "code" and cell["execution_count"]
                   and str(_joined(cell["source"])).strip() == source.strip()]
    except (OSError, ValueError, KeyError, TypeError):  # it is not a notebook, or is being written
        return None
    return list(outputs[0]) if outputs else None


def _joined(text: JSON) -> JSON:
    """Text that a notebook's file may hold in pieces; other JSON as it is."""
    pieces = [piece for piece in text if isinstance(piece, str)] if isinstance(text, list) else []
    return "".join(pieces) if isinstance(text, list) and len(pieces) == len(text) else text


class Shell(Protocol):
    """IPython's shell, as far as it is needed here."""

    def register_magics(self, *magics: type) -> None:
        """Make magics known."""


def load_ipython_extension(shell: Shell) -> None:
    """Register the magic; ``%load_ext sparsekit`` calls this."""
    shell.register_magics(NeedsMagics)
