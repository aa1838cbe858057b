"""The reference is complete, and Sphinx builds it without a warning and without a network."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from sparsekit.core.op import registry

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "sparsekit" / "docs"

pages = pytest.importorskip("sparsekit.docs.registry_pages", reason="no Sphinx: python -m pip install 'sparsekit[docs]'",
                            exc_type=ImportError)


def listed_modules():
    return [module for path in sorted((DOCS / "operators").glob("*.md"))
            for words in re.findall(r"^\.\. operators:: ([\w ]+)$", path.read_text(encoding="utf-8"), re.M)
            for module in words.split()]


def test_every_module_of_operators_is_on_one_page():
    assert sorted(listed_modules()) == sorted(pages.by_module())


def test_every_operator_has_one_entry():
    assert sum(map(len, pages.by_module().values())) == len({id(op) for op in registry.values()}) > 300


def test_an_entry_says_what_the_record_says():
    text = "\n".join(pages.reference(registry["dot"]))
    assert ".. py:function:: mx.nd.dot(lhs, rhs, transpose_a=False" in text
    for rule in registry["dot"].rules:
        assert f"``{', '.join(rule.inputs)}``" in text
    assert "``transpose_a=True, forward_stype='default'``" in text or "``transpose_a=True, forward_stype=default``" in text
    assert "**Gradient:** yes." in text
    assert "``mx.sym.dot``" in text


def test_operators_are_named_as_users_write_them():
    assert pages.public_names(registry["_linalg_gemm2"])[0] == "linalg.gemm2"
    assert pages.public_names(registry["_random_uniform"])[0] == "random.uniform"
    assert pages.public_names(registry["_getitem"]) == ["_internal._getitem"]


def test_an_operator_without_gradient_says_so():
    assert pages.gradient_of(registry["sgd_update"]).startswith("no")


@pytest.mark.thorough
@pytest.mark.slow
def test_sphinx_builds_every_page_without_a_warning(tmp_path):
    command = [sys.executable, "-m", "sphinx", "-W", "--keep-going", "-q", "-d", str(tmp_path / "trees"), str(DOCS),
               str(tmp_path / "site")]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=400)
    assert done.returncode == 0, done.stderr[-4000:]
    site = tmp_path / "site"
    text = {path.relative_to(site).as_posix(): path.read_text(encoding="utf-8") for path in site.rglob("*.html")}
    assert 'id="mx.nd.dot"' in text["operators/products.html"]
    unparsed = re.compile(r"<p>[^<]*\.\. (?:py:function|list-table|automodule)::")
    assert not [name for name, page in text.items() if unparsed.search(page)]
    assert re.search(r'<a[^>]*href="differences.html"', text["coming_from.html"])
    assert 'id="sparsekit.gluon.Trainer"' in text["api/gluon.html"]
    assert len(text) > 20
    for name, page in text.items():
        loaded = re.findall(r'<(?:script|img|link)[^>]*(?:src|href)="(https?:[^"]+)"', page)
        assert loaded == [], f"{name} loads from a network"
