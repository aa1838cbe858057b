"""A capture gives what was there when it began, whatever steps change meanwhile, and keeps twice only what they change."""

from __future__ import annotations

import numpy as np
import pytest

from sparsekit.dist import snapshot


@pytest.mark.parametrize("seed", range(20))
def test_chunks_are_those_of_the_beginning(seed, monkeypatch):
    monkeypatch.setattr(snapshot, "CHUNK", 400)
    random = np.random.default_rng(seed)
    count = int(random.integers(1, 200))
    arrays = {"w": [random.normal(size=(count, 3)), random.normal(size=(count, 2)).astype("f")], 7: [random.normal(size=(5,))]}
    before = {key: [one.copy() for one in some] for key, some in arrays.items()}
    capture = snapshot.Capture(arrays, [np.arange(4)])
    rows, found, kept = {"w": count, 7: 5}, [], set()
    copied = dict.fromkeys(rows, 0)
    layouts = [(layout, first) for layout in capture.layouts for first in layout.firsts()]
    for (layout, first), chunk in zip(layouts, capture.chunks(), strict=True):
        found.append((layout.name, chunk))
        for key in arrays:
            if layout.name == repr(key):
                copied[key] = min(first + layout.per, rows[key])
        for key, some in arrays.items():
            changed = np.flatnonzero(random.random(rows[key]) < random.choice([0.0, 0.1, 1.0]))
            whole = len(changed) == rows[key] and random.random() < 0.5
            capture.before(key, None if whole else changed)
            kept |= {(key, row) for row in changed.tolist() if row >= copied[key]}
            for one in some:
                one[changed] += 1
    for key, some in before.items():
        for place, one in enumerate(some):
            pieces = [chunk[place] for name, chunk in found if name == repr(key)]
            assert np.concatenate(pieces).tobytes() == one.tobytes()
    size = {key: sum(one[:1].nbytes for one in some) for key, some in arrays.items()}
    assert capture.aside_bytes == sum(size[key] for key, _ in kept), "each row once, and only where it was not copied yet"
