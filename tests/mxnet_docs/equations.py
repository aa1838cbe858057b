"""Turn the notation of MXNet's operator documentation into Python statements.

``x = [[1, 2], [3, 4]]`` becomes ``x = array([[1, 2], [3, 4]])``; ``sum(x, axis=1) = [3, 7]`` becomes ``sum(x, axis=1)``. The
values on the right are not kept: what counts is what MXNet 1.9.1 computes, which is recorded.
"""

import ast
import re

_OPENING, _CLOSING = "([{", ")]}"
_NAME = r"[A-Za-z_]\w*"

#: Numbers for the bounds that stand in rules on storage types.
_BOUNDS = {("a_min", "<="): -0.5, ("a_max", ">="): 0.5, ("a_min", "<"): -0.5, ("a_max", "<"): -0.2, ("a_min", ">"): 0.2,
           ("a_max", ">"): 0.5}


def tensor_names(text):
    """Return for each generated function the names of its array arguments, in order, or None for ``*data``."""
    found = {}
    for node in ast.parse(text).body:
        if isinstance(node, ast.FunctionDef):
            names = [argument.arg for argument in node.args.args]
            defaults = [None] * (len(names) - len(node.args.defaults)) + list(node.args.defaults)
            arrays = [name for name, default in zip(names, defaults, strict=True)
                      if isinstance(default, ast.Constant) and default.value is None and name not in ("out", "name")]
            found[node.name] = (names, arrays) if node.args.vararg is None else None
    return found


def _without_comments(block):
    lines = [re.sub(r"(//|#).*$", "", line).rstrip().rstrip("\\") for line in block.splitlines()]
    return [line for line in lines if line.strip()]


def _depth(text):
    return sum((character in _OPENING) - (character in _CLOSING) for character in text)


def _logical(block):
    """Yield the statements of a block, each as one text."""
    held, depth = [], 0
    for line in _without_comments(block):
        starts = re.match(rf"\s*{_NAME}(\.{_NAME})*(\[[^\]]*\])*\s*(\(|=|$|\.)", line)
        if depth <= 0 and (starts or not line.lstrip().startswith(("[", "="))):
            yield " ".join(held)
            held, depth = [], 0
            if not starts:
                continue
        held.append(line.strip())
        depth = max(depth + _depth(line), 0)
    yield " ".join(held)


def _sides(statement):
    depth = 0
    for position, character in enumerate(statement):
        depth += (character in _OPENING) - (character in _CLOSING)
        alone = statement[position + 1:position + 2] != "=" and statement[position - 1] not in "=<>!"
        if character == "=" and depth <= 0 and alone:
            return statement[:position].strip(), statement[position + 1:].strip()
    return statement.strip(), ""


def _literal(text):
    """Return a printed array as Python's list, or None."""
    text = re.sub(r"(?<=[\d.\]])\s*,?\s+(?=[-\d.\[])", ", ", text.strip().rstrip(","))
    text = re.sub(r"\]\s*\[", "], [", text)
    while _depth(text) < 0 and text.endswith("]"):
        text = text[:-1]
    text = text.rstrip(")") if _depth(text) < 0 else text
    try:
        value = ast.literal_eval(text)
    except (SyntaxError, ValueError):
        return None
    return text if isinstance(value, (list, tuple, int, float, str)) else None


class _Arrays(ast.NodeTransformer):
    """Lists in the place of arrays become arrays."""

    def __init__(self, own, tensors):
        self.own, self.tensors = own, tensors

    def visit_Call(self, node):
        self.generic_visit(node)
        named = node.func.id if isinstance(node.func, ast.Name) else ""
        if self.own == f"{named}_like" and any(keyword.arg == "data" for keyword in node.keywords):
            named = node.func.id = self.own
        if named == "ones":
            node.args = node.args if len(node.args) == 1 else [ast.Tuple(node.args, ast.Load())]
        if named not in self.tensors and named and named in self.own:
            named = self.own  # the documentation shortens names of operators
        if named in self.tensors:
            known = self.tensors[named]
            node.args = [self.array(argument) if known is None or known[0][index:index + 1] in [[name] for name in known[1]]
                         else argument for index, argument in enumerate(node.args)]
            for keyword in node.keywords:
                if known is not None and keyword.arg in known[1]:
                    keyword.value = self.array(keyword.value)
        return node

    def visit_Name(self, node):
        meant = {"true": True, "false": False}
        return ast.copy_location(ast.Constant(meant[node.id]), node) if node.id in meant else node

    @staticmethod
    def array(node):
        if not isinstance(node, ast.List):
            return node
        return ast.copy_location(ast.Call(ast.Name("array", ast.Load()), [node], []), node)


def _python(text, own, tensors):
    try:
        tree = ast.parse(text)
    except SyntaxError:
        return None
    return ast.unparse(ast.fix_missing_locations(_Arrays(own, tensors).visit(tree)))


def statements(block, own, tensors):
    """Return the statements of a block of the operator ``own`` as Python; ``tensors`` is what ``tensor_names`` gives."""
    found, computed = [], set()
    for logical in _logical(block):
        left, right = _sides(logical)
        named = re.fullmatch(_NAME, left)
        value = _literal(right) if right else None
        if named and value is not None and left not in computed:
            source = f"{left} = array({value})" if value.startswith("[") else f"{left} = {value}"
        elif named and value is None and "(" in right:
            source = _python(f"{left} = {right}", own, tensors)
            computed.add(left)
        elif left and (not named or left in computed) and ("(" in left or "." in left or left in computed):
            source = _python(left, own, tensors)
        else:
            continue
        if source:
            found.append(source)
    return found if any("(" in one.replace("array(", "") or "." in one for one in found) else []


def _operand(text):
    text = text.strip()
    if text in ("default", "dense", "csr", "row_sparse"):
        return f"stored({text.replace('dense', 'default')!r})"
    if text in ("dense(1D)", "default(1D)"):
        return "stored('row')"
    if text == "scalar":
        return "2.0"
    bound = re.fullmatch(r"(\w+) *([<>]=?) *0", text)
    if bound:
        return f"{bound.group(1)}={_BOUNDS[bound.groups()]}"
    return text if re.fullmatch(r"'\w+'|\w+ *= *[\w.']+", text) else None


def facts(name, doc):
    """Return the statements of the lines that state a storage type or a shape."""
    found = []
    for match in re.finditer(r"^\s*-?\s*([\w/.]+)\((.*)\) *= *(?:default|dense|csr|row_sparse)\s*$", doc, re.MULTILINE):
        written = [part for part in match.group(2).split(",") if part.strip().strip(".")]
        operands = [_operand(part) for part in written]
        stem, *others = match.group(1).split("/")
        names = [stem, *(stem.rsplit("_", 1)[0] + "_" + other for other in others)]
        if all(operands):
            found += [f"{one}({', '.join(operands)})" for one in names]
    for match in re.finditer(r"input shape = (\([\d, ]+\)), shape *= *(\([-\d, ]+\))", doc):
        found.append(f"{name}(ones({match.group(1)}), shape={match.group(2)})")
    for match in re.finditer(r"lhs shape = (\([\d, ]+\)), rhs shape = (\([\d, ]+\)),(.*), output shape", doc):
        found.append(f"{name}(ones({match.group(1)}), ones({match.group(2)}),{match.group(3)})")
    return found
