"""A sparse data set that needs no download: docstrings of installed packages, labelled by package."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..base.context import cpu
from ..base.errors import DataFileError, MissingPackageError, ShapeError, UnknownNameError, expected
from ..ndarray import wrap
from ..storage import CSR
from .sources import docstrings_of, version_of
from .words import count_words, number_words, split_words

if TYPE_CHECKING:
    from ..base.types import Array

__all__ = ["PACKAGES", "DocstringData", "Part", "load_docstrings"]

#: Default packages: the dependencies of sparsekit and its notebooks, and packages often installed with them.
PACKAGES = (
    "numpy", "scipy", "numba", "llvmlite", "matplotlib", "IPython", "ipykernel", "ipywidgets", "jupyter_client",
    "jupyter_server", "jupyterlab", "nbconvert", "nbformat", "traitlets", "pandas", "sklearn", "skimage", "statsmodels",
    "networkx", "xarray", "sympy",
)

#: Other names of packages, which would reveal the label like the names themselves.
ALIASES = frozenset({"np", "sp", "spstats", "nb", "mpl", "plt", "pylab", "pyplot", "pd", "nx", "xr", "scikit",
                     "pillow", "ipy", "jupyter"})

#: Maximum number of bytes of source that are read of one package, which limits the time.
SOURCE_LIMIT = 16_000_000

COUNTS = ("log", "raw", "binary")


class Part(NamedTuple):
    """Rows and their labels.

    Attributes
    ----------
    data : CSRNDArray, shape (rows, features), float32
    label : array of float32, shape (rows,)
        Index into ``DocstringData.names``.
    """

    data: Any
    label: Any


class DocstringData(NamedTuple):
    """The docstrings of installed packages as a sparse data set.

    Attributes
    ----------
    train, test : Part
    names : tuple of str
        Name of each label.
    versions : dict of str to str
        Version of each package that was found; the data depend on the versions.
    counts : dict of str to int
        Number of docstrings of each package.
    words : int
        Number of distinct words.
    """

    train: Part
    test: Part
    names: tuple[str, ...]
    versions: dict[str, str]
    counts: dict[str, int]
    words: int


class _Text(NamedTuple):
    """A docstring, the number of its package, and the digest that determines its position."""

    text: str
    package: int
    digest: bytes


def load_docstrings(features: int = 2**20, target: Sequence[str] | None = ("numpy", "scipy"),
                    packages: Sequence[str] | None = None, pairs: bool = True, counts: str = "log",
                    normalise: bool = True, test_share: float = 0.2, seed: int = 0,
                    progress: Callable[[str], None] | None = None) -> DocstringData:
    """Build a sparse data set from the docstrings of installed packages.

    The docstrings of modules, classes and functions are read from source files, which are parsed but not executed.  They are
    kept in the folder ``docstrings`` of ``data_home()``, so that the next call need not parse unchanged files.  Words,
    and pairs of adjacent words, are counted in hashed columns.  The order of the rows, and the split into two parts, depend
    only on their text and on ``seed``.

    The result is the same on every machine with the same versions of the packages.  Names of packages (``numpy``, ``np``,
    ``matplotlib`` …) are omitted, so that a docstring does not contain its label.  Identical docstrings are counted once.
    Docstrings that occur in two packages, or that have fewer than five words, are omitted.

    Parameters
    ----------
    features : int
        Number of columns.  Default 2**20.
    target : sequence of str, or None
        Packages with label 1; the others have label 0.  None makes each package a class.
    packages : sequence of str, optional
        Names by which the packages are imported; all must be installed.  Default: those of a fixed list that are installed.
    pairs : bool
        Also count pairs of adjacent words.  Default True.
    counts : {"log", "raw", "binary"}
        Stored value for a count n: log(1 + n), n, or 1.
    normalise : bool
        Divide each row by its Euclidean norm.  Default True.
    test_share : float
        Fraction of the rows for testing, 0 to 1.  Default 0.2.
    seed : int
        Determines the order and the split.
    progress : callable, optional
        Called with the name of each package before it is read.

    Returns
    -------
    DocstringData

    Raises
    ------
    MissingPackageError
        If a requested package is not installed as source files.
    DataFileError
        If fewer than two classes were found.
    ShapeError
        If ``features`` is not a positive integer or ``test_share`` is not within 0 to 1.
    UnknownNameError
        If ``counts`` is unknown.

    Examples
    --------
    >>> from sparsekit.datasets import load_docstrings
    >>> data = load_docstrings(features=1000, packages=["numpy", "numba"], target=["numpy"])
    >>> data.names, data.train.data.stype, data.train.data.shape[1]
    (('numba', 'numpy'), 'csr', 1000)
    """
    _check(features, counts, test_share)
    texts, found = _collect(packages, seed, progress)
    classes, names = _classes(found, target)
    numbered = number_words([text.text for text in texts], _names_package(found))
    matrix = count_words(numbered, features, pairs, counts, normalise)
    numbers = np.array([text.package for text in texts], np.int64)
    label = classes[numbers].astype(np.float32)
    if len(np.unique(label)) < 2:
        raise DataFileError(f"Only one class of docstrings was found: {', '.join(found) or 'no package at all'}.",
                            hint="install a package of the other class, or pass other packages and target.")
    # Digests are uniformly distributed: the first four bytes select the part, the others the order.
    testing = np.array([int.from_bytes(text.digest[:4], "big") < test_share * 2**32 for text in texts], bool)
    return DocstringData(
        _part(matrix, label, ~testing), _part(matrix, label, testing), names,
        {package: version_of(package) for package in found},
        {package: int((numbers == i).sum()) for i, package in enumerate(found)}, len(numbered.vocabulary))


def _check(features: int, counts: str, test_share: float) -> None:
    if not isinstance(features, (int, np.integer)) or features < 1:
        raise ShapeError(expected("features", "an integer of at least 1", features), hint="pass features=2**20, for example.")
    if not 0 <= test_share <= 1:
        raise ShapeError(expected("test_share", "from 0 to 1", test_share), hint="pass test_share=0.2, for example.")
    if counts not in COUNTS:
        raise UnknownNameError.of("way to store counts", counts, COUNTS)


def _collect(packages: Sequence[str] | None, seed: int,
             progress: Callable[[str], None] | None) -> tuple[list[_Text], list[str]]:
    """The texts of the data set, sorted by digest, and the packages that were found."""
    found: list[str] = []
    owners: dict[bytes, _Text | None] = {}
    key = str(seed).encode()[:64]
    for package in packages if packages is not None else PACKAGES:
        if progress is not None:
            progress(package)
        number, some = len(found), False
        for text in docstrings_of(package, SOURCE_LIMIT):
            some = True
            digest = hashlib.blake2b(text.encode(errors="replace"), digest_size=16, key=key).digest()
            earlier = owners.setdefault(digest, _Text(text, number, digest))
            if earlier is not None and earlier.package != number:
                owners[digest] = None  # a docstring of two packages has no unique label
        if some:
            found.append(package)
        elif packages is not None:
            raise MissingPackageError(f"No docstrings of the package {package!r} were found.",
                                      hint=f"install {package} with its source files, or leave it out.")
    kept = (text for text in owners.values() if text is not None and len(split_words(text.text)) >= 5)
    return sorted(kept, key=lambda text: text.digest[4:]), found


def _classes(found: list[str], target: Sequence[str] | None) -> tuple[Any, tuple[str, ...]]:
    """The label of each package, and the names of the labels."""
    if target is None:
        return np.arange(len(found)), tuple(found)
    wanted = [target] if isinstance(target, str) else list(target)
    others = [package for package in found if package not in wanted]
    present = [package for package in found if package in wanted]
    names = (others[0] if len(others) == 1 else "others", " or ".join(present))
    return np.array([package in wanted for package in found], np.int64), names


def _names_package(found: list[str]) -> Callable[[str], bool]:
    """A predicate for words that are the name or an alias of a package, or contain its name."""
    names = {name.lower() for name in (*PACKAGES, *found, *ALIASES)}
    long = tuple(sorted(name for name in names if len(name) >= 5))
    exact = names | {part for name in names for part in split_words(name)}

    def drop(word: str) -> bool:
        return word in exact or any(name in word for name in long)

    return drop


def _part(matrix: CSR, label: Array, chosen: Array) -> Part:
    """A copy of the chosen rows."""
    lengths = np.diff(matrix.indptr)
    entries = np.repeat(chosen, lengths)
    indptr = np.concatenate([[0], np.cumsum(lengths[chosen])]).astype(np.int64)
    rows = CSR(matrix.data[entries], matrix.indices[entries], indptr, (int(chosen.sum()), matrix.shape[1]), check=False)
    return Part(wrap(rows, cpu()), label[chosen])
