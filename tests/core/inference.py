"""What inference says of the results of a call, for the sweeps that hold what runs to it."""

import pytest

from sparsekit.base.errors import ShapeError
from sparsekit.core import spec

#: Operators of which the values of the inputs decide the shape of the result.
BY_VALUES = {"_contrib_boolean_mask"}


def decided(call, arrays):
    """Whether the shapes of the inputs decide those of the results, rather than their values."""
    return call.infer_shape([array.shape for array in arrays]) is not None


def inferred(call, specs, results):
    """The specs of the results; where values decide shapes, those of the results stand for them."""
    known = decided(call, specs)
    assert known == (call.op.name not in BY_VALUES)
    if known:
        made = spec.infer(call, specs)
        return (made,) if call.outputs == 1 else made
    with pytest.raises(ShapeError, match="depends on values"):
        spec.infer(call, specs)
    storage = spec.infer_storage(call, tuple(one.stype for one in specs), [one.shape for one in specs])
    dtypes = spec.infer_dtypes(call, [one.dtype for one in specs])
    return tuple(spec.Spec(result.shape, dtype, stype, storage.fallback)
                 for result, dtype, stype in zip(results, dtypes, storage.outputs, strict=True))
