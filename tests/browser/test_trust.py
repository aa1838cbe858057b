"""A live view in a notebook of the course, opened by ``sparsekit lab``, is there when its page is loaded again."""

from __future__ import annotations

import json
import secrets
import sys
from collections.abc import Iterator
from pathlib import Path

import nbformat
import pytest

from .conftest import Lab, Server, free_port, new_context, private_environment, running, write_settings

#: A picture that was saved, as in every notebook of the course, and a cell with a live view.
SAVED = {"text/plain": "a finding", "text/html": "<img src='data:image/svg+xml,%3Csvg xmlns=%22http://www.w3.org/2000/svg%22/%3E'>"}
LIVE = "import sparsekit as mx\nmx.nd.sparse.csr_matrix([[7, 0, 8, 0], [0, 0, 0, 0], [0, 9, 0, 0]]).inspect().live()"


def write_notebook(path: Path) -> None:
    cells = [nbformat.v4.new_code_cell(LIVE),
             nbformat.v4.new_code_cell("1", outputs=[nbformat.v4.new_output("display_data", data=SAVED)], execution_count=1)]
    metadata = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
    nbformat.write(nbformat.v4.new_notebook(cells=cells, metadata=metadata), path)


@pytest.fixture(scope="module")
def server(chromium: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """``sparsekit lab`` for a folder with a notebook that has a name of the course, and one that has not."""
    pytest.importorskip("jupyterlab", reason="no JupyterLab: python -m pip install 'sparsekit[lab]'")
    home = tmp_path_factory.mktemp("lab")
    server = Server(f"http://127.0.0.1:{free_port()}", secrets.token_hex(16), home / "course")
    server.folder.mkdir()
    for name in ("01_csr.ipynb", "own.ipynb"):
        write_notebook(server.folder / name)
    environment = {**private_environment(home), "JUPYTER_TOKEN": server.token}
    write_settings(Path(environment["JUPYTERLAB_SETTINGS_DIR"]))
    configuration = {"LabApp": {"expose_app_in_browser": True, "extension_manager": "readonly"},
                     "LanguageServerManager": {"autodetect": False}}
    Path(environment["JUPYTER_CONFIG_DIR"], "jupyter_lab_config.json").write_text(json.dumps(configuration), encoding="utf-8")
    command = [sys.executable, "-m", "sparsekit", "lab", "--dir", str(server.folder), "--no-browser", "--port",
               server.url.rpartition(":")[2]]
    with running(command, server, home, environment):
        yield server


@pytest.fixture(scope="module")
def reader(browser, server):
    """One page, in which the notebooks are opened."""
    context = new_context(browser)
    yield Lab(context.new_page(), server)
    context.close()


@pytest.fixture
def open_notebook(reader):
    """Open a notebook, run its first cell alone, save it, and load the page again."""

    def opened(name: str) -> Lab:
        view = reader.open(name)
        view.page.evaluate("() => window.jupyterapp.commands.execute('notebook:run-cell-and-select-next')")
        view.page.locator(".grid-input").wait_for()
        view.page.evaluate("() => window.jupyterapp.commands.execute('docmanager:save')")
        return loaded_again(view)

    yield opened
    reader.leave()


def loaded_again(view: Lab) -> Lab:
    path = view.page.evaluate("() => window.jupyterapp.shell.currentWidget.context.path")
    view.page.reload()
    view.page.wait_for_function("path => window.jupyterapp?.shell?.currentWidget?.sessionContext?.path === path", arg=path)
    view.page.evaluate("() => window.jupyterapp.shell.currentWidget.sessionContext.ready")
    view.wait_idle()
    return view


def trusted(view: Lab) -> list[bool]:
    return view.page.evaluate("() => [...window.jupyterapp.shell.currentWidget.content.widgets].map(cell => cell.model.trusted)")


def test_a_live_view_of_the_course_is_there_after_a_reload_and_says_when_its_kernel_is_gone(open_notebook):
    view = open_notebook("01_csr.ipynb")
    assert trusted(view) == [True, True]
    page = view.page
    page.locator(".grid-input").wait_for()
    page.get_by_label("row 1, column 1").fill("2.5")
    page.locator(".sk-live > svg", has_text="Edited").wait_for()  # JupyterLab waits for nothing when the kernel goes
    assert view.screenshot("trusted-the-same-kernel").stat().st_size > 10_000
    page.evaluate("() => window.jupyterapp.shell.currentWidget.sessionContext.session.kernel.restart()")
    for words in ("3.5", "4.5"):  # asked twice: the first question does not stand in the way of the second
        page.evaluate("() => { document.querySelector('.sk-live .status').textContent = ''; }")
        page.get_by_label("row 1, column 1").fill(words)
        page.locator(".sk-live .status", has_text="No kernel answers").wait_for()  # what is said at once, not after ten seconds
    assert page.locator(".sk-live[aria-busy]").count() == 0
    view.wait_idle()
    view.check()
    loaded_again(view)
    page.locator(".grid-input").wait_for()
    page.get_by_label("row 1, column 1").fill("3.5")  # of a view of which another kernel knows nothing
    page.locator(".status", has_text="run the cell again").wait_for()
    assert view.screenshot("trusted-another-kernel").stat().st_size > 10_000
    view.check()


def test_a_notebook_of_another_name_is_not_signed_and_says_what_to_do(open_notebook):
    view = open_notebook("own.ipynb")
    assert trusted(view) == [False, False]
    view.page.get_by_text("Run the cell to use it").wait_for()
    assert view.page.locator(".jp-OutputArea img").count() == 2   # the pictures
    assert view.screenshot("not-trusted").stat().st_size > 10_000
    view.check()
