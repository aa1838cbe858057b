"""A prediction made in JupyterLab by keyboard and by mouse, compared, and kept."""

from __future__ import annotations

CELLS = [
    'import os\nos.environ["SPARSEKIT_PROGRESS"] = "progress"\nimport sparsekit as mx',
    'mx.predict("browser_mb", "How many megabytes does `weight.grad` take? <b>Guess</b>.", unit="MB")',
    'mx.reveal("browser_mb", 0.065, wrong={512: "you counted the dense gradient"})',
    'mx.predict("browser_part", "Which part is slowest?", options=["forward", "backward", "update"])',
    'mx.reveal("browser_part", "backward", wrong={"forward": "the input is sparse"})',
    'answer = ...\nwith mx.exercise("browser_task", answer) as task:\n    task.equal(answer, 3)',
    'mx.progress("cells")',
]


def test_a_prediction_is_made_compared_and_kept(open_cells, jupyter_server):
    view = open_cells(CELLS).run_all()
    page = view.page
    page.locator(".sk-question[data-ready]").nth(1).wait_for()
    number, choice = page.locator(".sk-question").nth(0), page.locator(".sk-question").nth(1)
    assert "<b>Guess</b>" in number.inner_text()

    field = number.get_by_label("Your guess, in MB")
    field.focus()
    page.keyboard.type("a lot")
    page.keyboard.press("Enter")
    number.locator(".sk-verdict[data-state=unclear]").wait_for()
    assert "not a number" in number.inner_text()
    assert field.input_value() == "a lot"
    field.fill("512")
    page.keyboard.press("Enter")
    number.locator(".sk-verdict[data-state=wrong]").wait_for()
    assert "You counted the dense gradient." in number.inner_text()

    choice.get_by_label("backward").check()
    choice.get_by_role("button", name="Keep my prediction").click()
    choice.locator(".sk-verdict[data-state=right]").wait_for()

    choice.get_by_label("backward").focus()
    for pressed in ("b", "x", "ArrowUp"):
        page.keyboard.press(pressed)
    assert choice.get_by_label("forward").is_checked()
    assert page.evaluate("window.jupyterapp.shell.currentWidget.content.widgets.length") == len(CELLS)
    page.keyboard.press("Escape")
    assert page.evaluate("document.activeElement.classList.contains('jp-Cell')")

    for dark in (False, True):
        view.theme(dark)
        number.evaluate("form => form.scrollIntoView({block: 'center'})")
        assert view.screenshot(f"course-{'dark' if dark else 'light'}").stat().st_size > 10_000
    kept = list((jupyter_server.folder / "progress").glob("*.json"))
    assert [path.name for path in kept] == ["cells.json"]

    page.evaluate("() => window.jupyterapp.commands.execute('notebook:run-all-cells')")
    page.get_by_alt_text("2 of 2 predictions made, 1 of them right").wait_for(state="attached")
    page.get_by_text("Not so.").wait_for(state="attached")
    assert any("Nothing is filled in yet" in str(output) for output in view.outputs())
