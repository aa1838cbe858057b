"""Every link of the READMEs, the documentation and the notebooks leads somewhere."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

ROOT = Path(__file__).resolve().parents[1]

#: ``[text](target)``, ``![text](target)``, ``src="target"`` and ``href="target"``; a title may follow the target.
LINK = re.compile(r"\]\(\s*<?([^)\s>]+)>?(?:\s+\"[^\"]*\")?\s*\)|\b(?:src|href)=\"([^\"]+)\"")
CODE = re.compile(r"^(```|~~~).*?^\1\s*$|`[^`\n]*`", re.M | re.S)
HEADING = re.compile(r"^#{1,6}\s+(.+?)\s*#*\s*$|<h\d[^>]*>(.*?)</h\d>", re.M)
HOST = re.compile(r"(?:[a-z0-9](?:[a-z0-9-]*[a-z0-9])?\.)+[a-z]{2,}", re.I)


def documents() -> list[Path]:
    found = [*ROOT.glob("*.md"), *(ROOT / "sparsekit").rglob("*.md"), *(ROOT / "notebooks").rglob("*.ipynb"),
             *(ROOT / "profiles").rglob("*.md"), *(ROOT / "tests").glob("*.md")]
    return sorted(path for path in found if ".ipynb_checkpoints" not in path.parts)


@cache
def prose(path: Path) -> str:
    """The Markdown of a document, without its code."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".ipynb":
        text = "\n\n".join("".join(cell["source"]) for cell in json.loads(text)["cells"] if cell["cell_type"] == "markdown")
    return CODE.sub(" ", text)


def links(path: Path) -> Iterator[str]:
    for pair in LINK.findall(prose(path)):
        yield next(filter(None, pair))


def slug(heading: str, notebook: bool = False) -> str:
    """A heading's anchor: JupyterLab's keeps capitals and signs, GitHub's does not."""
    text = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading).replace("*", "")
    if notebook:
        return text.replace(" ", "-")
    return re.sub(r"[^\w\- ]", "", text.lower()).replace(" ", "-")


@cache
def anchors(path: Path) -> frozenset[str]:
    text = re.sub(r"^(```|~~~).*?^\1\s*$", "", path.read_text(encoding="utf-8"), flags=re.M | re.S)
    if path.suffix == ".ipynb":
        cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
        text = "\n\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown")
    found = [next(filter(None, pair)).replace("`", "") for pair in HEADING.findall(text)]
    return frozenset(slug(heading, notebook) for heading in found for notebook in (False, path.suffix == ".ipynb"))


def attached(path: Path) -> set[str]:
    """Names of what is attached to the cells of a notebook."""
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"] if path.suffix == ".ipynb" else ()
    return {name for cell in cells for name in cell.get("attachments", ())}


def wrong(path: Path, link: str) -> str:
    """What is wrong with a link of a document; nothing if it is right."""
    parts = urlsplit(link)
    if parts.scheme == "attachment":
        return "" if parts.path in attached(path) else "nothing of this name is attached"
    if parts.scheme == "mailto":
        return "" if re.fullmatch(r"[^@\s]+@" + HOST.pattern, parts.path, re.I) else "no address"
    if parts.scheme or parts.netloc:
        if parts.scheme not in ("https", "data"):
            return f"not https: {parts.scheme}"
        return "" if parts.scheme == "data" or HOST.fullmatch(parts.hostname or "") else "no host"
    target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
    if not target.exists():
        return "there is no such file"
    if not target.is_relative_to(ROOT):
        return "outside the project"
    if parts.fragment and target.suffix in (".md", ".ipynb") and unquote(parts.fragment) not in anchors(target):
        return "there is no such heading"
    return ""


def named(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


@pytest.mark.parametrize("path", documents(), ids=named)
def test_links_lead_somewhere(path):
    found = {link: why for link in links(path) if (why := wrong(path, link))}
    assert found == {}


#: Documents that say where things are, by names of files in code.
MAPS = ("CONTRIBUTING.md", "sparsekit/README.md", "sparsekit/DESIGN.md", "sparsekit/core/README.md", "sparsekit/dist/README.md",
        "sparsekit/kernels/README.md", "sparsekit/profiler/README.md", "tests/README.md")
NAMED = re.compile(r"(?<![\w./-])(?:[\w./*-]+\.(?:py|js|cu|md|ipynb|txt|json|cfg)\b|(?:[\w.*-]+/)+[\w*-]*)")
#: Names of what commands make.
MADE = {"profiles/gpu.json", "browser/artefacts", "tests/browser/artefacts"}


@cache
def places() -> frozenset[str]:
    """Every file and folder, and every end of its path."""
    found: set[str] = set()
    for folder, names, files in os.walk(ROOT):
        names[:] = [name for name in names if not name.startswith(".") and name != "__pycache__"]
        for name in (*names, *files):
            parts = Path(folder, name).relative_to(ROOT).parts
            found.update("/".join(parts[start:]) for start in range(len(parts)))
    return frozenset(found)


def absent(text: str) -> set[str]:
    """Names of files in a document's code that are not files; a name in capitals stands for many."""
    code = " ".join(part.group() for part in re.finditer(r"^```.*?^```$|`[^`\n]*`", text, re.M | re.S))
    names = {name.strip("/") for name in NAMED.findall(re.sub(r"https?://\S+", "", code))}
    return {name for name in names - MADE if not re.search(r"^[.]|[*]|\b[A-Z]{4}", name) and name not in places()}


@pytest.mark.parametrize("document", MAPS)
def test_files_that_are_named_are_there(document):
    assert absent((ROOT / document).read_text(encoding="utf-8")) == set()


def test_a_file_that_is_gone_is_found():
    text = "`core/op.py` and `tests/README.md`, `ops/`, `NAME.py`, `kernels/cpu/gone.py`\n```bash\npython tests/gone.py\n```\n"
    assert absent(text) == {"kernels/cpu/gone.py", "tests/gone.py"}


@pytest.mark.parametrize(
    ("link", "why"),
    [("README.md#try-it", ""), ("README.md#nowhere", "there is no such heading"), ("absent.md", "there is no such file"),
     ("https://example.org/a#b", ""), ("http://example.org", "not https: http"), ("https://nothing", "no host"),
     ("mailto:ann@example.org", ""), ("mailto:ann", "no address"), ("attachment:a.svg", "nothing of this name is attached")],
)
def test_the_rule_itself(link, why):
    assert wrong(ROOT / "README.md", link) == why


def test_links_are_found():
    text = "[a](b.md) ![a](c.svg \"title\") `[a](d.md)` <img alt=\"x\" src=\"e.png\"> x[0](y)\n```\n[a](f.md)\n```\n"
    assert [next(filter(None, pair)) for pair in LINK.findall(CODE.sub(" ", text))] == ["b.md", "c.svg", "e.png", "y"]
    assert sum(len(list(links(path))) for path in documents()) > 30
