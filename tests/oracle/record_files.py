"""Record again files of arrays that MXNet 1.9.1 wrote, and what it reads from them, from older files and from damaged ones."""

import base64
import struct
import tempfile

import mxnet as mx
import numpy as np
import record_expressions
import recording


def packed(*arrays, names=()):
    head = struct.pack("<QQQ", 0x112, 0, len(arrays))
    tail = struct.pack("<Q", len(names)) + b"".join(struct.pack("<Q", len(name)) + name for name in names)
    return head + b"".join(arrays) + tail


VALUES = np.array([1, 2], "<f4").tobytes()
FIRST = struct.pack("<IIiii", 1, 2, 1, 0, 0) + VALUES  # number of axes, size, device, element type
SECOND = struct.pack("<Iiqiii", 0xF993FAC8, 1, 2, 1, 0, 0) + VALUES
THIRD = struct.pack("<Iiiqiii", 0xF993FAC9, 0, 1, 2, 1, 0, 0) + VALUES
#: Files as older versions wrote them, or from another machine.
GIVEN = {
    "before storage types": packed(SECOND),
    "before 64-bit sizes": packed(FIRST, names=[b"w"]),
    "before 64-bit sizes, two axes": packed(struct.pack("<IIIiii", 2, 2, 1, 1, 0, 4) + np.array([1, 2], "<i4").tobytes()),
    "all kinds": packed(FIRST, SECOND, THIRD, names=[b"a", b"b", b"c"]),
    "from a GPU": packed(struct.pack("<Iiiqiii", 0xF993FAC9, 0, 1, 2, 2, 0, 0) + VALUES),
    "from pinned memory": packed(struct.pack("<Iiiqiii", 0xF993FAC9, 0, 1, 2, 3, 0, 0) + VALUES),
}
#: Files that MXNet refuses.
DAMAGED = {
    "empty": b"",
    "header alone": struct.pack("<Q", 0x112),
    "other magic": b"\x89PNG\r\n\x1a\n" + bytes(64),
    "cut in the values": packed(THIRD)[:60],
    "cut in the names": packed(THIRD, names=[b"weight"])[:-3],
    "cut before the names": packed(THIRD)[:-8],
    "more arrays than there are": struct.pack("<QQQ", 0x112, 0, 3) + THIRD + struct.pack("<Q", 0),
    "element type 8": packed(struct.pack("<Iiiqiii", 0xF993FAC9, 0, 1, 2, 1, 0, 8) + VALUES),
    "an array without shape": packed(struct.pack("<Ii", 0xF993FAC8, 0)),
}


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


def written(setup, text):
    values = eval(text, record_expressions.namespace(setup))
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


def bytes_of(setup, kind, expression="", name=""):
    """The file of a case."""
    if kind in ("given", "damaged"):
        return (GIVEN if kind == "given" else DAMAGED)[name]
    data = written(setup, expression)
    return junk_filled(data) if kind == "untidy" else data


def record(setup, case):
    """The file and what MXNet reads from it.

    Of the kind "numpy shapes" are those written where sizes may be 0 and axes may be absent, the only way in which MXNet reads an
    array without axes again; "untidy" are those with room behind the last row, with whatever the memory held.
    """
    case = recording.given(case, "kind", "expression", "name")
    with mx.util.np_shape(case["kind"] == "numpy shapes"):
        data = bytes_of(setup, **case)
        return {**case, "result": read(data), "file": base64.b64encode(data).decode()}


if __name__ == "__main__":
    known = recording.known()
    recording.save_each({"setup": known["setup"]}, known["cases"], lambda case: record(known["setup"], case))
