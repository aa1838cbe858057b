"""Read the examples in MXNet's docstrings from the text of its Python files, without importing them.

Four kinds of example are found in a docstring, and each becomes a list of statements that share their names:

- ``session``: lines that begin with ``>>>``;
- ``script``: Python in an indented block after ``::``, or in an Examples section;
- ``equations``: the operators' own notation, ``sum(x, axis=1) = [3, 7]`` (see ``equations.py``);
- ``facts``: single lines that state a shape or a storage type, ``dot(csr, default) = default``.

This file runs on every Python from 3.8 on, as MXNet's results are recorded by it, too.
"""

import ast
import hashlib
import re
import textwrap
import zipfile
from pathlib import Path

from . import equations


class Example:
    """The statements of one kind in one docstring."""

    def __init__(self, module, where, kind, statements):
        self.module, self.where, self.kind, self.statements = module, where, kind, statements
        self.front = "symbol" if where.split(".")[1] == "symbol" else "ndarray"
        self.key = hashlib.sha256("\n".join([self.front, kind, *statements]).encode()).hexdigest()[:12]


def files_of(place, modules):
    """Return pairs of a module's name and its text: of a wheel, or of a folder that holds ``mxnet``."""
    place = Path(place)
    if place.is_file():
        with zipfile.ZipFile(place) as wheel:
            texts = {name: wheel.read(name).decode() for name in wheel.namelist() if name.endswith(".py")}
    else:
        root = place if (place / "mxnet").is_dir() else place.parent
        texts = {path.relative_to(root).as_posix(): path.read_text(encoding="utf-8") for path in (root / "mxnet").rglob("*.py")}
    found = []
    for name, text in sorted(texts.items()):
        module = name[:-3].replace("/__init__", "").replace("/", ".")
        if any(re.fullmatch(pattern, module) for pattern in modules):
            found.append((module, text))
    return found


def docstrings(module, text):
    """Return pairs of a qualified name and its docstring."""
    def walk(node, name):
        doc = ast.get_docstring(node)
        if doc:
            yield name, doc
        for child in node.body:
            if isinstance(child, (ast.ClassDef, ast.FunctionDef)):
                yield from walk(child, f"{name}.{child.name}")
            elif isinstance(child, (ast.If, ast.Try, ast.With)):
                for one in ast.walk(child):
                    if isinstance(one, (ast.ClassDef, ast.FunctionDef)):
                        yield from walk(one, f"{name}.{one.name}")

    return list(walk(ast.parse(text), module))


def parses(source):
    try:
        ast.parse(source)
    except (SyntaxError, ValueError):
        return False
    return True


def printed(source):
    """Return a statement of Python 2 and old numpy as today's have it, for a machine without GPUs."""
    source = re.sub(r"^(\s*)print (?!=)(.*)$", r"\1print(\2)", source, flags=re.MULTILINE)
    source = re.sub(r"\bxrange\(", "range(", source)
    source = source.replace("np.NINF", "-np.inf").replace("np.bool)", "bool)")
    return re.sub(r"\bmx\.gpu\(", "mx.cpu(", source)


def session_statements(doc):
    """Return the statements after ``>>>``: a statement goes on with ``...``, or until it is complete."""
    statements, lines = [], doc.splitlines()
    position = 0
    while position < len(lines):
        match = re.match(r"\s*>>> ?(.*)", lines[position])
        position += 1
        if not match:
            continue
        parts = [match.group(1)]
        while position < len(lines):
            more = re.match(r"\s*\.\.\.(?: (.*)|(\w.*)|)$", lines[position])
            again = re.match(r"\s*>>> ?(.*)", lines[position])
            if more:
                parts.append(more.group(1) or more.group(2) or "")
            elif parses(printed("\n".join(parts))) or not lines[position].strip():
                break
            else:  # a line without dots, or with the first prompt again
                parts.append(again.group(1) if again else lines[position].strip())
            position += 1
        source = printed("\n".join(parts))
        if not parses(source):
            source = printed("\n".join(part.strip() for part in parts))
        if source.strip() and not all(part.strip().startswith("#") or not part.strip() for part in parts):
            statements.append(source)
    return statements


def blocks(doc):
    """Return the indented blocks after a line that ends in ``::``, and those of Examples sections."""
    lines, found, position = doc.splitlines(), [], 0
    while position < len(lines):
        line = lines[position]
        position += 1
        directive = re.match(r"\s*\.\. (?!code)", line)
        if not line.rstrip().endswith("::") or directive:
            continue
        margin, block = len(line) - len(line.lstrip()), []
        while position < len(lines):
            inner = lines[position]
            if inner.strip() and len(inner) - len(inner.lstrip()) < margin + (margin > 0 or not block):
                break
            if inner.strip() and not block and len(inner) - len(inner.lstrip()) <= margin and not inner.lstrip().startswith("-"):
                break
            if inner.strip() and block and len(inner) - len(inner.lstrip()) <= margin and not inner.lstrip().startswith("-"):
                break
            block.append(inner)
            position += 1
        if any(inner.strip() for inner in block):
            found.append((line, textwrap.dedent("\n".join(block))))
    return found


def section_code(doc):
    """Return the text of an Examples section that has no prompts."""
    found = re.search(r"^Examples?\n-+\n(.*?)(?=^\S[^\n]*\n-{3,}|\Z)", doc, re.MULTILINE | re.DOTALL)
    return found.group(1) if found and ">>>" not in found.group(1) and "::" not in found.group(1) else ""


def script_statements(source):
    source = printed(textwrap.dedent(source))
    if not parses(source):
        return []
    tree = ast.parse(source)
    if all(isinstance(node, ast.Expr) and isinstance(node.value, (ast.Name, ast.Constant)) for node in tree.body):
        return []
    lines = source.splitlines()
    starts = [min([node.lineno, *(one.lineno for one in getattr(node, "decorator_list", []))]) for node in tree.body]
    return ["\n".join(lines[start - 1:node.end_lineno]) for start, node in zip(starts, tree.body, strict=True)]


def examples_of(module, text, tensors):
    """Return the examples of a module."""
    generated = ".gen_" in module
    found = []
    for where, doc in docstrings(module, text):
        found.append(Example(module, where, "session", session_statements(doc)))
        literal = [block for _, block in blocks(doc) if ">>>" not in block]
        if generated:
            own = where.rsplit(".", 1)[-1]
            written = [one for block in literal for one in equations.statements(block, own, tensors)]
            found.append(Example(module, where, "equations", written))
            found.append(Example(module, where, "facts", equations.facts(own, doc)))
        else:
            scripts = [script_statements(block) for block in [*literal, section_code(doc)]]
            found.append(Example(module, where, "script", [one for script in scripts for one in script]))
    return [one for one in found if one.statements]


def collect(place, modules):
    """Return the examples of all modules whose names match a pattern; the same example is returned once, with its first name."""
    known, files, tensors = {}, files_of(place, modules), {}
    for module, text in files:
        if ".ndarray.gen_" in module:
            tensors.update(equations.tensor_names(text))
    for module, text in files:
        for one in examples_of(module, text, tensors):
            known.setdefault(one.key, one)
    return list(known.values())

