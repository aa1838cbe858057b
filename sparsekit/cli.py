"""The command ``sparsekit``: lab, demo, fix, launch, profile, view, diff, bench, doctor."""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import os
import runpy
import sys
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, NoReturn

from .base.displays import NO_OPERATORS
from .base.errors import DataFileError, SparsekitError, expected
from .base.optional import optional_import
from .base.platform import before_leaving
from .base.version import __version__
from .lab import COPY, JUPYTER, course_folder, sign_course

if TYPE_CHECKING:
    from argparse import ArgumentParser, _SubParsersAction

    from .profiler import Profiler
    from .profiler.profile import Profile

#: Files whose frames are left out of a script's traceback: those of commands, and those with which Python runs a script.
HIDDEN_FILES = (__file__, *(os.path.join(os.path.dirname(__file__), "fixes", name) for name in ("command.py", "whole_run.py")),
                "<frozen runpy>", runpy.__file__)

#: The folders of what stands between a script and the operators of PyTorch.
HIDDEN_FOLDERS = tuple(os.path.join(os.path.dirname(__file__), name) for name in ("profiler", "fixes"))

#: Rows of the table of lines that ``sparsekit profile`` prints.
PRINTED_LINES = 15

#: What is said of a script that imports PyTorch and runs no operator of it.
NO_TORCH = ("No operator of PyTorch or sparsekit ran in this process while it was recorded. Processes that a script starts are "
            "not recorded: `sparsekit fix` follows those that train, and Profiler(torch=True) records in the function that they "
            "run.")

INTERRUPTED = 130  # the exit status that shells report after Ctrl-C

#: Commands with their own parser: name -> the module whose ``main(argv)`` runs it, imported on use, and the help text.
COMMAND_MODULES = {
    "demo": ("sparsekit.demo", "train on real text three ways, compare time and memory, write an HTML report"),
    "fix": ("sparsekit.fixes.command", "run a script, try fixes on its training, and write those that hold as a patch"),
    "launch": ("sparsekit.dist.launch", "run a script in several processes that train one model together"),
    "bench": ("sparsekit.bench", "measure speed and memory on this machine, alone or compared with other libraries"),
    "doctor": ("sparsekit.doctor", "report what is installed, what is missing, and how to install it"),
}


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit status.

    Parameters
    ----------
    argv : sequence of str, optional
        Arguments after ``sparsekit``; those of the process by default.

    Returns
    -------
    int
        0 on success, 2 after a named error, 130 after Ctrl-C.  ``profile`` returns the status of the script;
        ``diff --exit-code`` returns 1 if the profiles differ, ``launch`` if a worker fails, and
        ``doctor`` if a requirement is missing.
    """
    words = list(sys.argv[1:] if argv is None else argv)
    try:
        return run(words)
    except SparsekitError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("\nInterrupted.", file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:  # the reader of a pipe, such as `head`, has closed it
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0


def run(words: list[str]) -> int:
    """Parse the command line and run its command."""
    if words and words[0] in COMMAND_MODULES:
        module: Any = importlib.import_module(COMMAND_MODULES[words[0]][0])
        return int(module.main(words[1:]) or 0)
    arguments = build_parser().parse_args(words)
    return int(arguments.command(arguments))


def build_parser() -> argparse.ArgumentParser:
    """Return the parser of the whole command line."""
    parser = argparse.ArgumentParser(
        prog="sparsekit", description="A course, a demo, a profiler for scripts, and benchmarks of sparse arrays.",
        epilog="`sparsekit COMMAND --help` lists the options of a command.")
    parser.add_argument("--version", action="version", version=f"sparsekit {__version__}")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    add_lab(commands)
    add_profile(commands)
    add_view(commands)
    add_diff(commands)
    for name, (_, summary) in COMMAND_MODULES.items():
        commands.add_parser(name, help=summary)
    return parser


def add_command(commands: _SubParsersAction[ArgumentParser], name: str, run: Callable[[argparse.Namespace], int],
                summary: str) -> ArgumentParser:
    """Declare a command; its summary is shown by ``sparsekit --help`` and by its own ``--help``."""
    parser = commands.add_parser(name, help=summary, description=f"{summary[0].upper()}{summary[1:]}.")
    parser.set_defaults(command=run)
    return parser


# --------------------------------------------------------------------------- lab


def add_lab(commands: _SubParsersAction[ArgumentParser]) -> None:
    """Declare ``sparsekit lab``."""
    lab = add_command(commands, "lab", open_lab, "open the course in JupyterLab")
    lab.add_argument("--dir", type=Path, metavar="FOLDER", help="folder of notebooks; the course is copied there if it is "
                     f"missing or empty (default: notebooks in a checkout, else {COPY})")
    lab.add_argument("--port", type=int, help="port to listen on (default: JupyterLab's choice)")
    lab.add_argument("--no-browser", action="store_true", help="print the address instead of opening it in a browser")


def open_lab(arguments: argparse.Namespace) -> NoReturn:
    """Replace this process by JupyterLab, opened at the first notebook of the folder."""
    optional_import("jupyterlab", "lab", "`sparsekit lab`")
    optional_import("ipykernel", "lab", "`sparsekit lab`")
    folder = course_folder(arguments.dir)
    print(f"The notebooks are in {folder}.")
    sign_course(folder)
    # JupyterLab keeps the state of live views in the notebook, unless the user's settings say otherwise.
    os.environ["JUPYTER_CONFIG_PATH"] = os.pathsep.join(filter(None, (str(JUPYTER), os.environ.get("JUPYTER_CONFIG_PATH"))))
    command = [sys.executable, "-m", "jupyterlab", f"--ServerApp.root_dir={folder}"]
    command.append(f"--LabApp.default_url=/lab/tree/{start_notebook(folder).name}")
    if arguments.port:
        command.append(f"--ServerApp.port={arguments.port}")
    if arguments.no_browser:
        command.append("--no-browser")
    if hasattr(os, "geteuid") and os.geteuid() == 0:
        command.append("--allow-root")  # JupyterLab refuses root otherwise, the usual user in a container
    sys.stdout.flush()
    os.execv(command[0], command)  # so that JupyterLab handles the terminal and Ctrl-C itself


def start_notebook(folder: Path) -> Path:
    """Return the first notebook by name; names of the course begin with a number."""
    return min(folder.glob("*.ipynb"))


# --------------------------------------------------------------------------- profile


def add_profile(commands: _SubParsersAction[ArgumentParser]) -> None:
    """Declare ``sparsekit profile``."""
    profile = add_command(commands, "profile", profile_script, "run a script under the profiler and save the profile")
    profile.add_argument("-o", "--output", type=Path, metavar="FILE",
                         help="profile to write, .npz, or a Chrome trace, .json or .json.gz (default: train.npz for train.py)")
    profile.add_argument("--html", type=Path, metavar="FILE", help="also write a self-contained HTML report")
    profile.add_argument("--torch", action="store_true",
                         help="record the operators of PyTorch too; on as soon as SCRIPT, or what it imports, imports torch")
    profile.add_argument("-m", dest="module", action="store_true", help="SCRIPT is the name of a module, as after `python -m`")
    profile.add_argument("script", metavar="SCRIPT", help="Python script to run, or with -m a module")
    profile.add_argument("arguments", nargs=argparse.REMAINDER, help="everything after SCRIPT is passed to it")


def profile_script(arguments: argparse.Namespace) -> int:
    """Run a script as ``python SCRIPT ...`` would, save the profile, and return the script's exit status."""
    script: str = arguments.script
    if arguments.module:
        check_module(script)
    elif not Path(script).is_file():
        raise DataFileError(f"There is no script {script}.", hint="put options before the script: profile -o FILE SCRIPT")
    output = arguments.output or Path(f"{script if arguments.module else Path(script).stem}.npz")
    check_name = importlib.import_module("sparsekit.profiler.profile_file").check_name
    for path in filter(None, (output, arguments.html)):
        check_writable(path)
        check_name(path)
    written = {path: path.absolute() for path in filter(None, (output, arguments.html))}  # the script may change the folder
    profiler: Any = importlib.import_module("sparsekit.profiler")
    recording_torch = importlib.import_module("sparsekit.profiler.late_torch").recording_torch
    with profiler.Profiler(torch=arguments.torch) as recorded, recording_torch(recorded):
        process = os.getpid()

        def at_once(status: int) -> None:
            if os.getpid() == process:  # what the script has forked leaves as ever
                recorded.stop()
                report(recorded, written, status)

        leave = before_leaving(at_once)
        try:
            status = run_script(script, arguments.arguments, arguments.module)
        finally:
            os._exit = leave  # type: ignore[assignment]  # but for the name of its argument
    report(recorded, written, status)
    return status


def report(recorded: Profiler, written: dict[Path, Path], status: int) -> None:
    """Print and save the profile of a script that ended with an exit status; ``written`` has the paths as the user gave them."""
    print(profile_text(recorded) if recorded.totals else nothing_text(status), file=sys.stderr)
    for path in written.values():
        recorded.save(path)
    print("Wrote " + " and ".join(map(str, written)), file=sys.stderr, flush=True)


def nothing_text(status: int) -> str:
    """Say that nothing was recorded of a script that ended with an exit status; if that is 0, also what is recorded."""
    if status:
        return f"Nothing was recorded before the script ended with status {status}."
    return NO_TORCH if "torch" in sys.modules else NO_OPERATORS


def profile_text(profile: Profile) -> str:
    """Format a profile for the terminal: operators, lines, sparse arrays that became dense, advice."""
    gradients = profile.table(of="gradients")
    parts = [profile.table(), "By line:", profile.table(group_by="line", rows=PRINTED_LINES),
             "Sparse arrays that silently became dense:", profile.table(of="ledger") if profile.densified else "none",
             *(["Rows of gradients:", gradients] if gradients.rows else []), "Advice:", profile.advice()]
    look: Any = importlib.import_module("sparsekit.profiler.first_look")
    first = look.first_look(profile) or look.nothing_to_see(profile)
    parts += [first] if first else []
    return "\n\n".join(map(str, parts))


def check_module(name: str) -> None:
    """Raise ``DataFileError`` if a module cannot be found, before the profiler starts."""
    sys.path.insert(0, str(Path.cwd()))
    try:
        spec = importlib.util.find_spec(name)
    except (ImportError, ValueError):
        spec = None
    finally:
        sys.path.pop(0)
    if spec is None:
        raise DataFileError(f"There is no module {name}.", hint="write its name as after `python -m`: package.module")


def check_writable(path: Path) -> None:
    """Raise ``DataFileError`` for an output path in a missing folder or of a folder, before any work is done."""
    if not path.parent.is_dir():
        raise DataFileError(f"{path} cannot be written: there is no folder {path.parent}.", hint="create it first.")
    if path.is_dir():
        raise DataFileError(f"{path} cannot be written: it is a folder.", hint="give the name of a file.")


def run_script(script: str, arguments: list[str], module: bool = False) -> int:
    """Run ``script`` as ``__main__`` and return its exit status, also if it exits, raises or is interrupted."""
    before = sys.argv, sys.path[0]
    sys.argv, sys.path[0] = [script, *arguments], str(Path.cwd() if module else Path(script).resolve().parent)
    try:
        if module:
            runpy.run_module(script, run_name="__main__", alter_sys=True)
        else:
            runpy.run_path(script, run_name="__main__")
    except BaseException as error:
        return exit_status(error)
    finally:
        sys.argv, sys.path[0] = before
        sys.stdout.flush()
    return 0


def exit_status(error: BaseException) -> int:
    """Return the exit status of a script that raised ``error``, and print what Python would."""
    if isinstance(error, SystemExit):
        if error.code is None or isinstance(error.code, int):
            return int(error.code or 0)
        print(error.code, file=sys.stderr)
    elif isinstance(error, KeyboardInterrupt):
        print("\nInterrupted.", file=sys.stderr)
        return INTERRUPTED
    else:
        print_error(error)
    return 1


def print_error(error: BaseException) -> None:
    """Print an uncaught error as Python does, or the script's own way, without the lines of the profiler."""
    if sys.excepthook is not sys.__excepthook__:
        sys.excepthook(type(error), error, script_traceback(error.__traceback__))
        return
    print(formatted_error(error), end="", file=sys.stderr)


def formatted_error(error: BaseException) -> str:
    """Return what Python prints of an uncaught error of a script, without the lines of the profiler and of ``fix``."""
    printed = traceback.TracebackException(type(error), error, script_traceback(error.__traceback__))
    part: traceback.TracebackException | None = printed
    while part is not None:
        part.stack[:] = [frame for frame in part.stack if os.path.dirname(frame.filename) not in HIDDEN_FOLDERS]
        part = part.__cause__ or part.__context__
    return "".join(printed.format())


def script_traceback(trace: TracebackType | None) -> TracebackType | None:
    """Return the part of a traceback that begins in the script; all of it if the script did not run (a syntax error)."""
    inner = trace
    while inner is not None and inner.tb_frame.f_code.co_filename in HIDDEN_FILES:
        inner = inner.tb_next
    return inner or trace


# --------------------------------------------------------------------------- view


def add_view(commands: _SubParsersAction[ArgumentParser]) -> None:
    """Declare ``sparsekit view``."""
    view = add_command(commands, "view", view_profile, "turn a saved profile into a self-contained HTML page or an SVG picture")
    view.add_argument("file", type=Path, help="a profile, .npz, or a Chrome trace of torch.profiler or MXNet, .json or .json.gz")
    view.add_argument("-o", "--output", type=Path, metavar="FILE",
                      help="page to write, or a picture if it ends in .svg (default: an HTML page beside the profile)")
    view.add_argument("--open", action="store_true", help="open the file in the browser")


def view_profile(arguments: argparse.Namespace) -> int:
    """Write a saved profile as an HTML page, or its timeline as a picture, and print the path."""
    file: Path = arguments.file
    if not file.is_file():
        raise DataFileError(f"There is no profile {file}.", hint="`sparsekit profile SCRIPT` writes one.")
    page = arguments.output or page_beside(file)
    check_writable(page)
    profile = importlib.import_module("sparsekit.profiler").load(file)
    if page.suffix == ".svg":
        profile.timeline().save(page)
    else:
        profile.save(page)
    print(f"Wrote {page}")
    if arguments.open:
        importlib.import_module("webbrowser").open(page.resolve().as_uri())
    return 0


def page_beside(file: Path) -> Path:
    """Return ``run.html`` in the same folder for ``run.npz`` or ``run.trace.json.gz``."""
    name = file.name
    for ending in (".npz", ".gz", ".json", ".trace"):
        name = name.removesuffix(ending)
    return file.with_name(f"{name}.html")


# --------------------------------------------------------------------------- diff


def add_diff(commands: _SubParsersAction[ArgumentParser]) -> None:
    """Declare ``sparsekit diff``."""
    diff = add_command(commands, "diff", compare_profiles, "compare two saved profiles, or several runs of each side")
    diff.add_argument("before", type=Path, metavar="BEFORE", help="a profile, .npz, or a trace of another profiler")
    diff.add_argument("after", type=Path, metavar="AFTER", help="the profile to compare with it")
    diff.add_argument("--before", type=Path, metavar="FILE", dest="more_before", action="append", default=[],
                      help="another run of the first side; may be repeated")
    diff.add_argument("--after", type=Path, metavar="FILE", dest="more_after", action="append", default=[],
                      help="another run of the second side; may be repeated")
    diff.add_argument("--html", type=Path, metavar="FILE", help="also write a self-contained HTML page with both timelines")
    diff.add_argument("--rows", type=int, default=20, metavar="N", help="rows to print (default: %(default)s)")
    diff.add_argument("--exit-code", action="store_true", help="exit with status 1 if calls, bytes or storage types differ")


def compare_profiles(arguments: argparse.Namespace) -> int:
    """Print the differences of two profiles, or of several runs of each side, and return the exit status."""
    sides = [arguments.before, *arguments.more_before], [arguments.after, *arguments.more_after]
    for file in (*sides[0], *sides[1]):
        if not file.is_file():
            raise DataFileError(f"There is no profile {file}.", hint="`sparsekit profile SCRIPT` writes one.")
    if arguments.html:
        check_writable(arguments.html)
    if arguments.rows < 1:
        raise DataFileError(expected("--rows", "at least 1", arguments.rows), hint="leave it out for 20 rows.")
    profiler: Any = importlib.import_module("sparsekit.profiler")
    before, after = ([profiler.load(file) for file in side] for side in sides)
    difference = profiler.diff(before, after)
    print(difference.table(arguments.rows))
    if arguments.html:
        difference.save(arguments.html)
        print(f"Wrote {arguments.html}")
    return int(arguments.exit_code and not difference.same)
