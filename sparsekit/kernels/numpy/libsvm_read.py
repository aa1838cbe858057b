"""LibSVM text to buffers, all lines of a block at a time; ``kernels/cpu/libsvm_read.py`` describes text and buffers.

A line with a mistake is given to the functions there, which say where the mistake is.
"""

from __future__ import annotations

import re
from typing import NamedTuple

import numpy as np

from ..cpu import libsvm_read as reference
from .arrays import first_of_each, numbered, ranges

NEWLINE, COMMENT, COMMA, POINT, COLON = (ord(character) for character in "\n#,.:")

#: Which bytes are blanks, and end a label or a feature.
_BLANK = np.zeros(256, np.bool_)
_BLANK[[9, 10, 11, 12, 13, 32]] = True

#: The most digits of an index, and of a number that is computed here.
_MOST_DIGITS = 18
_POWERS = 10 ** numbered(_MOST_DIGITS + 1)

_NUMBER = re.compile(rb"[+-]?(?:(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?|nan|inf|infinity)", re.IGNORECASE)

#: What lies between two neighbouring float32: these bits of a float64.  Half way between them rounding twice may go wrong.
_BETWEEN, _HALF_WAY = 0x1FFFFFFF, 0x10000000


class _Spans(NamedTuple):
    """Where words begin and end, (n,) each."""

    starts: np.ndarray
    ends: np.ndarray

    def of(self, chosen):
        """Some of the words."""
        return _Spans(self.starts[chosen], self.ends[chosen])


class _Numbers(NamedTuple):
    """Bits of numbers, which of them are numbers, and the places of those that are left to the caller."""

    bits: np.ndarray
    valid: np.ndarray
    hard: list[int]


def last_newline(text, start, stop):
    """Place just after the last newline of ``text[start:stop]``, or ``start``."""
    return start + text[start:stop].tobytes().rfind(b"\n") + 1


def count_lines(text, start, stop):
    """Number of newlines in ``text[start:stop]``."""
    return int(np.count_nonzero(text[start:stop] == NEWLINE))


def _without_comments(part):
    """The text with blanks in the place of comments."""
    begin = np.flatnonzero(part == COMMENT)
    if begin.shape[0]:
        ends = np.flatnonzero(part == NEWLINE)
        part = part.copy()
        part[ranges(begin, ends[np.searchsorted(ends, begin)] - begin)] = ord(" ")
    return part


def _words(part):
    blank = _BLANK[part]
    before = np.ones(part.shape[0], np.bool_)
    before[1:] = blank[:-1]
    return _Spans(np.flatnonzero(before & ~blank), np.flatnonzero(blank & ~before))


def _next(part, byte, spans):
    """The first place of a byte in each word; where the word ends if it has none."""
    places = np.append(np.flatnonzero(part == byte), part.shape[0])
    return np.minimum(places[np.searchsorted(places, spans.starts)], spans.ends)


def _whole(part, spans):
    """The whole numbers that words spell, and whether each is one of 1 to 18 digits."""
    lengths = spans.ends - spans.starts
    values, valid = np.zeros(lengths.shape[0], np.int64), (lengths > 0) & (lengths <= _MOST_DIGITS)
    for back in range(int(lengths[valid].max(initial=0))):
        here = np.flatnonzero(valid & (lengths > back))
        digits = part[spans.ends[here] - 1 - back] - np.uint8(48)
        valid[here] = digits <= 9
        values[here] += digits * _POWERS[back]
    return values, valid


def _decimals(part, spans):
    """The float64 values of words that have a sign, a point and 18 digits at most, and for which words they are sure."""
    lead = part[spans.starts]
    starts = spans.starts + ((lead == ord("-")) | (lead == ord("+")))
    points = _next(part, POINT, spans)
    after = np.maximum(spans.ends - 1 - points, 0)
    count = spans.ends - starts - (points < spans.ends)
    values, sure = np.zeros(count.shape[0], np.int64), (count > 0) & (count <= _MOST_DIGITS)
    for back in range(int(count[sure].max(initial=0))):
        here = np.flatnonzero(sure & (count > back))
        places = spans.ends[here] - 1 - back
        digits = part[places - (places <= points[here]) * (points[here] < spans.ends[here])] - np.uint8(48)
        sure[here] = digits <= 9
        values[here] += digits * _POWERS[back]
    sure &= values < 1 << 53
    magnitudes = values / _POWERS[np.minimum(after, _MOST_DIGITS)]
    return np.where(lead == ord("-"), -magnitudes, magnitudes), sure


def _rounds_once(values):
    """Which float64 values become the float32 that is nearest to the decimal number they come from."""
    size = np.abs(values)
    once = (values.view(np.int64) & _BETWEEN != _HALF_WAY) & (size > 1e-37) & (size < 1e38)
    return once | (values == 0) | ~np.isfinite(values)


def _buffers(room):
    """Buffers for a short text."""
    return [np.empty(room, kind) for kind in ("u8", "i8", "i8", "i8", "u8", "i8")] + [np.empty((room, 4), np.int64)]


def _single(word, powers):
    """Bits of the float32 nearest to a number, and whether that is left to the caller."""
    text = b"%b\n" % word
    labels, *others = _buffers(2)
    _, _, _, hards, *_ = reference.parse_rows(
        np.frombuffer(text + bytes(reference.SLACK), np.uint8).copy(), 0, len(text), 0, 1, False, False, powers, 23,
        labels, *others)
    return labels[0], hards


def _numbers(part, spans, powers, mantissa_bits):
    """The numbers that words spell, as bits of the float nearest to each."""
    values, sure = _decimals(part, spans) if spans.starts.shape[0] else (np.zeros(0), np.zeros(0, np.bool_))
    valid = sure.copy()
    hard: list[int] = []
    for place in np.flatnonzero(~sure).tolist():
        word = part[spans.starts[place]:spans.ends[place]].tobytes()
        if _NUMBER.fullmatch(word):
            values[place], valid[place] = float(word), True
    if mantissa_bits == 52:
        return _Numbers(values.view(np.uint64), valid, hard)
    with np.errstate(over="ignore"):
        bits = values.astype(np.float32).view(np.uint32).astype(np.uint64)
    for place in np.flatnonzero(valid & ~_rounds_once(values)).tolist():
        bits[place], left = _single(part[spans.starts[place]:spans.ends[place]].tobytes(), powers)
        if left:
            hard.append(place)
    return _Numbers(bits, valid, hard)


def _label_words(part, words, first, colons, several):
    """Which words are labels, and the numbers in these: more than one where commas separate them."""
    labels = first & ((colons == words.ends) if several else True)
    spans = words.of(labels)
    if several:
        commas = np.flatnonzero(part == COMMA)
        owner = np.searchsorted(spans.starts, commas, "right") - 1
        commas = commas[(owner >= 0) & (commas < np.append(spans.ends, 0)[owner])]
        spans = _Spans(np.sort(np.append(spans.starts, commas + 1)), np.sort(np.append(spans.ends, commas)))
    return labels, spans


def _is_query(part, words):
    matches = words.ends - words.starts >= 4
    for offset, byte in enumerate(b"qid:"):
        matches[matches] = part[words.starts[matches] + offset] == byte
    return matches


def parse_rows(text, start, stop, base, width, several, need_query, powers, mantissa_bits,
               labels, label_indptr, indptr, indices, bits, queries, hard):
    """Parse the lines of ``text[start:stop]`` into the buffers, up to the first mistake."""
    buffers = labels, label_indptr, indptr, indices, bits, queries, hard
    settings = base, width, several, need_query, powers, mantissa_bits
    if stop <= start or stop + reference.SLACK > text.shape[0] or text[stop - 1] != NEWLINE:
        return reference.parse_rows(text, start, stop, *settings, *buffers)
    part = _without_comments(text[start:stop])
    words, newlines = _words(part), np.flatnonzero(part == NEWLINE)
    lines = np.searchsorted(newlines, words.starts)
    first = first_of_each(lines)
    row, lines, count = np.cumsum(first) - 1, lines[first], int(np.count_nonzero(first))
    colons = _next(part, COLON, words)
    is_label, label_words = _label_words(part, words, first, colons, several)
    is_query = _is_query(part, words) & ~is_label
    is_feature = ~is_label & ~is_query

    label_row = row[np.searchsorted(words.starts, label_words.starts, "right") - 1]
    label_numbers = _numbers(part, label_words, powers, mantissa_bits)
    feature_row, names = row[is_feature], _Spans(words.starts, colons).of(is_feature)
    columns, correct = _whole(part, names)
    columns -= base
    values = _Spans(np.minimum(colons + 1, words.ends), words.ends).of(is_feature)
    numbers = _numbers(part, values, powers, mantissa_bits)
    same_row, step = feature_row[1:] == feature_row[:-1], np.diff(columns)
    correct &= (names.ends < values.ends) & numbers.valid & (columns >= 0) & (columns < width)
    correct[1:] &= ~same_row | (step != 0)
    query_row = row[is_query]
    numbered, well = _whole(part, _Spans(words.starts + 4, words.ends).of(is_query))

    bad = np.zeros(count, np.bool_)
    bad[label_row[~label_numbers.valid]] = bad[feature_row[~correct]] = bad[query_row[~well]] = True
    asked = np.bincount(query_row, minlength=count)
    bad |= asked > 1
    if need_query:
        bad |= asked == 0

    labelled, stored = label_row.shape[0], columns.shape[0]
    labels[:labelled], indices[:stored], bits[:stored] = label_numbers.bits, columns, numbers.bits
    queries[:count] = -1
    queries[query_row] = numbered
    for ends, rows in ((label_indptr, label_row), (indptr, feature_row)):
        ends[0] = 0
        np.cumsum(np.bincount(rows, minlength=count), out=ends[1:count + 1])
    hards = 0
    for which, spans, parsed in ((0, label_words, label_numbers), (1, values, numbers)):
        for place in parsed.hard:
            hard[hards] = which, place, start + spans.starts[place], start + spans.ends[place]
            hards += 1
    code, offset = reference.FINISHED, stop
    if bad.any():
        count = int(bad.argmax())
        labelled, stored = int(label_indptr[count]), int(indptr[count])
        line = lines[count]
        begin, end = start + (newlines[line - 1] + 1 if line else 0), start + newlines[line] + 1
        *_, code, offset = reference.parse_rows(text, begin, end, *settings, *_buffers(end - begin + 2))
    return (count, stored, labelled, hards, bool((same_row & (step < 0)).any()), int(columns.min(initial=np.iinfo(np.int64).max)),
            int(columns.max(initial=-1)), code, offset)
