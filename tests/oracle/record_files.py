"""Record files of arrays that MXNet 1.9.1 wrote, and what it reads from them, from older files and from damaged ones."""

import base64
import struct
import sys
import tempfile

import expressions
import mxnet as mx
import numpy as np
import recording

SETUP = ["c = mx.nd.sparse.csr_matrix(([1.0, 2, -3.5], [1, 3, 0], [0, 2, 2, 3]), shape=(3, 5))",
         "r = mx.nd.sparse.row_sparse_array(([[1.0, 2], [0, -3]], [1, 3]), shape=(5, 2))"]
TYPES = ("float16", "float32", "float64", "uint8", "int8", "int32", "int64")
# fmt: off
WRITTEN = ["[mx.nd.array([1, 2])]", "mx.nd.array([[1, 2.5], [float('inf'), float('nan')]])", "[]", "{}",
           "[mx.nd.ones((2, 3)), mx.nd.arange(4), c, r]", "{'arg:w': mx.nd.ones((1,)), 'aux:mean': mx.nd.zeros((2, 1))}",
           "{'arg:c': c, 'arg:r': r, 'aux:d': mx.nd.array([[7]])}", "{'': mx.nd.ones((1,))}", "{'é\\n': mx.nd.ones((1,))}",
           "[mx.nd.arange(24).reshape((2, 3, 4))]", "[mx.nd.arange(6).reshape((2, 3))[1]]",
           "[mx.nd.arange(6).reshape((2, 3)).T]", "[mx.nd.array([])]", "[mx.nd.array(np.zeros((0, 3)))]",
           "[mx.nd.array([1, 0, 1]) > 0]", "[mx.nd.array([1, 0, 1], dtype='bool')]", "c", "r", "c[1:2]", "[c[0], r]",
           "mx.nd.ones((2,), ctx=mx.cpu(1))", "mx.nd.sparse.zeros('csr', (2, 5))", "mx.nd.sparse.zeros('row_sparse', (4, 3))",
           "mx.nd.sparse.zeros('row_sparse', (4, 3, 2))", "mx.nd.sparse.zeros('csr', (1, 1000))",
           "mx.nd.sparse.csr_matrix(([1.0], [999], [0, 1]), shape=(1, 1000))",
           "mx.nd.sparse.row_sparse_array(([[[1.0, 2]], [[3, 4]]], [0, 2]), shape=(4, 1, 2))",
           "mx.nd.sparse.retain(r, mx.nd.array([3]))", "mx.nd.array(np.eye(3)).tostype('csr')",
           *(f"[mx.nd.array([[0, 1], [2, 100]], dtype='{name}')]" for name in TYPES),
           *(f"mx.nd.sparse.csr_matrix(([1, 2], [1, 3], [0, 1, 2]), shape=(2, 5), dtype='{name}')" for name in TYPES),
           *(f"mx.nd.sparse.row_sparse_array(([[1, 2]], [2]), shape=(4, 2), dtype='{name}')" for name in TYPES)]
#: Written where sizes may be 0 and axes may be absent, the only way in which MXNet reads an array without axes again.
NUMPY_SHAPES = ["[mx.nd.array(3.0)]", "{'s': mx.nd.array(3, dtype='int64'), 't': mx.nd.array(2.5, dtype='float64')}"]
#: Whose file has room behind the last row, with whatever the memory held.
UNTIDY = ["c - c"]
# fmt: on


def packed(*arrays, names=()):
    head = struct.pack("<QQQ", 0x112, 0, len(arrays))
    tail = struct.pack("<Q", len(names)) + b"".join(struct.pack("<Q", len(name)) + name for name in names)
    return head + b"".join(arrays) + tail


VALUES = np.array([1, 2], "<f4").tobytes()
FIRST = struct.pack("<IIiii", 1, 2, 1, 0, 0) + VALUES  # number of axes, size, device, element type
SECOND = struct.pack("<Iiqiii", 0xF993FAC8, 1, 2, 1, 0, 0) + VALUES
THIRD = struct.pack("<Iiiqiii", 0xF993FAC9, 0, 1, 2, 1, 0, 0) + VALUES
#: Files as older versions wrote them, or from another machine.
GIVEN = {"before storage types": packed(SECOND), "before 64-bit sizes": packed(FIRST, names=[b"w"]),
         "before 64-bit sizes, two axes": packed(struct.pack("<IIIiii", 2, 2, 1, 1, 0, 4) + np.array([1, 2], "<i4").tobytes()),
         "all kinds": packed(FIRST, SECOND, THIRD, names=[b"a", b"b", b"c"]),
         "from a GPU": packed(struct.pack("<Iiiqiii", 0xF993FAC9, 0, 1, 2, 2, 0, 0) + VALUES),
         "from pinned memory": packed(struct.pack("<Iiiqiii", 0xF993FAC9, 0, 1, 2, 3, 0, 0) + VALUES)}
#: Files that MXNet refuses.
DAMAGED = {"empty": b"", "header alone": struct.pack("<Q", 0x112), "other magic": b"\x89PNG\r\n\x1a\n" + bytes(64),
           "cut in the values": packed(THIRD)[:60], "cut in the names": packed(THIRD, names=[b"weight"])[:-3],
           "cut before the names": packed(THIRD)[:-8],
           "more arrays than there are": struct.pack("<QQQ", 0x112, 0, 3) + THIRD + struct.pack("<Q", 0),
           "element type 8": packed(struct.pack("<Iiiqiii", 0xF993FAC9, 0, 1, 2, 1, 0, 8) + VALUES),
           "an array without shape": packed(struct.pack("<Ii", 0xF993FAC8, 0))}


def decoded(names, result):
    found = recording.attempt(lambda: list(result.values()) if isinstance(result, dict) else result)
    return {"names": names, **found}


def read(data):
    """What MXNet reads: names, and arrays in their order; or its error."""
    try:
        found = mx.nd.load_frombuffer(data)
    except Exception as error:
        return {"error": type(error).__name__}
    return decoded(list(found) if isinstance(found, dict) else [], found)


def written(text):
    values = eval(text, expressions.namespace(SETUP))
    with tempfile.NamedTemporaryFile(suffix=".params") as file:
        mx.nd.save(file.name, values)
        with open(file.name, "rb") as again:
            return again.read()


def junk_filled(data):
    """The file of one csr array of float32, with 0xA5 in the room behind its last entry, where MXNet writes what memory held."""
    array = mx.nd.load_frombuffer(data)[0]
    room, count, rows = len(array.indices), int(array.indptr[-1].asscalar()), len(array.indptr)
    indices = len(data) - 8 - 8 * room
    values = indices - 8 * rows - 4 * room
    junk = bytearray(data)
    junk[values + 4 * count:values + 4 * room] = b"\xa5" * (4 * (room - count))
    junk[indices + 8 * count:indices + 8 * room] = b"\xa5" * (8 * (room - count))
    return bytes(junk)


def case(kind, number):
    if kind == "written":
        text = WRITTEN[number]
        data = written(text)
        return {"kind": kind, "expression": text, "result": read(data)}, data
    if kind == "untidy":
        data = junk_filled(written(UNTIDY[number]))
        return {"kind": kind, "expression": UNTIDY[number], "result": read(data)}, data
    if kind == "numpy shapes":
        with mx.util.np_shape():
            data = written(NUMPY_SHAPES[number])
            return {"kind": kind, "expression": NUMPY_SHAPES[number], "result": read(data)}, data
    name, data = list((GIVEN if kind == "given" else DAMAGED).items())[number]
    return {"kind": kind, "name": name, "result": read(data)}, data


kinds = {"written": WRITTEN, "numpy shapes": NUMPY_SHAPES, "untidy": UNTIDY, "given": GIVEN, "damaged": DAMAGED}
places = [(kind, number) for kind, cases in kinds.items() for number in range(len(cases))]

def record(number):
    found, data = case(*places[number])
    return {**found, "file": base64.b64encode(data).decode()}

recording.save(sys.argv[1], {"setup": SETUP, "cases": recording.record_each(len(places), record)})
