"""Calls of a store with keys, arrays and rows nested in every way, and what they give; for either library."""

import itertools

import numpy as np

KEYS = {"k": "a", "[k]": ["a"], "(k)": ("a",), "int": 3, "[int]": [3]}
SEVERAL = {"[k,k]": ["a", "b"], "[k,k] the same": ["a", "a"], "[int,int]": [3, 5]}
ODD = {"[]": [], "np.int64": np.int64(3), "float": 3.0, "[[k]]": [["a"]]}

#: Nestings: numbers count arrays.
ALONE = {"v": 0, "[v]": [0], "(v)": (0,), "[v,v]": [0, 1], "(v,v)": (0, 1), "[[v]]": [[0]], "[[v,v]]": [[0, 1]]}
LISTED = {"[[v],[v]]": [[0], [1]], "[[v,v],[v,v]]": [[0, 1], [2, 3]], "[[v,v],[v]]": [[0, 1], [2]], "[v,[v]]": [0, [1]],
          "[v,v,v,v]": [0, 1, 2, 3], "[v,v,v]": [0, 1, 2]}


def nested(shape, make):
    """Arrays in the place of the numbers."""
    return type(shape)(nested(part, make) for part in shape) if isinstance(shape, (list, tuple)) else make(shape)


def first_column(given):
    """The values, short: the first of each row."""
    return [first_column(part) for part in given] if isinstance(given, (list, tuple)) else given.asnumpy()[:, 0].tolist()


def cases(mx):
    """Name and function of each call."""
    def dense(number):
        return mx.nd.ones((4, 2)) * (number + 1)

    def empty(_number):
        return mx.nd.sparse.zeros("row_sparse", (4, 2))

    def rows(number):
        return mx.nd.array([[0, 1], [2], [3, 0], [1]][number], dtype="int64")

    def held(key, stype):
        store = mx.kv.create("local")
        for number, one in enumerate(("a", "b") if "a" in str(key) else (3, 5)):
            store.init(one, dense(number).tostype(stype))
        return store

    def pull_rows(key, out, row_ids):
        arrays = nested(out, empty)
        held(key, "row_sparse").row_sparse_pull(key, out=arrays, row_ids=nested(row_ids, rows))
        return first_column(arrays)

    def call(method, key, shape):
        arrays = nested(shape, dense)
        store = mx.kv.create("local") if method in ("init", "broadcast") else held(key, "default")
        if method == "broadcast":
            store.broadcast(key, arrays, out=arrays)
        elif method == "pull":
            store.pull(key, out=arrays)
        else:
            getattr(store, method)(key, arrays)
        if method != "push":
            return first_column(arrays)
        out = [mx.nd.zeros((4, 2)), mx.nd.zeros((4, 2))]
        store.pull(["a", "b"] if "a" in str(key) else [3, 5], out=out)
        return first_column(out)

    for (key, shape, ids) in itertools.product({**KEYS, **SEVERAL}, {**ALONE, **LISTED}, {**ALONE, **LISTED}):
        yield (f"row_sparse_pull {key} {shape} {ids}", lambda key=key, shape=shape, ids=ids: pull_rows(
            {**KEYS, **SEVERAL}[key], {**ALONE, **LISTED}[shape], {**ALONE, **LISTED}[ids]))
    for method, key, shape in itertools.product(("init", "push", "pull", "pushpull", "broadcast"), {**KEYS, **SEVERAL, **ODD},
                                                {**ALONE, **LISTED}):
        yield f"{method} {key} {shape}", lambda method=method, key=key, shape=shape: call(
            method, {**KEYS, **SEVERAL, **ODD}[key], {**ALONE, **LISTED}[shape])
