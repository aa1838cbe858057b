"""``%%profile`` and ``%profile``: run a cell or a line under the profiler and show the profile.

The code runs as a cell runs: its last expression displays, its names stay, its errors propagate
(to nbconvert and nbval as well) with their own line numbers.
"""

# mypy: disable-error-code="untyped-decorator"
# IPython's decorators have no types.

from __future__ import annotations

import ast
import inspect
import linecache
import re
from types import CodeType
from typing import Any

from ..base.errors import ProfilerError, UnsupportedError
from ..base.formatting import format_bytes
from ..base.optional import optional_import, whole_import
from .profiler import Profiler

#: Options of ``%profile``, each with its value.
_OPTIONS = r"\s*(?:(?:(?:-o|--output|--save)(?:=|\s+|$)\S*|--no-display|--no-lines|--fix|--torch)(?:\s+|$))*"


# Any: modules of IPython, which need not be installed
magic: Any = optional_import("IPython.core.magic", "lab", "%%profile")
arguments: Any = optional_import("IPython.core.magic_arguments", "lab", "%%profile")  # Any: as above


class CodeMagics(magic.Magics):  # type: ignore[misc]  # IPython's, which need not be installed
    """Magics that run code as a cell runs it."""

    def compiled(self, code: str, before: str) -> list[CodeType]:
        """The code as one piece, and its last expression as another that displays what it gives.

        Parameters
        ----------
        code : str
        before : str
            Empty lines in place of those that stand above the code in its cell.

        Raises
        ------
        UnsupportedError
            If the code awaits at its top level.
        """
        shell = self.shell
        source = before + shell.transform_cell(code)
        # The number that the cell is shown with: the counter may have moved on already.
        number = max(len(shell.user_ns.get("In", ())) - 1, 1)
        name = shell.compile.cache(source, number, raw_code=code)
        flags = ast.PyCF_ONLY_AST | ast.PyCF_ALLOW_TOP_LEVEL_AWAIT | shell.compile.flags
        tree: ast.Module = shell.transform_ast(compile(source, name, "exec", flags, True))
        body, last = tree.body, []
        if body and isinstance(body[-1], ast.Expr) and not _silent(source):
            body, last = body[:-1], body[-1:]
        flags = ast.PyCF_ALLOW_TOP_LEVEL_AWAIT | shell.compile.flags
        pieces = [compile(ast.Module(body, []), name, "exec", flags, True)] if body else []
        pieces += [compile(ast.Interactive(last), name, "single", flags, True)] if last else []
        if any(piece.co_flags & inspect.CO_COROUTINE for piece in pieces):
            raise UnsupportedError("A profiled cell cannot await at its top level.",
                                   hint="use `with sparsekit.Profiler() as prof:` around it.")
        return pieces


@magic.magics_class
class ProfileMagics(CodeMagics):
    """The magics of ``%load_ext sparsekit``."""

    @arguments.magic_arguments()
    @arguments.argument("-o", "--output", metavar="NAME", help="variable that the profile is kept in")
    @arguments.argument("--save", metavar="FILE", help="file to write: .npz, a report, .html, or a Chrome trace, .json")
    @arguments.argument("--no-display", action="store_true", help="do not show the profile")
    @arguments.argument("--no-lines", action="store_true", help="do not note lines; recording is cheaper")
    @arguments.argument("--fix", action="store_true", help="try fixes on the code in other processes, and show which hold")
    @arguments.argument("--torch", action="store_true", help="record the operators of PyTorch too")
    @arguments.argument("code", nargs="*", help="expression or statement to run (%%profile takes the cell instead)")
    @magic.line_cell_magic
    def profile(self, line: str, cell: str | None = None) -> None:
        """Run code under the profiler and show where time and memory went."""
        options, code = self._options(line, cell)
        if options.output is not None and not options.output.isidentifier():
            raise ProfilerError(f"{options.output!r} is not a valid name of a variable.", hint="-o prof keeps it as `prof`.")
        # The magic itself is a cell's first line; in tracebacks and profiles lines count from there.
        pieces = self.compiled(code, before="" if cell is None else "\n")
        prof = Profiler(lines=not options.no_lines, torch=options.torch)
        try:
            with prof:
                for piece in pieces:
                    exec(piece, self.shell.user_ns)
        finally:
            # Also after an error: the events up to it are what one wants to see.
            if options.output:
                self.shell.user_ns[options.output] = prof
        if options.save:
            prof.save(options.save)
        if not options.no_display:
            whole_import("IPython.display").display(prof)
            print(f"Arrays held at most {format_bytes(prof.memory['peak_bytes'])} in this run; "
                  f"{format_bytes(prof._data().kept_bytes)} of what operators made in it are kept.")
        if pieces:
            prof._remember(pieces[0].co_filename, "".join(linecache.getlines(pieces[0].co_filename)), self.shell.user_ns)
        if options.fix:
            whole_import("IPython.display").display(prof.try_fixes())

    def _options(self, line: str, cell: str | None) -> tuple[Any, str]:  # Any: IPython's namespace of options
        if cell is None:
            line, code = _split(line)
            if not code:
                raise ProfilerError("%profile has nothing to run.", hint="%profile net(x), or %%profile at the top of a cell.")
            return arguments.parse_argstring(self.profile, line), code
        options = arguments.parse_argstring(self.profile, line)
        if options.code:
            raise ProfilerError(f"%%profile does not know {' '.join(options.code)!r}.",
                                hint="the code starts on the next line; options are -o, --save, --no-display, --no-lines, "
                                     "--fix, "
                                "--torch.")
        return options, cell


def _silent(source: str) -> bool:
    """Whether the cell ends in a semicolon, which in a notebook hides the last value."""
    return source.rstrip().endswith(";")


def _split(line: str) -> tuple[str, str]:
    """Options at the front of a line, and the code after them, which may well contain dashes."""
    end = re.match(_OPTIONS, line).end()  # type: ignore[union-attr]  # which matches nothing too
    return line[:end].strip(), line[end:].strip()


def load_ipython_extension(shell: Any) -> None:  # Any: IPython's, which need not be installed
    """Register the magics; ``%load_ext sparsekit`` calls this."""
    shell.register_magics(ProfileMagics)
