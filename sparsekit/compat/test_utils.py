"""Helpers for tests and experiments: ``mx.test_utils``."""

from __future__ import annotations

import bz2
import os
import shutil
import sys
import zipfile
from typing import TYPE_CHECKING, Any

import numpy as np

from ..base.context import Context, num_gpus
from ..base.entry import within_memory
from ..base.errors import DataFileError, ShapeError, expected
from ..base.files import written
from ..base.lazy import add_lazy_names
from ..core.dispatch import wrap
from ..gluon import utils
from ..io import DataIter, NDArrayIter
from ..ndarray import array
from ..ndarray.creation import context_of, shape_of
from ..ops.sparse.cast import check_stype
from ..random import generator
from ..storage import CSR, RowSparse
from ..storage.convert import counts_to_indptr
from . import test_checks
from .test_checks import *  # noqa: F403 - what else MXNet has there

if TYPE_CHECKING:
    from ..base.types import Array, DTypeLike, Shape, ShapeLike
    from ..io.data import DataBatch
    from ..ndarray.ndarray import NDArray
    from ..symbol.symbol import Symbol


#: As MXNet's, ``from sparsekit.test_utils import *`` gives what the module imports, which programs use.
__all__ = ["Context", "DummyIter", "array", "bz2", "default_context", "download", "get_bz2_data", "get_mnist_iterator",
           "get_mnist_ubyte", "get_zip_data", "list_gpus", "mx", "np", "os", "rand_ndarray", "rand_shape_2d",
           "random_arrays", "simple_forward", "sys", "zipfile"]
__all__ += test_checks.__all__

add_lazy_names(globals())

#: The package, since scripts with ``from mxnet.test_utils import *`` use ``mx`` without importing it.
mx: Any = sys.modules["sparsekit"]

_MNIST = "http://data.mxnet.io/mxnet/data/mnist.zip"


def list_gpus() -> range:
    """Return the numbers of the usable GPUs."""
    return range(num_gpus())


def default_context() -> Context:
    """Return the context that arrays are created on by default."""
    return context_of(None)


def rand_shape_2d(dim0: int = 10, dim1: int = 10, allow_zero_size: bool = False) -> tuple[int, int]:
    """Return a random shape, with sizes from 1 (0 with ``allow_zero_size``) to ``dim0`` and ``dim1``."""
    low = 0 if allow_zero_size else 1
    return int(generator().integers(low, dim0 + 1)), int(generator().integers(low, dim1 + 1))


@within_memory
def rand_ndarray(shape: ShapeLike, stype: str = "default", density: float | None = None, dtype: DTypeLike = None,
                 ctx: Context | None = None, rng: object = None, **_more: object) -> NDArray:
    """Return an array of uniform random values: dense in [-1, 1), stored values of sparse arrays in (0, 1].

    Parameters
    ----------
    shape : tuple of int
        Shape of the array; two sizes for csr.
    stype : {"default", "csr", "row_sparse"}
    density : float, optional
        Share of the values (csr) or rows (row_sparse) that are stored; random by default.
    dtype : numpy dtype or str, optional
        By default float32.
    ctx : Context, optional
        By default the current context.
    rng : int, Generator or None
        Seed or generator; by default the shared generator.
    **_more
        Further arguments of MXNet's function, which are ignored.
    """
    shape, draw, dtype = shape_of(shape), generator(rng), np.dtype(dtype or np.float32)
    if check_stype(stype) == "default":
        return array(draw.uniform(-1.0, 1.0, shape), ctx, dtype)
    density = float(draw.random()) if density is None else density
    if not 0 <= density <= 1:
        raise ShapeError(expected("density", "from 0 to 1", density), hint="density=0.1 stores a tenth of the elements.")
    store = _random_csr(draw, shape, density, dtype) if stype == "csr" else _random_rows(draw, shape, density, dtype)
    result: NDArray = wrap(store, Context("cpu", 0)).as_in_context(context_of(ctx))
    return result


def _nonzero(draw: np.random.Generator, shape: ShapeLike, dtype: DTypeLike) -> Array:
    """Values in (0, 1]."""
    return (1 - draw.random(shape)).astype(dtype)


def _random_csr(draw: np.random.Generator, shape: tuple[int, ...], density: float, dtype: DTypeLike) -> CSR:
    if len(shape) != 2:
        raise ShapeError(f"A csr array has two dimensions, not shape {shape}.", hint="pass (rows, columns).")
    total = shape[0] * shape[1]
    places = np.sort(draw.choice(total, round(total * density), replace=False, shuffle=False))
    row, column = np.divmod(places, max(1, shape[1]))
    return CSR(_nonzero(draw, places.shape[0], dtype), column, counts_to_indptr(row, shape[0]), shape, check=False)


def _random_rows(draw: np.random.Generator, shape: tuple[int, ...], density: float, dtype: DTypeLike) -> RowSparse:
    rows = np.flatnonzero(draw.random(shape[0]) < density)
    return RowSparse(_nonzero(draw, (rows.shape[0], *shape[1:]), dtype), rows, shape, check=False)


def random_arrays(*shapes: ShapeLike) -> Array | list[Array]:
    """Return a numpy array of normally distributed float32 values, or a list of arrays for several shapes."""
    arrays = [generator().standard_normal(shape, np.float32) for shape in shapes]
    arrays = [np.asarray(values, np.float32) for values in arrays]
    return arrays[0] if len(arrays) == 1 else arrays


def simple_forward(sym: Symbol, ctx: Context | None = None, is_train: bool = False, **inputs: Array) -> Array | list[Array]:
    """Evaluate a symbol on arrays, and return a numpy array, or a list for several outputs."""
    executor = sym.bind(ctx or default_context(), args={name: array(value) for name, value in inputs.items()})
    outputs = [output.asnumpy() for output in executor.forward(is_train=is_train)]
    return outputs[0] if len(outputs) == 1 else outputs


# downloads and iterators


def download(url: str, fname: str | None = None, dirname: str | None = None, overwrite: bool = False, retries: int = 5) -> str:
    """Download a file, unless it exists already, and return its path.

    Parameters
    ----------
    url : str
    fname : str, optional
        Name of the local file; by default the last part of ``url``.
    dirname : str, optional
        Folder of the local file, which is created if it is missing.
    overwrite : bool
        Download the file even if it exists.
    retries : int
        Number of further attempts after an error.

    Returns
    -------
    str
    """
    path = fname or url.rpartition("/")[2]
    if dirname is not None:
        path = os.path.join(dirname, path)
    return utils.download(url, path, overwrite, retries=retries)


def get_zip_data(data_dir: str, url: str, data_origin_name: str) -> None:
    """Download a zip archive into a folder, unless it exists already, and unpack it there.

    Parameters
    ----------
    data_dir : str
    url : str
    data_origin_name : str
        Name of the archive in the folder.
    """
    path = os.path.join(data_dir, data_origin_name)
    download(url, path)
    _unzip(path, data_dir)


def _unzip(path: str, folder: str) -> None:
    try:
        with zipfile.ZipFile(path) as archive:
            archive.extractall(folder)  # leaves out what would lie outside the folder
    except (zipfile.BadZipFile, OSError) as error:
        raise DataFileError(f"{path} cannot be unpacked: {error}.", hint="delete it, and it is downloaded again.") from error


def get_bz2_data(data_dir: str, data_name: str, url: str, data_origin_name: str) -> None:
    """Download a bz2 file into a folder, and replace it by its content, unless the content exists already.

    Parameters
    ----------
    data_dir : str
    data_name : str
        Name of the decompressed file.
    url : str
    data_origin_name : str
        Name of the compressed file, which is deleted.
    """
    target, packed = (os.path.join(data_dir, name) for name in (data_name, data_origin_name))
    if os.path.exists(target):
        return
    download(url, packed)
    try:
        with bz2.open(packed) as source, written(target) as file:
            shutil.copyfileobj(source, file)
    except (OSError, EOFError) as error:
        raise DataFileError(f"{packed} cannot be unpacked: {error}.", hint="delete it, and it is downloaded again.") from error
    os.unlink(packed)


def get_mnist_ubyte() -> None:
    """Download the files of MNIST into ``data``, unless they exist already."""
    if not all(os.path.exists(path) for part in ("train", "t10k") for path in _mnist_files(part)):
        get_zip_data("data", _MNIST, "mnist.zip")


def _mnist_files(part: str) -> tuple[str, str]:
    return os.path.join("data", f"{part}-images-idx3-ubyte"), os.path.join("data", f"{part}-labels-idx1-ubyte")


def get_mnist_iterator(batch_size: int, input_shape: Shape, num_parts: int = 1, part_index: int = 0) -> tuple[Any, Any]:
    """Return iterators over the MNIST digits for training, shuffled, and for validation.

    Parameters
    ----------
    batch_size : int
    input_shape : tuple of int
        ``(784,)`` for rows, ``(1, 28, 28)`` for images.
    num_parts, part_index : int
        Use part ``part_index`` of ``num_parts`` equal parts of the data.
    """
    get_mnist_ubyte()
    iterators = []
    for part in ("train", "t10k"):
        images, labels = (_idx(path) for path in _mnist_files(part))
        chosen = slice(part_index * (len(labels) // num_parts), (part_index + 1) * (len(labels) // num_parts))
        data = images[chosen].reshape(-1, *((1, 28, 28) if len(input_shape) == 3 else (784,))).astype(np.float32) / 256
        iterators.append(NDArrayIter(data, labels[chosen].astype(np.float32), batch_size, shuffle=part == "train",
                                       last_batch_handle="discard"))
    return iterators[0], iterators[1]


def _idx(path: str) -> Array:
    """Read the uint8 array in a file of MNIST's IDX format."""
    with open(path, "rb") as file:
        content = file.read()
    axes = content[3] if len(content) > 3 else 0
    shape = tuple(np.frombuffer(content[4:4 + 4 * axes], ">i4").tolist())
    if content[:3] != b"\0\0\x08" or min(shape, default=-1) < 0 or len(content) != 4 + 4 * axes + np.prod(shape, dtype=object):
        raise DataFileError(f"{path} is not an IDX file of bytes.", hint="delete it, and it is downloaded again.")
    return np.frombuffer(content[4 + 4 * axes:], np.uint8).reshape(shape)


class DummyIter(DataIter):
    """Repeats the first batch of another iterator without end.

    Parameters
    ----------
    real_iter : DataIter
    """

    def __init__(self, real_iter: DataIter) -> None:
        super().__init__(real_iter.batch_size)
        self.real_iter = real_iter
        self.provide_data, self.provide_label = real_iter.provide_data, real_iter.provide_label
        self.the_batch = next(iter(real_iter))

    def next(self) -> DataBatch:
        """Return the batch."""
        return self.the_batch
