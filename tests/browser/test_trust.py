"""A live view in a notebook of the course, opened by ``sparsekit lab``, is there when its page is loaded again."""

from __future__ import annotations

import pytest

from .conftest import COURSE_NAME, OTHER_NAME, Lab


@pytest.fixture
def open_notebook(lab):
    """Open a notebook, run its first cell alone, save it, and load the page again."""

    def opened(name: str) -> Lab:
        view = lab(name)
        view.page.evaluate("() => window.jupyterapp.commands.execute('notebook:run-cell-and-select-next')")
        view.page.locator(".grid-input").wait_for()
        view.page.evaluate("() => window.jupyterapp.commands.execute('docmanager:save')")
        return loaded_again(view)

    return opened


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
    view = open_notebook(COURSE_NAME)
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
    view = open_notebook(OTHER_NAME)
    assert trusted(view) == [False, False]
    view.page.get_by_text("Run the cell to use it").wait_for()
    assert view.page.locator(".jp-OutputArea img").count() == 2   # the pictures
    assert view.screenshot("not-trusted").stat().st_size > 10_000
    view.check()
