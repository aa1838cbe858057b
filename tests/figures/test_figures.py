"""Figures by what users see of them: the same marks in every renderer, the same bytes each time, and harmless names."""

from __future__ import annotations

import io
import re
import subprocess
import sys
import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest

from sparsekit.base.errors import MissingPackageError, ParameterError, UnknownNameError, UnsupportedError
from sparsekit.figures import html_page
from sparsekit.figures.kit import Area, Axis, Figure, Line, Panel, Raster, Rect, Table
from sparsekit.figures.layout import Layout
from sparsekit.figures.svg import to_svg
from sparsekit.figures.text import clean, ticks

from .gallery import HOSTILE, asking, everything, played

SVG = "{http://www.w3.org/2000/svg}"
TAGS = {"svg", "style", "defs", "pattern", "rect", "path", "clipPath", "g", "text", "title", "line"}
WIDTHS = (240, 390, 640, 1000, 1200)


def panels_of(root):
    return [group for group in root.iter(SVG + "g") if group.get("class") == "panel"]


def test_an_svg_has_the_rectangles_of_the_figure_where_the_data_says():
    figure = everything()
    layout, root = Layout(figure, 1000), ElementTree.fromstring(figure.svg())
    for number, group in enumerate(panels_of(root)):
        x, y = layout.x(number), layout.y(number)
        drawn = sorted((rect.find(SVG + "title").text, float(rect.get("x")), float(rect.get("y")), float(rect.get("width")),
                        float(rect.get("height"))) for rect in group.iter(SVG + "rect"))  # fmt: skip
        wanted = sorted((clean(mark.title, 300), x(mark.x0), y(mark.y0), x(mark.x1) - x(mark.x0), y(mark.y1) - y(mark.y0))
                        for mark in figure.of(Rect) if mark.panel == number)  # fmt: skip
        assert [one[0] for one in drawn] == [one[0] for one in wanted]
        np.testing.assert_allclose([one[1:] for one in drawn] or 0, [one[1:] for one in wanted] or 0, atol=0.06)


def test_matplotlib_draws_the_same_rectangles():
    pytest.importorskip("matplotlib")
    from matplotlib.figure import Figure as Sheet

    figure = everything()
    ax = Sheet(figsize=(12, 9)).subplots()
    assert figure.on(ax) is ax
    for number, inner in enumerate(ax.child_axes):
        boxes = [path.vertices[:4] for layer in inner.collections for path in layer.get_paths() if len(path.vertices) == 5]
        drawn = {(*corner[0], *corner[2]) for corner in np.round(boxes, 6)} if boxes else set()
        assert {(mark.x0, mark.y0, mark.x1, mark.y1) for mark in figure.of(Rect) if mark.panel == number} <= drawn
    ax.figure.canvas.draw()


def test_several_panels_have_ticks_as_small_as_the_picture_has_and_one_has_the_users():
    pytest.importorskip("matplotlib")
    from matplotlib.figure import Figure as Sheet

    panels = [Panel((0, 2), (0, 1), 80), Panel((0, 2), (0, 1), 80)]
    axes = [Axis(0, "bottom", "number"), Axis(1, "bottom", "number")]
    for count in (1, 2):
        ax = Sheet().subplots()
        own = ax.xaxis.get_ticklabels()[0].get_fontsize()
        Figure("Panels", "Two.", panels[:count], axes[:count]).on(ax)
        inner = ax.child_axes or [ax]
        assert {label.get_fontsize() for one in inner for label in one.xaxis.get_ticklabels()} == {own if count == 1 else 8.25}


def test_a_figure_of_one_panel_is_drawn_on_the_axes_themselves():
    pytest.importorskip("matplotlib")
    from matplotlib.figure import Figure as Sheet

    figure = Figure("One", "One line.", [Panel((0, 2), (5, 0), 80)], [Line(0, "ink", [0, 1, 2], [1, np.nan, 4], label="_named")])
    ax = figure.on(Sheet().subplots())
    assert ax.get_title() == "One"
    assert str(ax.lines[0].get_ydata().tolist()) == "[1.0, nan, 4.0]"
    assert ax.get_ylim() == (0, 5)
    assert [words.get_text() for words in ax.get_legend().get_texts()] == [" _named"]


@pytest.mark.parametrize("ending", ["svg", "html", "png", "pdf"])
def test_a_file_is_the_same_each_time(tmp_path, ending):
    first, second = (everything().save(tmp_path / f"{name}.{ending}").read_bytes() for name in ("one", "two"))
    assert first == second
    assert len(first) > 5000


def test_another_ending_is_refused(tmp_path):
    with pytest.raises(UnsupportedError, match=r"\.svg") as caught:
        everything().save(tmp_path / "picture.jpeg")
    assert "picture.svg" in str(caught.value)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_names_are_harmless(name):
    figure = everything(name, name)
    for width in WIDTHS:
        for live in (False, True):
            svg = to_svg(figure, width, live)
            assert {element.tag.removeprefix(SVG) for element in ElementTree.fromstring(svg).iter()} <= TAGS
            assert "\u202e" not in svg
            assert "\x00" not in svg
            svg.encode("utf-8")
    page = html_page(name, {name: figure, "text": name, "links": {"links": {name: name}}})
    html = figure.html() + page.split("<script type")[0]
    assert not re.search(r"<script(?! type)|<img src=x|onerror=alert\(1\)>", html)
    repr(figure).encode("utf-8")


@pytest.mark.parametrize("name", HOSTILE)
def test_matplotlib_survives_hostile_names(name):
    pytest.importorskip("matplotlib")
    from matplotlib.figure import Figure as Sheet

    ax = everything(name, name).on(Sheet().subplots())
    ax.figure.savefig(io.BytesIO())


@pytest.mark.parametrize("width", WIDTHS)
def test_nothing_stands_outside_of_the_picture(width):
    figure = everything()
    layout = Layout(figure, width)
    for box in layout.boxes:
        assert box.left >= 8
        assert box.right <= width
        assert layout.top <= box.top
        assert box.bottom <= layout.bottom
    assert all(box.width > 0.2 * width for box, panel in zip(layout.boxes, figure.panels, strict=True) if not panel.within)
    for number, group in enumerate(panels_of(ElementTree.fromstring(figure.svg(width)))):
        box = layout.boxes[number]
        for rect in group.iter(SVG + "rect"):
            assert box.left - 0.1 <= float(rect.get("x")) <= box.right
            assert box.top - 0.1 <= float(rect.get("y"))
            assert float(rect.get("y")) + float(rect.get("height")) <= box.bottom + 0.1


@pytest.mark.parametrize("figure", [Figure("", ""), Figure("Empty", "Nothing.", [Panel((0, 0), (0, 0), 40)],
                                                           [Axis(0, "left", "bytes"), Axis(0, "bottom", "time")]),
                                    Figure("Odd", "x", [Panel((float("nan"), 1), (1, 1), 40, log_x=True)],
                                           [Rect(0, "dense", float("nan"), float("inf"), 0, 1, "odd"),
                                            Line(0, "ink", [1], [float("nan")])])])  # fmt: skip
def test_anything_is_drawn(figure):
    for width in WIDTHS:
        root = ElementTree.fromstring(figure.svg(width))
        assert not any("nan" in value for element in root.iter() for name, value in element.attrib.items() if name != "data-x")
    assert figure.html()


def test_what_a_notebook_keeps_has_the_finding_and_the_table():
    bundle = everything()._repr_mimebundle_()
    assert set(bundle) == {"text/plain", "text/html"}
    assert "99 %" in bundle["text/plain"]
    assert "4.08 ms" in bundle["text/plain"]
    assert "<td>4.08 ms</td>" in bundle["text/html"]
    assert len(re.findall(r'(?:src|srcset)="data:image/svg', bundle["text/html"])) == 2
    assert "<script" not in bundle["text/html"]


def test_an_image_is_small_and_shows_the_same_rectangles():
    figure = Figure("Many", "Many.", [Panel((0, 1000), (0, 8), 180)])
    for place in range(1900):
        kind, row = "sparse" if place % 3 else "dense", place % 8
        figure.add(Rect(0, kind, place / 2, place / 2 + 0.4, row + 0.1, row + 0.9, f"bar {place}"))
    assert len(figure.html()) < 150_000
    whole, image = (ElementTree.fromstring(to_svg(figure, titles=titles)) for titles in (True, False))
    boxes = [(rect.get("x"), rect.get("y")) for rect in next(iter(panels_of(whole))).iter(SVG + "rect")]
    paths = " ".join(path.get("d") for path in next(iter(panels_of(image))).iter(SVG + "path"))
    starts = re.findall(r"M([\d.]+),([\d.]+)", paths)
    assert len(starts) == len(boxes) == 1900
    np.testing.assert_allclose(np.array(sorted(starts), float).sum(axis=0), np.array(boxes, float).sum(axis=0), rtol=1e-3)


def test_labels_of_axes_are_round_and_have_units():
    assert ticks(0, 2.1e8, "time", 4) == [(0, "0"), (1e8, "100 ms"), (2e8, "200 ms")]
    assert ticks(1, 1000, "number", 4, logarithmic=True) == [(1.0, "1"), (10.0, "10"), (100.0, "100"), (1000.0, "1,000")]
    assert [words for _, words in ticks(1e6, 4.2e7, "time", 2)] == ["20 ms", "40 ms"]  # there is none of 50 ms
    assert [words for _, words in ticks(0, 1, "share", 2)] == ["0", "50 %", "100 %"]
    assert [words for _, words in ticks(0, 4e8, "bytes", 2)] == ["0", "200 MB", "400 MB"]


def test_a_page_holds_answers_that_were_computed_beforehand():
    calls: list[object] = []
    sections = [("Asking", asking(calls)), ("Played", played()), ("Words", "One.\n\nTwo."), ("", Table(("x",), [(1,)]))]
    page = html_page("Title", sections)
    assert page.count("<figure data-figure>") == 2
    assert "Drawn for sparse" in page
    assert '"bar 3":' in page
    assert "<p>One.</p>\n<p>Two.</p>" in page
    assert "http:" not in page.replace("http://www.w3.org/2000/svg", "")
    assert "https:" not in page


def test_figures_need_numpy_alone():
    program = ("import sys\nfrom sparsekit.figures.kit import Figure, Panel\n"
               "Figure('a', 'b', [Panel((0, 1), (0, 1), 20)]).html()\n"
               "loaded = {name.partition('.')[0] for name in sys.modules}\n"
               "print(sorted(loaded & {'matplotlib', 'anywidget', 'scipy', 'numba'}))")  # fmt: skip
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=300)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize(("package", "use"), [("matplotlib", lambda figure: figure.on(None)),
                                              ("anywidget", lambda figure: figure.live())])  # fmt: skip
def test_a_missing_package_is_named(monkeypatch, package, use):
    monkeypatch.setitem(sys.modules, package, None)
    monkeypatch.delitem(sys.modules, "sparsekit.figures.live", raising=False)
    with pytest.raises(MissingPackageError, match=package) as caught:
        use(everything())
    assert "sparsekit[lab]" in str(caught.value)


def test_an_area_is_drawn_where_it_has_a_height():
    area = Area(0, "sparse", range(6), [0, 1, 1, 1, 1], [2, 1, 1, 2, 2], "an area")
    figure = Figure("", "", [Panel((0, 5), (3, 0), 60)], [area])
    (path,) = [mark.get("d") for mark in ElementTree.fromstring(figure.svg()).iter(f"{SVG}path")]
    places = [tuple(map(float, place.split(","))) for place in path.replace("M", "L").replace("Z", "").split("L") if place]
    x, y = Layout(figure, 1000).x(0), Layout(figure, 1000).y(0)
    corners = [(0, 2), (1, 2), (1, 0), (0, 0), (3, 2), (5, 2), (5, 1), (3, 1)]
    assert places == [pytest.approx((x(a), y(b)), abs=0.06) for a, b in corners]


def test_panels_of_one_scale_are_aligned_and_others_take_the_room_that_they_have():
    figure = Figure("", "", [Panel((0, 9), (0, 1), 30), Panel((0, 9), (0, 1), 30), Panel((0, 5), (0, 1), 30)],
                    [Axis(0, "left", ticks=((0.5, "a label of many letters"),))])  # fmt: skip
    one, other, alone = Layout(figure, 1000).boxes
    assert one.left == other.left > alone.left


def test_the_narrow_form_is_for_what_is_narrower_than_its_bound():
    narrow = Figure("narrow form", "", [Panel((0.0, 1.0), (0.0, 1.0), 100.0)])
    figure = Figure("wide form", "", [Panel((0.0, 1.0), (0.0, 1.0), 100.0)], narrow=narrow, narrow_below=500.0)
    assert ["narrow form" in figure.svg(width) for width in (499, 500, 501)] == [True, False, False]


def test_matplotlib_draws_a_raster_where_its_marks_say():
    pytest.importorskip("matplotlib")
    from matplotlib.figure import Figure as Sheet

    shades = np.array([[0.0, 1.0], [0.25, 0.5]])
    figure = Figure("shades", "", [Panel((0.0, 10.0), (0.0, 4.0), 100.0)])
    figure.add(Raster(0, "sparse", 2.0, 8.0, 1.0, 3.0, shades))
    ax = figure.on(Sheet().subplots())
    image, = ax.images or ax.child_axes[0].images
    assert tuple(image.get_extent()) == (2.0, 8.0, 3.0, 1.0)
    np.testing.assert_allclose(image.get_array()[..., 3], shades)


@pytest.mark.parametrize(("mark", "error", "words"), [
    (Rect(1, "dense", 0, 1, 0, 1), ParameterError, "in panel 1, and the figure has 1 panel"),
    (Axis(-1, "left"), ParameterError, "in panel -1"),
    (Rect(0, "vermilion", 0, 1, 0, 1), UnknownNameError, "'vermilion'"),
    (Line(0, "red", [0, 1], [0, 1]), UnknownNameError, "'red'")])  # fmt: skip
def test_a_mark_that_cannot_be_drawn_is_named(mark, error, words):
    figure = Figure("Bytes", "", [Panel((0, 1), (0, 1), 50)])
    figure.add(mark)
    for draw in (figure.svg, figure.html):
        with pytest.raises(error, match=words) as caught:
            draw()
        assert caught.value.hint
