"""How a result becomes JSON, of either library: recorders write it so, and tests compare what they get in the same form."""

import numpy as np


def plain(value):
    """A numpy array or scalar as nested lists of numbers; whole ones as integers, infinities and nan as strings."""
    if isinstance(value, np.ndarray) and value.ndim:
        return [plain(item) for item in value]
    if isinstance(value, np.ndarray):
        return plain(value[()])
    if isinstance(value, (np.float16, np.float32)):
        return plain(float(str(value)))  # the shortest decimal that reads back as the same number
    if isinstance(value, dict):
        return {name: plain(item) for name, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if isinstance(value, np.generic):
        return plain(value.item())
    if isinstance(value, float):
        if not np.isfinite(value):
            return str(value)
        return int(value) if value.is_integer() and abs(value) < 2**53 else value
    return value


def encode(result):
    """What came back from a call: an array with its storage type and components, or a plain value."""
    if isinstance(result, (list, tuple)):
        return {"kind": type(result).__name__, "items": [encode(item) for item in result]}
    if not hasattr(result, "stype"):
        value = plain(result)
        if not isinstance(value, (bool, int, float, str, list, type(None))):
            value = repr(value)
        return {"kind": type(result).__name__, "value": value}
    array = {
        "kind": type(result).__name__,
        "stype": result.stype,
        "dtype": np.dtype(result.dtype).name,
        "shape": list(result.shape),
        "value": plain(result.asnumpy()),
    }
    for component in {"csr": ("indices", "indptr"), "row_sparse": ("indices",)}.get(result.stype, ()):
        array[component] = plain(getattr(result, component).asnumpy())
    if array.get("indptr") == []:  # zeros of which nothing is allocated yet
        del array["indices"], array["indptr"]
    elif result.stype == "csr":  # `c - c` keeps room behind the last row, with whatever the memory held
        del array["indices"][array["indptr"][-1] :]
    return array
