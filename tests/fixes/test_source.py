"""Edits of a text, the code that they make, and the picture of what was tried."""

import ast

import pytest

from sparsekit.fixes.source import Edit, Source, edited, overlap, unified

TEXT = '''net = nn.Dense(
    8,  # units
    in_units=3,
)
value = (a + b).tostype("default") * 2  # ümlaut before: ü
empty = make()


@decorated
def step():
    return x
'''


def source():
    return Source("train.py", TEXT)


def call(name):
    return next(node for node in ast.walk(source().tree) if isinstance(node, ast.Call) and name in ast.unparse(node.func))


@pytest.mark.parametrize(("name", "new"), [
    ("Dense", 'in_units=3, weight_grad_stype="row_sparse"\n)'), ("make", 'make(weight_grad_stype="row_sparse")')])
def test_a_keyword_is_added_whatever_the_call_looks_like(name, new):
    text = source()
    after = edited(TEXT, [text.keyword(call(name), "weight_grad_stype", '"row_sparse"')])
    assert ast.dump(ast.parse(after)) != ast.dump(text.tree)
    assert new.replace(" ", "").replace("\n", "") in after.replace(" ", "").replace("\n", "").replace(",)", ")")


def test_a_keyword_that_is_there_gets_another_value():
    assert "in_units=5," in edited(TEXT, [source().keyword(call("Dense"), "in_units", "5")])


def test_what_a_dot_follows_keeps_its_parentheses_and_columns_are_bytes():
    text, node = source(), call("tostype")
    after = edited(TEXT, [text.replace(node, text.closed(node.func.value))])
    assert "value = (a + b) * 2  # ümlaut before: ü" in after


def test_edits_that_overlap_are_found_and_equal_ones_are_made_once():
    one, other = Edit("a", 0, 5, "x"), Edit("a", 3, 8, "y")
    assert overlap([one, other])
    assert not overlap([one, one, Edit("b", 3, 8, "y"), Edit("a", 5, 5, "z")])
    assert edited("0123456789", [one, one, Edit("a", 5, 5, "z")]) == "xz56789"


def test_a_diff_without_a_last_newline_says_so():
    assert "\\ No newline at end of file" in unified("a.py", "x = 1", "x = 2")
