"""Collect ``sparsekit/datasets/books.tsv``: paragraphs of eight books in the public domain, labelled by author.

    python tests/datasets/collect_books.py --books FOLDER            compare with the file in the package
    python tests/datasets/collect_books.py --books FOLDER --write    write it

FOLDER has clones of the repositories of Standard Ebooks named below, as ``AUTHOR_TITLE``, ``AUTHOR_TITLE.git`` or
``standardebooks+AUTHOR_TITLE/repo``.  Each book is read at one commit, so that the bytes are always the same.  Paragraphs are
those of prose in the main part of the book, from its beginning, without markup.  Quotes, dashes and dots are as a keyboard has
them; letters with accents stay.  Paragraphs of more than 120 words are cut between sentences.  Left out are those of fewer than
20 words, and a few that a class would stumble over.
"""

import argparse
import hashlib
import re
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

FILE = Path(__file__).parents[2] / "sparsekit" / "datasets" / "books.tsv"
SHA256 = "1051caee5e7d63bb841ae5a88cf63bc7023bbffa1b61df71759e9a159937b740"

#: Label, repository, title and year of the book, commit.
BOOKS = (
    ("Austen", "jane-austen_pride-and-prejudice", "Jane Austen, Pride and Prejudice, 1813",
     "8ec1ca806088448201a95e277010ea160d3ebb48"),
    ("Brontë", "charlotte-bronte_jane-eyre", "Charlotte Brontë, Jane Eyre, 1847", "bbc672ec8b30581b4926c6926dbfbdb79ba21040"),
    ("Darwin", "charles-darwin_the-origin-of-species", "Charles Darwin, The Origin of Species, 6th edition, 1872",
     "7c13c26dbac394a5fbe31c21b0403a8688686ba3"),
    ("Doyle", "arthur-conan-doyle_the-adventures-of-sherlock-holmes",
     "Arthur Conan Doyle, The Adventures of Sherlock Holmes, 1892", "23b2b6e0aa1350aaccaac91e1d0fe3bb6ed4c81f"),
    ("Mill", "john-stuart-mill_on-liberty", "John Stuart Mill, On Liberty, 1859", "f9793ea4d5f540e28413cf49496da4fcbf54d822"),
    ("Shelley", "mary-shelley_frankenstein", "Mary Shelley, Frankenstein, 1831", "0e54fe85d3916535d8fa9dddebee03b107fa0888"),
    ("Thoreau", "henry-david-thoreau_walden", "Henry David Thoreau, Walden, 1854", "f000c2130735e4cff43fd147d47201c0199405d2"),
    ("Wells", "h-g-wells_the-war-of-the-worlds", "H. G. Wells, The War of the Worlds, 1898",
     "3008b9f6284d807d31f8513a0c4e952bb2a5ded0"),
)
#: Bytes of paragraphs of each book, and the fewest words of a paragraph and the most.
LIMIT, FEWEST, MOST = 235_000, 20, 120

HEAD = """\
# Paragraphs of eight books, labelled by author: author, tab, paragraph, in the order of each book, from its beginning.
# Paragraphs of more than 120 words are cut between sentences; those of fewer than 20 words are left out, and a few others.
# The first eight tenths of each book's paragraphs are for training, the ninth for validation and the tenth for testing.
# The authors died more than 75 years ago and the texts are in the public domain.  The editions are those of Standard Ebooks
# (https://standardebooks.org), dedicated to the public domain by CC0 1.0; github.com/standardebooks/REPOSITORY at COMMIT:
"""

_EPUB, _XHTML = "{http://www.idpf.org/2007/ops}type", "{http://www.w3.org/1999/xhtml}"
#: What has no paragraphs of prose, and what is no part of a paragraph.
_OTHER = {"blockquote", "table", "header", "hgroup", "footer", "figure", "aside", "math"}
_PLAIN = str.maketrans({"\u201c": '"', "\u201d": '"', "\u2018": "'", "\u2019": "'", "\u2014": "--", "\u2013": "-",
                        "\u2e3a": "--", "\u2e3b": "---", "\u2011": "-", "\u2010": "-", "\u2026": "...", "\u2060": "",
                        "\ufeff": "", "\u200a": " ", "\u00a0": " ", "\u202f": " ", "\u2009": " "})
#: Insults, and words in which a passage of its time would need a lesson of its own.
_LEFT_OUT = re.compile(r"n[i]gg|negro|savage|barbar|slave|\bjew|gips|gyps|hottentot|cannibal|mulatto|creole|suicid"
                       r"|\braped?\b|\brapist|chinese|mormon|tasmanian|inferior race|squaw|papoose|heathen"
                       r"|mahomet|hindo|opium|cocaine|concubin|prostitut|fornicat|lunatic|idiot|imbecil|\brace of (men|man)",
                       re.IGNORECASE)


#: Between two sentences; the dot of a title or an initial ends none.
_SENTENCE = re.compile(r"(?:(?<=[.!?])|(?<=[.!?][\"')]))(?<!\bMr\.)(?<!\bMrs\.)(?<!\bDr\.)(?<!\bSt\.)(?<!\bMessrs\.)(?<![A-Z]\.)"
                       r" (?=[\"'(]?[A-Z])")


def clone(folder, repository):
    """The git directory of a book."""
    for place in (f"standardebooks+{repository}/repo", f"{repository}/.git", f"{repository}.git"):
        if (folder / place).is_dir():
            return folder / place
    sys.exit(f"{folder} has no clone of github.com/standardebooks/{repository}.")


def show(directory, commit, path):
    """A file of the book."""
    command = ["git", f"--git-dir={directory}", "show", f"{commit}:src/epub/{path}"]
    return subprocess.run(command, check=True, capture_output=True).stdout


def name_of(element):
    return element.tag.removeprefix(_XHTML).rpartition("}")[2]


def prose(element):
    """The paragraphs below an element."""
    for inner in element:
        kind = inner.get(_EPUB, "")
        if name_of(inner) in _OTHER or "verse" in kind or "poem" in kind or "song" in kind:
            continue
        if name_of(inner) == "p":
            yield inner
        else:
            yield from prose(inner)


def text_of(element):
    """The text of a paragraph without references to notes."""
    pieces = [element.text or ""]
    for inner in element:
        if "noteref" not in inner.get(_EPUB, "") and name_of(inner) not in _OTHER:
            pieces.append(" " if name_of(inner) == "br" else text_of(inner))
        pieces.append(inner.tail or "")
    return "".join(pieces)


def paragraphs(directory, commit):
    """The paragraphs of a book's main part, in its order."""
    order = re.findall(r'<itemref idref="([^"]+)"', show(directory, commit, "content.opf").decode())
    for file in order:
        body = ElementTree.fromstring(show(directory, commit, f"text/{file}")).find(f"{_XHTML}body")
        if "bodymatter" in body.get(_EPUB, ""):
            for element in prose(body):
                yield " ".join(text_of(element).translate(_PLAIN).split())


def cut(text):
    """A paragraph in parts of whole sentences, which have as equal a number of words as these allow."""
    size = len(text.split())
    parts = -(-size // MOST)
    found = [[] for _ in range(parts)]
    before = 0
    for sentence in _SENTENCE.split(text):
        words = len(sentence.split())
        found[min((before + words // 2) * parts // size, parts - 1)].append(sentence)
        before += words
    return [" ".join(part) for part in found if part]


def kept(texts):
    """The first paragraphs that are long enough and within the limit of bytes."""
    left = LIMIT
    for text in (part for whole in texts for part in cut(whole)):
        if len(text.split()) >= FEWEST and not _LEFT_OUT.search(text):
            left -= len(text.encode())
            if left < 0:
                return
            yield text


def collect(folder):
    """The bytes of the file."""
    lines = [HEAD.rstrip("\n")]
    lines += [f"#   {label}: {about}; {repository} at {commit}" for label, repository, about, commit in BOOKS]
    for label, repository, _, commit in BOOKS:
        texts = list(kept(paragraphs(clone(folder, repository), commit)))
        print(f"{label:8} {len(texts):5} paragraphs {sum(len(text.encode()) for text in texts):8,} bytes")
        lines += [f"{label}\t{text}" for text in texts]
    return ("\n".join(lines) + "\n").encode()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--books", type=Path, required=True, metavar="FOLDER")
    parser.add_argument("--write", action="store_true")
    given = parser.parse_args()
    found = collect(given.books)
    digest = hashlib.sha256(found).hexdigest()
    print(f"{len(found):,} bytes, sha256 {digest}")
    if given.write:
        FILE.write_bytes(found)
    if digest != SHA256 or found != FILE.read_bytes():
        sys.exit(f"They are not the bytes of {FILE.name}, or SHA256 is another.")
