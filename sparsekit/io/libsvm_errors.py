"""Error messages for malformed LibSVM text."""

from __future__ import annotations

import re

from ..base.errors import LibSVMError
from ..kernels.cpu import libsvm_read as kernels

_TOKEN = re.compile(rb"[^\s#]*")
_FORM = "a line must be 'label index:value index:value …'."


def _quoted(token: bytes) -> str:
    text = token.decode("utf-8", "backslashreplace")
    return repr(text if len(text) <= 40 else text[:37] + "...")


def malformed(name: str, line: int, column: int, problem: str, hint: str) -> LibSVMError:
    """The error for malformed text at a 1-based line and byte column of a source."""
    return LibSVMError(f"{name}, line {line}, column {column}: {problem}", hint=hint)


def _label(token: bytes) -> tuple[str, str]:
    if b"\x00" in token:
        return f"label {_quoted(token)} is not a number.", "check that the file is a text file."
    if b":" in token:
        return (f"the line has no label; it begins with {_quoted(token)}.",
                f"{_FORM} multilabel=True reads lines without labels.")
    if re.fullmatch(rb"[^,]+(,[^,]+)+", token):
        return f"{_quoted(token)} is a list of labels.", "multilabel=True reads lists of labels."
    if token[:1] in (b"", b","):
        return "a label is missing.", "separate labels by single commas, such as 1,3,7."
    return f"label {_quoted(token)} is not a number.", _FORM


def _feature(token: bytes) -> tuple[str, str]:
    index, colon, value = token.partition(b":")
    if not colon:
        return f"feature {_quoted(token)} has no colon.", "a feature must be index:value, such as 7:0.5."
    if index == b"qid":
        return "the line has more than one qid.", "write one qid in each line."
    if not index:
        return f"feature {_quoted(token)} has no index.", "a feature must be index:value, such as 7:0.5."
    if re.fullmatch(rb"-\d+", index):
        return f"index {index.decode()} is negative.", "indices count from 0, or from 1 with zero_based=False."
    if re.fullmatch(rb"\d{19,}", index):
        return f"index {_quoted(index)} is too large.", "an index must have at most 18 digits."
    if not re.fullmatch(rb"\d+", index):
        return f"index {_quoted(index)} is not an integer.", "hash or number the features first."
    if not value:
        return f"feature {_quoted(token)} has no value.", "a feature must be index:value, such as 7:0.5."
    return f"value {_quoted(value)} is not a number.", "a value must be a decimal number, nan or inf."


def explain(code: int, line: bytes, column: int, base: int, width: int) -> tuple[str, str]:
    """The message and the hint for an error of the parser.

    Parameters
    ----------
    code : int
        Error code of ``kernels.parse_rows``.
    line : bytes
        The whole line.
    column : int
        0-based position of the token in the line.
    base, width : int
        First valid index, and the number of valid indices.
    """
    match = _TOKEN.match(line, column)
    token = match.group() if match else b""
    index = token.partition(b":")[0].lstrip(b"0").decode("ascii", "replace") or "0"
    if code == kernels.BAD_LABEL:
        return _label(token)
    if code == kernels.BAD_QUERY:
        return f"{_quoted(token)} is not a query id.", "a query id must be qid:N with an integer N of at most 18 digits."
    if code == kernels.NO_QUERY:
        return "the line has no qid.", "add a qid to every line, or read with query_id=False."
    if code == kernels.REPEATED:
        return f"index {index} occurs twice in the line.", "sum or drop the repeated values."
    if code == kernels.BELOW_BASE:
        return f"index {index} is below 1, the first index with zero_based=False.", "zero_based=True reads indices from 0."
    if code == kernels.TOO_WIDE:
        extra = " (or zero_based=False, if indices count from 1)" if base == 0 and int(index) == width else ""
        return (f"index {index} is outside the {width} declared features.",
                f"valid indices are {base} to {width - 1 + base}; declare {int(index) + 1 - base} features{extra}.")
    return _feature(token)
