"""Every display is enhanced by one script: with real keys and the mouse, in a page without Python and in a notebook."""

from __future__ import annotations

from sparsekit.figures.answers import given, script
from sparsekit.figures.array import array_figure
from sparsekit.figures.svg import to_svg
from sparsekit.figures.touched import touched_figure
from sparsekit.figures.xray import xray
from tests.figures.gallery import asking, everything, played

from .gallery import made

PICTURE = "figure > svg:not(.over)"


def transform(page):
    return page.locator(".scaled").first.get_attribute("transform") or ""


def test_keys_zoom_pan_walk_and_leave(open_page):
    page = open_page(everything())
    page.locator(PICTURE).focus()
    page.keyboard.press("+")
    assert "scale(2,1)" in transform(page)
    assert page.locator(".over").is_visible()
    before = transform(page)
    page.keyboard.press("Shift+ArrowRight")
    assert transform(page) != before
    page.keyboard.press("Home")
    assert "scale(1,1)" in transform(page)
    assert not page.locator(".over").is_visible()
    page.keyboard.press("ArrowRight")
    first = page.locator(".status").inner_text()
    assert first == "sgd_update dense"
    assert page.locator(".on").count() == 2  # the bar, and its part in the magnifying box
    page.keyboard.press("ArrowRight")
    assert page.locator(".status").inner_text() != first
    page.keyboard.press("Escape")
    assert page.locator(".on").count() == 0
    assert not page.locator(".tip").is_visible()


def test_the_search_field_is_reached_and_left_by_keys(open_page):
    page = open_page(everything())
    page.locator(PICTURE).focus()
    page.keyboard.press("/")
    page.keyboard.type("pale-sparse")
    assert page.locator(".status").inner_text() == "1 of 29 contain “pale-sparse”."
    page.keyboard.press("Enter")
    assert page.locator(".status").inner_text() == "sgd_update pale-sparse"
    page.keyboard.press("Escape")
    assert page.locator(".off").count() == 0
    assert page.evaluate("document.activeElement.tagName") == "svg"


def test_every_control_is_reached_by_tab_and_has_a_name(open_page):
    page = open_page(everything(), played())
    reached = []
    for _ in range(30):
        page.keyboard.press("Tab")
        found = page.evaluate("""() => {
            const one = document.activeElement;
            const outline = getComputedStyle(one).outlineStyle;
            return [one.tagName, one.getAttribute("aria-label") || one.textContent.trim(), outline];
        }""")
        if found[0] == "BODY":
            break
        reached.append(found)
    assert {"Zoom in", "Zoom out", "Show all", "Play or pause", "Step"} <= {name for _, name, _ in reached}
    assert all(name and outline != "none" for _, name, outline in reached)
    assert [tag for tag, _, _ in reached].count("svg") == 2


def test_the_mouse_shows_words_drags_and_zooms(open_page):
    page = open_page(everything())
    bar = page.locator("[data-key='key 0']").first
    bar.hover()
    assert page.locator(".tip").inner_text() == "sgd_update dense"
    box = page.locator(PICTURE).bounding_box()
    page.keyboard.down("Control")
    page.mouse.wheel(0, -400)
    page.keyboard.up("Control")
    page.wait_for_function("() => /scale\\(2\\.2/.test(document.querySelector('.scaled').getAttribute('transform'))")
    before = transform(page)
    page.mouse.move(box["x"] + 500, box["y"] + 120)
    page.mouse.down()
    page.mouse.move(box["x"] + 300, box["y"] + 120, steps=4)
    page.mouse.up()
    assert transform(page) != before


ENHANCED = """async ([svg, given, script]) => {
    const { enhance } = await import(URL.createObjectURL(new Blob([script], { type: "text/javascript" })));
    const root = document.querySelector("section");
    root.innerHTML = svg;
    window.sent = [];
    window.made = enhance(root, given, (message) => sent.push(message));
    window.answer = () => { made.replace(svg); made.answered(); };
}"""


def test_an_answer_that_comes_while_a_button_is_held_takes_nothing_away(browser):
    page = browser.new_page(viewport={"width": 1100, "height": 900})
    page.set_content("<section style='width: 1022px'></section>")
    figure = asking()
    page.evaluate(ENHANCED, [to_svg(figure, 1000, live=True), given(figure, 1000), script()])
    sent = "sent.map((message) => message.ask === 'select' ? message.key : 'draw')"
    key = page.locator("[data-key]").first.get_attribute("data-key")
    page.locator("[data-key]").first.hover()
    page.mouse.down()
    page.evaluate("window.before = document.querySelector('svg'); answer()")
    page.mouse.up()
    assert page.evaluate(sent) == [key]
    assert page.evaluate("before !== document.querySelector('svg')")  # shown when the button was released
    page.keyboard.press("Enter")  # what was chosen is so in the new picture too
    page.evaluate("answer()")
    assert page.evaluate(sent) == [key, key]
    page.evaluate("answer()")
    box = page.locator("svg:not(.over)").bounding_box()
    page.locator("svg:not(.over)").focus()
    page.keyboard.press("+")
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + 30)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] / 2 - 40, box["y"] + 30)
    moved = transform(page)
    page.evaluate("answer()")
    assert transform(page) == moved
    page.mouse.move(box["x"] - 50, box["y"] - 5)
    page.mouse.up()
    page.wait_for_function("sent.length === 3")
    assert page.evaluate(sent) == [key, key, "draw"]
    page.close()


def test_a_page_without_python_answers_what_was_computed_beforehand(open_page):
    page = open_page(asking())
    assert "Drawn for dense" in page.locator(PICTURE).text_content()
    page.locator("[data-key='bar 3']").click()
    assert page.locator(".details").inner_text().split() == ["key", "bar", "3", "kind", "dense"]
    page.locator("select").select_option("sparse")
    assert "Drawn for sparse" in page.locator(PICTURE).text_content()
    assert page.locator("input[type=range]").count() == 0


#: Notes every frame that a page says it shows, however late the test looks.
NOTE_FRAMES = """
window.frames_seen = [];
new MutationObserver(() => {
    const shown = document.querySelector("output")?.textContent;
    if (shown && frames_seen.at(-1) !== shown) frames_seen.push(shown);
}).observe(document, {subtree: true, childList: true, characterData: true});
"""


def test_frames_are_played_and_reduced_motion_shows_the_last(open_page):
    still = open_page(played(), reduced_motion="reduce")
    assert still.locator("output").inner_text() == "3 of 3"
    assert "Frame 3" in still.locator(PICTURE).text_content()
    still.get_by_label("Step").press("ArrowLeft")
    assert "Frame 2" in still.locator(PICTURE).text_content()
    moving = open_page(played())
    moving.add_init_script(NOTE_FRAMES)
    moving.reload()
    moving.wait_for_function("() => frames_seen.includes('2 of 3') && frames_seen.at(-1) === '3 of 3'")
    assert moving.evaluate("frames_seen")[-3:] == ["1 of 3", "2 of 3", "3 of 3"]
    assert moving.get_by_label("Play or pause").inner_text() == "play"


CELL = """
from tests.figures.gallery import asking
live = asking().live()
live
"""


def test_in_a_notebook_python_answers(open_cells):
    lab = open_cells([CELL])
    lab.run_all()
    page = lab.page
    page.wait_for_selector(".sk-live[data-ready]")
    page.get_by_label("storage").select_option("sparse")
    page.wait_for_function("() => document.querySelector('.sk-live > svg').textContent.includes('Drawn for sparse')")
    page.get_by_label("rows", exact=True).fill("42")
    page.wait_for_function("() => document.querySelector('.sk-live > svg').textContent.includes('rows 42')")
    page.locator(".sk-live [data-key='bar 3']").click()
    page.wait_for_function("() => document.querySelector('.details').textContent.includes('bar 3')")
    page.keyboard.press("+")
    page.wait_for_function("() => !document.querySelector('.sk-live > svg').textContent.includes('100')")
    assert page.evaluate("document.activeElement.tagName") == "svg"


def press(page, *keys):
    for key in keys:
        page.keyboard.press(key)


def cells(page):
    """Number of cells of the notebook that is shown."""
    return page.evaluate("window.jupyterapp.shell.currentWidget.content.widgets.length")


def test_in_a_notebook_keys_stay_in_the_view_until_escape_leaves_it(open_cells):
    lab = open_cells([CELL, "1"])
    lab.run_all()
    page = lab.page
    page.wait_for_selector(".sk-live[data-ready]")
    page.get_by_label("storage").focus()
    page.keyboard.press("ArrowDown")
    page.wait_for_function("() => document.querySelector('.sk-live > svg').textContent.includes('Drawn for sparse')")
    for place in (page.get_by_label("storage"), page.get_by_label("Zoom in"), page.locator(".sk-live > svg:not(.over)")):
        place.focus()
        press(page, "b", "x", "d", "d", "Shift+M")  # commands on cells
        assert cells(page) == 2
        assert page.evaluate("document.activeElement.closest('.sk-live') !== null")
        page.keyboard.press("Escape")
        assert page.evaluate("document.activeElement.classList.contains('jp-Cell')")


EDITED = """
import sparsekit as mx
x = mx.nd.sparse.csr_matrix([[7, 0, 8.25, 0], [0, 0, 0, 0], [0, -9.5, 0, 1]])
x.inspect().live()
"""


def test_an_array_is_edited_in_a_notebook_and_its_components_follow(open_cells):
    lab = open_cells([EDITED])
    lab.run_all()
    page = lab.page
    page.wait_for_selector(".sk-live[data-ready]")
    picture = page.locator(".sk-live > svg:not(.over)")
    assert picture.locator("[data-key^='head']").count() == 4
    page.get_by_label("row 1, column 3").fill("5")
    page.wait_for_function("() => document.querySelector('.sk-live > svg').textContent.includes('Edited: 1 more stored value')")
    assert "2 pointers change, from indptr[2] on" in picture.text_content()
    assert page.evaluate("document.activeElement.getAttribute('aria-label')").endswith("row 1, column 3")
    picture.locator("[data-key='entry 2']").first.click()
    page.wait_for_function("() => document.querySelector('.details').textContent.includes('data[2] = 5')")
    assert picture.locator(".on").count() == 3  # its element, its column, its value


def test_a_page_steps_through_a_large_array_and_edits_a_small_one_as_computed_beforehand(open_page):
    large = open_page(array_figure(made["LARGE"]))
    large.locator("select").select_option("the last ones")
    large.locator("[data-key^='entry']").last.click()
    assert "data[" in large.locator(".details").inner_text()
    small = open_page(array_figure(made["SMALL"]))
    small.locator("select").select_option(index=1)
    assert "1 fewer stored value" in small.locator(PICTURE).text_content()


MEMORY = """
import numpy as np
import sparsekit as mx
layer = mx.gluon.nn.Dense(8, in_units=2000, weight_grad_stype="row_sparse", prefix="net_")
layer.initialize()
trainer = mx.gluon.Trainer(layer.collect_params(), "adam")
batch = mx.nd.sparse.csr_matrix((np.random.default_rng(3).random((10, 2000)) < 0.02).astype("float32"))
with mx.Profiler() as prof:
    for _ in range(3):
        with mx.autograd.record():
            loss = layer(batch).sum()
        loss.backward()
        trainer.step(10)
        prof.step()
figure = prof.memory.figure()
"""


def test_memory_lights_up_tells_and_computes_what_would_be(open_cells):
    page = open_cells([f"{MEMORY}figure.live()"]).run_all().page
    page.wait_for_selector(".sk-live[data-ready]")
    bar = page.locator(".sk-live svg rect[data-key^='array']", has_not_text="nothing").first
    bar.click()
    page.locator(".sk-live path.on").first.wait_for()
    assert page.locator(".sk-live path.on").count() == 1  # the area of the same array
    page.locator(".sk-live .details", has_text="optimizer state").wait_for()
    size = page.viewport_size
    page.evaluate("() => { window.before = document.querySelector('.sk-live > svg'); }")
    page.set_viewport_size({**size, "width": size["width"] - 300})
    page.wait_for_function("() => document.querySelector('.sk-live > svg') !== window.before")
    assert page.locator(".sk-live path.on").count() == 1, "what is selected stays so when the picture is drawn for another width"
    page.set_viewport_size(size)
    page.get_by_label("gradients").select_option("default")
    page.locator(".sk-live > svg", has_text="With gradient='default' the peak is").wait_for()
    page.get_by_label("batch").select_option("twice")
    page.locator(".sk-live > svg", has_text="batch_size=20 instead of 10").wait_for()
    page.locator(".sk-live > svg:not(.over)").focus()
    for key in ("+", "+", "ArrowRight"):
        page.keyboard.press(key)
    page.locator(".sk-live input[type=search]").fill("row_sparse")
    assert page.locator(".sk-live [data-key^='array']:not(.off)").count() < page.locator(".sk-live [data-key^='array']").count()


def test_a_page_has_answers_about_memory_computed_beforehand(open_page):
    names = {}
    exec(MEMORY, names)
    figure = names["figure"]
    page = open_page(figure)
    for name, values in figure.interaction.answers.items():
        page.locator("select").select_option(name)
        expected = figure.interaction.draw(None, values).finding
        assert page.locator(PICTURE).get_attribute("aria-label").startswith(f"Where the memory goes. {expected[:60]}")
    page.locator("svg rect[data-key^='array']").first.click()
    assert "net_weight" in page.locator(".details").inner_text()


def test_an_xray_steps_through_batches_and_writes_out_a_sum(open_page):
    figure = xray(made["BATCHES"], 2, upstream=made["UPSTREAM"])
    page = open_page(figure, touched_figure({"all": (Whole(), 100)}))
    page.locator(PICTURE).first.locator("[data-key='row 22']").first.click()
    assert page.locator(".on").count() == 4  # two values of the batch, two of the gradient
    said = page.locator(".details").inner_text()
    assert "1.5·(0.13, -0.13) + 0.5·(-0.7, -1.27) = (-0.155, -0.83)" in said
    page.locator("select").select_option("batch 1")
    assert "0 rows keep an older state" in page.locator(PICTURE).first.text_content()


class Whole:
    stype, shape, nbytes = "default", (100, 2), 800


LOOP = """
import time
import sparsekit as mx
with mx.figures.monitor(every=0.05) as watched:
    for step in range(40):
        time.sleep(0.03)
        watched.step(1 / (step + 1), rows=3, density=0.1, bytes=100)
"""
#: Note what the view says, while it says it.
LISTEN = """() => {
    window.heard = new Set();
    setInterval(() => {
        const said = document.querySelector('.sk-live > svg')?.getAttribute('aria-label');
        if (said) window.heard.add(said);
    }, 30);
}"""


def test_a_monitor_follows_a_loop_to_its_end(open_cells):
    lab = open_cells([LOOP])
    lab.page.evaluate(LISTEN)
    page = lab.run_all().page
    page.locator(".sk-live > svg", has_text="40 steps: the loss went from 1 to 0.025").wait_for()
    heard = page.evaluate("() => [...window.heard]")
    assert len(heard) > 1, heard  # a busy machine leaves out most steps, but not all before the last
    (shown,) = [output["data"] for output in lab.outputs() if "data" in output]
    assert "40 steps" in "".join(shown["text/html"])  # what stays of the view is its end, not its beginning


GRAPH = """
import sparsekit as mx
x, w = mx.sym.Variable("x", stype="csr"), mx.sym.Variable("w", stype="row_sparse")
hidden = mx.sym.broadcast_add(mx.sym.dot(x, w, name="dot1"), mx.sym.Variable("bias"), name="plus1")
net = mx.sym.Group([mx.sym.FullyConnected(hidden, num_hidden=10, name="fc1"), mx.sym.log(x, name="log1"),
                    mx.sym.cos(w, name="cos1")])
net.graph(x=(64, 1000000), w=(1000000, 128), bias=(1, 128)).live()
"""


def test_a_graph_is_searched_walked_and_asked(open_cells):
    lab = open_cells([GRAPH]).run_all()
    page = lab.page
    page.wait_for_selector(".sk-live[data-ready]")
    cards = page.locator(".sk-live [data-key^='node']")
    assert cards.count() == 18
    page.locator(".sk-live input[type=search]").fill("falls back")
    assert page.locator(".sk-live [data-key^='node']:not(.off)").count() == 2
    page.keyboard.press("Enter")
    assert "falls back: " in page.locator(".sk-live .status").inner_text()
    page.keyboard.press("Escape")
    assert page.locator(".sk-live .off").count() == 0
    shown = page.locator(".sk-live .details", has_text="csr 64 × 1,000,000")
    page.locator(".sk-live svg [data-key='node 0']").click(position={"x": 120, "y": 20})
    shown.wait_for()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    page.wait_for_function("() => !document.querySelector('.sk-live .details').textContent.includes('variablex')")
    (live,) = [output["data"] for output in lab.outputs() if output["output_type"] == "execute_result"]
    assert "2 of 5 operators fall back, 768 MB dense" in "".join(live["text/html"])
