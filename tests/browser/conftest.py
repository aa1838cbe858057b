"""Chromium, a private JupyterLab, and one object that drives a notebook in it.

The fixtures live as long as this folder's tests do, not the session: while Playwright runs, so
does its event loop, and whatever runs after it in this process would find that loop running.
"""

from __future__ import annotations

import json
import os
import secrets
import shutil
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import nbformat
import pytest

from sparsekit import doctor
from sparsekit.figures import html_page
from sparsekit.figures.kit import Figure

ROOT = Path(__file__).resolve().parents[2]
ARTEFACTS = Path(__file__).parent / "artefacts"

FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
    "--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1",   # nothing leaves this machine
)

#: Of a page with JupyterLab.
SIZE = {"width": 1400, "height": 1000}

#: Errors of JupyterLab itself, in the console or uncaught, as parts of their text; anything else fails the test.
KNOWN_ERRORS: tuple[str, ...] = (
    "Canceled future for create_subshell_request",   # a notebook with widgets was left before the kernel answered
    "Could not restore the debugger state: Canceled future for debug_request",   # a notebook was left before the kernel answered
    "/lsp/status?",   # when a kernel ends, servers of languages are asked for, and there are none
)

SETTINGS = {
    # No popup that asks for news, and no request for them.
    "apputils-extension/notification": {"fetchNews": "false", "checkForUpdates": False, "doNotDisturbMode": True},
    # A kernel starts with the notebook, and every cell is in the page, seen or not.
    "notebook-extension/tracker": {"autoStartDefaultKernel": True, "windowingMode": "none"},
    "docmanager-extension/plugin": {"autosave": False},
}

CONFIGURATION = {"LabApp": {"expose_app_in_browser": True, "extension_manager": "readonly"}, "ServerApp": {"port_retries": 0},
                 "LanguageServerManager": {"autodetect": False}}

#: Notebooks with a live view and a picture that was saved, as in every notebook of the course: one has a name of the course.
COURSE_NAME, OTHER_NAME = "99_live.ipynb", "own.ipynb"
LIVE = "import sparsekit as mx\nmx.nd.sparse.csr_matrix([[7, 0, 8, 0], [0, 0, 0, 0], [0, 9, 0, 0]]).inspect().live()"
SAVED = {"text/plain": "a finding", "text/html": "<img src='data:image/svg+xml,%3Csvg xmlns=%22http://www.w3.org/2000/svg%22/%3E'>"}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    here = f"{Path(__file__).parent}/"
    for item in items:
        if str(item.path).startswith(here):
            item.add_marker(pytest.mark.browser)


@pytest.fixture(scope="package")
def chromium() -> str:
    """Path of Chromium; without one the test is skipped, and the reason names the command that installs it."""
    found = doctor.find_chromium()
    if found is None:
        pytest.skip(f"no Chromium: {doctor.INSTALL_CHROMIUM} (or set SPARSEKIT_CHROMIUM to one)")
    return found


@pytest.fixture(scope="package")
def browser(chromium: str) -> Iterator[Any]:
    """Headless Chromium driven by Playwright."""
    sync_api = pytest.importorskip("playwright.sync_api", reason="no Playwright: pip install 'sparsekit[test]'")
    with sync_api.sync_playwright() as playwright:
        launched = playwright.chromium.launch(executable_path=chromium, args=list(FLAGS))
        yield launched
        launched.close()


class Server(NamedTuple):
    """A running JupyterLab: its address, its token and the folder that it serves."""

    url: str
    token: str
    folder: Path


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def private_environment(folder: Path) -> dict[str, str]:
    """This process's environment with every Jupyter folder inside ``folder``."""
    places = {
        "JUPYTER_CONFIG_DIR": "config",
        "JUPYTER_DATA_DIR": "data",
        "JUPYTER_RUNTIME_DIR": "runtime",
        "JUPYTERLAB_SETTINGS_DIR": "settings",
        "JUPYTERLAB_WORKSPACES_DIR": "workspaces",
        "IPYTHONDIR": "ipython",
    }
    changed = {name: str(folder / place) for name, place in places.items()}
    for place in changed.values():
        Path(place).mkdir(parents=True)
    path = os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH"))))
    return {**os.environ, **changed, "PYTHONPATH": path}


def write_settings(folder: Path) -> None:
    for name, values in SETTINGS.items():
        path = folder / "@jupyterlab" / f"{name}.jupyterlab-settings"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(values), encoding="utf-8")


def wait_until_up(process: subprocess.Popen, server: Server, log: Path, seconds: float = 180) -> None:
    request = urllib.request.Request(f"{server.url}/api/status", headers={"Authorization": f"token {server.token}"})
    end = time.monotonic() + seconds
    while time.monotonic() < end and process.poll() is None:
        try:
            urllib.request.urlopen(request, timeout=5).close()
        except (urllib.error.URLError, OSError):
            time.sleep(0.1)
        else:
            return
    pytest.fail(f"JupyterLab did not start:\n{log.read_text(encoding='utf-8')[-3000:]}", pytrace=False)


@pytest.fixture(scope="package")
def jupyter_server(chromium: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """``sparsekit lab`` on a free port of this machine, serving a copy of the notebooks, touching nobody's settings."""
    pytest.importorskip("jupyterlab", reason="no JupyterLab: python -m pip install 'sparsekit[lab]'")
    home = tmp_path_factory.mktemp("jupyter")
    server = Server(f"http://127.0.0.1:{free_port()}", secrets.token_hex(16), home / "notebooks")
    shutil.copytree(ROOT / "notebooks", server.folder, ignore=shutil.ignore_patterns(".ipynb_checkpoints"))
    shutil.copytree(ROOT / "profiles", home / "profiles")  # records that notebooks read
    for name in (COURSE_NAME, OTHER_NAME):
        write_cells(server.folder / name, [LIVE, "1"], saved=SAVED)
    environment = {**private_environment(home), "JUPYTER_TOKEN": server.token}
    write_settings(Path(environment["JUPYTERLAB_SETTINGS_DIR"]))
    Path(environment["JUPYTER_CONFIG_DIR"], "jupyter_lab_config.json").write_text(json.dumps(CONFIGURATION), encoding="utf-8")
    command = [sys.executable, "-m", "sparsekit", "lab", "--dir", str(server.folder), "--no-browser", "--port",
               server.url.rpartition(":")[2]]
    log = home / "server.log"
    with log.open("w", encoding="utf-8") as sink:
        process = subprocess.Popen(command, env=environment, cwd=home, stdout=sink, stderr=subprocess.STDOUT)
        try:
            wait_until_up(process, server, log)
            yield server
        finally:
            process.terminate()
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


class Lab:
    """One notebook in one JupyterLab page.

    Attributes
    ----------
    page : playwright.sync_api.Page
    errors : list of str
        Console errors and uncaught exceptions since the page was opened.
    foreign : list of str
        Addresses outside the server that the page asked for; the browser finds none of them.
    """

    def __init__(self, page: Any, server: Server) -> None:
        self.page, self.server, self.left = page, server, False
        self.errors: list[str] = []
        self.foreign: list[str] = []
        page.on("console", self._hear)
        page.on("pageerror", lambda error: self._said(str(error)))
        page.on("request", self._note)   # a route would keep the browser from caching JupyterLab

    def _hear(self, message: Any) -> None:
        if message.type == "error":
            self._said(f"{message.text} ({message.location.get('url', '')})")

    def _said(self, error: str) -> None:
        if not any(known in error for known in KNOWN_ERRORS):
            self.errors.append(error)

    def _note(self, request: Any) -> None:
        address = urlsplit(request.url)
        if address.scheme not in ("data", "blob") and address.netloc != urlsplit(self.server.url).netloc:
            self.foreign.append(request.url)

    def open(self, notebook: str) -> Lab:
        """Show a notebook and wait until its kernel is connected and idle; in the same JupyterLab if another was left."""
        assert (self.server.folder / notebook).is_file()
        if self.left:
            self.page.evaluate("path => { window.jupyterapp.commands.execute('docmanager:open', {path}); }", notebook)
        else:
            self.page.goto(f"{self.server.url}/lab/tree/{notebook}?reset&token={self.server.token}")
        self.left = False
        shown = "path => window.jupyterapp?.shell?.currentWidget?.sessionContext?.path === path"
        self.page.wait_for_function(shown, arg=notebook)
        # "Idle" is shown before the session is connected, so the session itself is asked.
        self.page.evaluate("() => window.jupyterapp.shell.currentWidget.sessionContext.ready")
        self.wait_idle()
        return self

    def leave(self) -> None:
        """Close the notebook unsaved and end its kernel; whatever went wrong until then fails the test."""
        self.page.evaluate(
            """async () => {
                const shown = window.jupyterapp.shell.currentWidget;
                await shown.sessionContext.shutdown();
                shown.context.model.dirty = false;
                shown.close();
            }"""
        )
        self.check()
        self.left = True

    def wait_idle(self, seconds: float = 180) -> None:
        """Wait until the kernel has nothing to do."""
        self.page.wait_for_function(
            "() => window.jupyterapp.shell.currentWidget.sessionContext.session?.kernel?.status === 'idle'",
            timeout=1000 * seconds,
        )

    def run_all(self, seconds: float = 360) -> Lab:
        """Run every cell, from cleared outputs, and fail with the cell's error if one raises."""
        # The promise is kept in the page: awaiting it here would wait for ever behind any dialog.
        self.page.evaluate(
            """() => {
                const commands = window.jupyterapp.commands;
                window.ranAll = undefined;
                commands.execute('notebook:clear-all-cell-outputs')
                    .then(() => commands.execute('notebook:run-all-cells'))
                    .then(() => { window.ranAll = 'done'; }, error => { window.ranAll = String(error); });
            }"""
        )
        self.page.wait_for_function("() => window.ranAll !== undefined", timeout=1000 * seconds)
        assert self.page.evaluate("() => window.ranAll") == "done"
        self.wait_idle()
        raised = [output for output in self.outputs() if output["output_type"] == "error"]
        assert not raised, "\n".join(f"{output['ename']}: {output['evalue']}" for output in raised)
        return self

    def outputs(self) -> list[dict[str, Any]]:
        """Every output of the notebook, in the order of its cells, in the notebook file's form."""
        return self.page.evaluate(
            """() => [...window.jupyterapp.shell.currentWidget.content.widgets]
                .filter(cell => cell.model.type === 'code')
                .flatMap(cell => cell.model.outputs.toJSON())"""
        )

    def unrun(self) -> int:
        """Number of code cells that hold code and have not run."""
        return self.page.evaluate(
            """() => [...window.jupyterapp.shell.currentWidget.content.widgets]
                .filter(cell => cell.model.type === 'code' && cell.model.sharedModel.getSource().trim()
                    && cell.model.executionCount === null).length"""
        )

    def theme(self, dark: bool) -> None:
        """Switch JupyterLab between its light and its dark theme."""
        name = "JupyterLab Dark" if dark else "JupyterLab Light"
        self.page.evaluate("name => window.jupyterapp.commands.execute('apputils:change-theme', {theme: name})", name)
        self.page.wait_for_function("name => document.body.dataset.jpThemeName === name", arg=name)
        self.page.locator("#jupyterlab-splash").wait_for(state="detached")

    def screenshot(self, name: str) -> Path:
        """Save what the page shows as ``artefacts/NAME.png``."""
        ARTEFACTS.mkdir(exist_ok=True)
        path = ARTEFACTS / f"{name}.png"
        self.page.screenshot(path=path)
        return path

    def check(self) -> None:
        """Nothing went wrong in the page since it was checked last, and nothing left the machine."""
        wrong = self.foreign + self.errors
        self.foreign.clear()
        self.errors.clear()
        assert wrong == []


@pytest.fixture(scope="package")
def reader(browser: Any, jupyter_server: Server) -> Iterator[Lab]:
    """One page in which a reader opens a notebook after the other, leaving each: JupyterLab takes seconds to load."""
    context = browser.new_context(viewport=SIZE, service_workers="block")
    context.set_default_timeout(180_000)
    yield Lab(context.new_page(), jupyter_server)
    context.close()


@pytest.fixture
def lab(reader: Lab) -> Iterator[Callable[[str], Lab]]:
    """Function that opens a notebook, by its name in the served folder, which is left and checked when the test has ended."""
    opened: list[Lab] = []

    def open_notebook(notebook: str) -> Lab:
        reader.page.set_viewport_size(SIZE)
        opened.append(reader.open(notebook))
        return reader

    yield open_notebook
    if opened:
        reader.leave()


def write_cells(path: Path, cells: list[str], saved: dict[str, str] | None = None) -> None:
    """Write a notebook of these cells; ``saved`` is what the last one showed when it was saved."""
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell.strip()) for cell in cells])
    if saved:
        notebook.cells[-1].outputs = [nbformat.v4.new_output("display_data", data=saved)]
    notebook.metadata.kernelspec = {"name": "python3", "display_name": "Python 3", "language": "python"}
    nbformat.write(notebook, path)


@pytest.fixture(scope="module")
def cells_notebook(reader: Lab, jupyter_server: Server) -> Iterator[Lab]:
    """A notebook for cells of the tests of a module: a kernel takes longer to start than most cells to run."""
    write_cells(jupyter_server.folder / "cells.ipynb", [""])
    yield reader.open("cells.ipynb")
    reader.leave()


@pytest.fixture
def open_cells(cells_notebook: Lab) -> Iterator[Callable[[list[str]], Lab]]:
    """Function that shows a notebook of these cells, which have not run."""

    def show(cells: list[str]) -> Lab:
        cells_notebook.page.set_viewport_size(SIZE)
        cells_notebook.page.evaluate(
            """cells => {
                const notebook = window.jupyterapp.shell.currentWidget.content.model.sharedModel;
                notebook.transact(() => {
                    notebook.deleteCellRange(0, notebook.cells.length);
                    notebook.insertCells(0, cells.map(source => ({cell_type: 'code', source})));
                });
            }""",
            [cell.strip() for cell in cells],
        )
        return cells_notebook

    yield show
    cells_notebook.check()


def widths_of(page: Any, *widths: int) -> Iterator[int]:
    """A page as if it was opened at each of these widths, without its figures being drawn by Python anew."""
    for width in widths:
        page.set_viewport_size({"width": width, "height": 900})
        page.reload()
        page.wait_for_selector("[data-ready]")
        yield width


@pytest.fixture
def open_page(browser, tmp_path):
    """Function that opens a page of figures from disk; a request or an error fails the test."""
    wrong: list[str] = []
    contexts = []

    def open_it(*figures: Figure, dark: bool = False, **options: Any) -> Any:
        path = tmp_path / "page.html"
        html_page("A page", [(f"Part {place}", figure) for place, figure in enumerate(figures)], path=path)
        context = browser.new_context(**{"viewport": {"width": 1200, "height": 900}, **options}, offline=True,
                                      color_scheme="dark" if dark else "light")  # fmt: skip
        contexts.append(context)
        page = context.new_page()
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.on("console", lambda message: wrong.append(message.text) if message.type in ("error", "warning") else None)
        page.on("request", lambda request: wrong.append(request.url) if not request.url.startswith(("file:", "data:")) else None)
        page.on("dialog", lambda dialog: wrong.append(dialog.message))
        page.goto(path.as_uri())
        page.wait_for_selector("[data-ready]")
        return page

    yield open_it
    for context in contexts:
        context.close()
    assert wrong == []
