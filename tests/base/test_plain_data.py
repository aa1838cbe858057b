"""States as JSON and arrays: all values come back as they were, and what is damaged or foreign is refused by name."""

import json
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sparsekit as mx
from sparsekit.base import rng
from sparsekit.base.plain_data import decoded, encoded
from sparsekit.ndarray import state_files
from tests.calls import refused


class Pair(NamedTuple):
    one: object
    other: object


class Sums:
    def __init__(self):
        self.total, self.parts = 0.5, [1, np.arange(2)]


def through_json(value, kinds=None):
    arrays = []
    text = json.dumps(encoded(value, arrays, "A value", kinds or {}))
    about, found = state_files.unpack(state_files.pack(json.loads(text), arrays))
    return decoded(about, found, kinds or {})


plain = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text() | st.binary(max_size=20),
    lambda inner: st.lists(inner) | st.tuples(inner, inner) | st.dictionaries(st.text() | st.integers(), inner), max_leaves=12)


@settings(max_examples=40, deadline=None)
@given(plain)
def test_plain_data_come_back_with_their_types(value):
    assert repr(through_json(value)) == repr(value)


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint16", "int64", "uint64", "float16", "float32", "float64"])
@pytest.mark.parametrize("shape", [(), (0,), (3,), (2, 0), (2, 3)])
def test_arrays_and_scalars_come_back_to_the_bit(dtype, shape):
    array = np.random.default_rng(3).integers(0, 2, shape).astype(dtype)
    found = through_json({"array": array.T})["array"]
    assert (found.dtype, found.shape, found.tobytes()) == (array.dtype, array.T.shape, array.T.tobytes())
    scalar = np.dtype(dtype).type(1)
    assert type(through_json(scalar)) is type(scalar)


def test_generators_go_on_where_they_were():
    before = rng.states()
    drawn = np.random.random(3).tolist(), rng.generator().random(3).tolist()
    rng.restore(through_json(before, {"States": rng.States}))
    assert (np.random.random(3).tolist(), rng.generator().random(3).tolist()) == drawn


def test_classes_come_back_where_they_are_named():
    made = through_json([Pair(1, (2,)), Sums()], {"Pair": Pair, "Sums": Sums})
    assert made[0] == Pair(1, (2,))
    assert isinstance(made[0], Pair)
    assert (made[1].total, made[1].parts[0], made[1].parts[1].tolist()) == (0.5, 1, [0, 1])


@pytest.mark.parametrize("value", [object(), Pair(1, 2), {1, 2}, np.array(["a"]), np.array([None]), 1j, np.longdouble(1),
                                   [{"deep": (lambda: 0,)}], np.datetime64(0, "s"), type("Sums", (), {})()])
def test_what_cannot_be_kept_is_named(value):
    refused(mx.base.UnsupportedError, "The setting x holds a value of type", encoded, value, [], "The setting x", {"Sums": Sums})


@pytest.mark.parametrize("about", [
    {}, {"class": "Popen", "parts": {}}, {"class": "Sums", "parts": 3}, {"array": 7}, {"array": "x"},
    {"scalar": "O", "value": []}, {"one": 1, "two": 2}, {"pairs": [[1]]}, {"pairs": [[[], 1]]}])
def test_what_is_no_state_is_refused(about):
    refused(mx.base.FileFormatError, "", decoded, about, [], {"Sums": Sums})


def packed():
    sparse = mx.nd.array([[0, 1], [0, 0], [2, 0]])
    arrays = [np.arange(3, dtype="int16"), sparse.tostype("csr"), sparse.tostype("row_sparse"), sparse]
    return state_files.pack({"lr": 0.1}, arrays)


def test_arrays_keep_their_storage():
    about, arrays = state_files.unpack(packed())
    assert (about, arrays[0].dtype, [one.stype for one in arrays[1:]]) == ({"lr": 0.1}, "int16", ["csr", "row_sparse", "default"])


def test_a_changed_or_shortened_file_is_noticed():
    data = packed()
    kept = {place for place in range(len(data)) if _passes(data[:place] + bytes([data[place] ^ 1]) + data[place + 1:])}
    # Eight bytes are reserved, and the devices of the five arrays are free: they may not be there where the file is read.
    assert len(kept) <= 8 + 5 * 8, sorted(kept)
    for place in kept:
        again = state_files.unpack(data[:place] + bytes([data[place] ^ 1]) + data[place + 1:])
        assert again[0] == {"lr": 0.1}
        assert [one.tolist() if isinstance(one, np.ndarray) else one.asnumpy().tolist() for one in again[1]] == [
            [0, 1, 2], *[[[0, 1], [0, 0], [2, 0]]] * 3]
    assert not any(_passes(data[:length]) for length in range(0, len(data), 7))


def _passes(data):
    try:
        state_files.unpack(data)
    except mx.base.FileFormatError:
        return False
    return True
