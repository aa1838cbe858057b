"""Questions, what they look like without a kernel, and what is said when the answer is known."""

from __future__ import annotations

import pytest

import sparsekit as mx
from sparsekit.base.errors import SparsekitError, UnknownNameError
from sparsekit.course import record

QUESTION = "How many megabytes does `weight.grad` take?"
WRONG = {512: "you counted the dense gradient: 1,000,000 × 128 × 4 bytes"}


def entry(name):
    return record.read("other notebooks").get(name)


def test_without_a_guess_the_answer_is_folded_and_nothing_is_kept(kept):
    mx.predict("grad_mb", QUESTION, unit="MB")
    shown = mx.reveal("grad_mb", 0.065, wrong=WRONG, because="a row for each feature of the batch")
    assert shown.right is None
    html = shown._repr_mimebundle_()["text/html"]
    assert html.startswith("<details><summary>")
    for words in ("0.0650 MB", "A row for each feature of the batch.", "If you say 512 MB: You counted the dense gradient"):
        assert words in html
        assert words in shown.text
    assert not kept.exists()


def test_a_guess_is_kept_and_compared():
    question = mx.predict("grad_mb", QUESTION, unit="MB")
    assert question.answer("512 MB") == "Saved: 512 MB. Run the next cells to see the answer."
    assert entry("grad_mb") == {"kind": "predict", "said": "512 MB", "right": False}
    shown = mx.reveal("grad_mb", 0.065, wrong=WRONG)
    assert shown.right is False
    assert "You counted the dense gradient" in shown.text
    assert "<details>" not in shown.html
    assert question.state == "wrong"


def test_an_earlier_session_is_remembered():
    mx.predict("grad_mb", QUESTION, unit="MB", guess=0.06)
    again = mx.predict("grad_mb", QUESTION, unit="MB")
    assert (again.said, again.state) == ("0.06", "kept")
    assert mx.reveal("grad_mb", 0.065).right


def test_unclear_guesses_are_not_kept(kept):
    question = mx.predict("grad_mb", QUESTION, unit="MB")
    assert "not a number" in question.answer("a lot")
    assert question.state == "unclear"
    assert mx.reveal("grad_mb", 0.065).right is None
    assert not kept.exists()


def test_options():
    question = mx.predict("slow", "Which part is slowest?", options=["forward", "backward", "update"])
    assert "Choose one of: forward, backward, update." in question.answer("io")
    question.answer("Forward")
    assert mx.reveal("slow", "backward", wrong={"forward": "its input is sparse"}).text == (
        "You said “forward”, but the answer is “backward”. Its input is sparse.")
    html = question._repr_mimebundle_()["text/html"]
    assert "<details><summary>Possible answers</summary><ul><li>forward</li>" in html


HOSTILE = "<img src=x onerror=alert(1)> `<script>` \"'&\x00\ud800"


def test_nothing_a_user_wrote_is_read_as_html():
    hostile = HOSTILE
    question = mx.predict("n", hostile, unit=hostile, options=[hostile, "b"])
    question.answer(hostile)
    shown = mx.reveal("n", "b", wrong={question.options[0]: hostile}, because=hostile)
    for html in (question._repr_mimebundle_()["text/html"], shown.html, mx.reveal("never asked", 3, because=hostile).html):
        assert "<img" not in html
        assert "<script" not in html
        html.encode()


def test_the_author_is_told_of_mistakes():
    mx.predict("slow", options=["a", "b"])
    with pytest.raises(UnknownNameError, match="'c'"):
        mx.reveal("slow", "c")
    mx.predict("grad_mb")
    for value in (None, [1], float("nan"), "many"):
        with pytest.raises(SparsekitError, match="number"):
            mx.reveal("grad_mb", value)


def test_the_form_speaks_to_the_question(monkeypatch):
    pytest.importorskip("anywidget")
    from sparsekit.course.live import QuestionWidget

    question = mx.predict("grad_mb", QUESTION, unit="MB")
    form = question._live = QuestionWidget(question)
    form.sent = [1, "512"]
    assert (form.said, form.state) == ("512", "kept")
    mx.reveal("grad_mb", 0.065, wrong=WRONG)
    assert form.state == "wrong"
    assert "dense gradient" in form.status
    form.sent = [2, "65 kB"]
    assert form.state == "right"
    messages = []
    monkeypatch.setattr(form, "_send", lambda message, buffers=None: messages.append(message.get("state", {})))
    form.sent = [3, "a lot"]
    told = [sorted(state) for state in messages if "status" in state or "state" in state or "said" in state]
    assert told == [["said", "state", "status"]]  # a state that arrives alone would be shown without its words
    for sent in ([3, {}], [4, None], ["x", 5], [7, "9" * 10_000]):
        form.sent = sent
        assert form.state in ("unclear", "wrong")
