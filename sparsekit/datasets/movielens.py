"""MovieLens: ratings of movies by users, from GroupLens."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..base.checks import number
from ..base.context import cpu
from ..base.errors import DataFileError, ShapeError, UnknownNameError
from ..ndarray import wrap
from ..storage import CSR
from .archives import open_member, parsed_once
from .download import Source, data_home, fetch

if TYPE_CHECKING:
    from os import PathLike

    from ..base.types import Array
    from ..ndarray.sparse import CSRNDArray

SITE = "https://files.grouplens.org/datasets/movielens"


class _Edition(NamedTuple):
    file: str
    member: str
    md5: str | None
    ratings: int | None


#: By size: the archive, the table of ratings in it, the digest that GroupLens publishes, and the number of ratings.
#: The last two are unknown for "latest-small", which GroupLens updates.
MOVIELENS = {
    "100k": _Edition("ml-100k.zip", "ml-100k/u.data", "0e33842e24a9c977be4e0107933c0723", 100_000),
    "1m": _Edition("ml-1m.zip", "ml-1m/ratings.dat", "c4d9eecfca2ab87c1945afe126590906", 1_000_209),
    "10m": _Edition("ml-10m.zip", "ml-10M100K/ratings.dat", "ce571fd55effeba0271552578f2648bd", 10_000_054),
    "20m": _Edition("ml-20m.zip", "ml-20m/ratings.csv", "cd245b17a1ae2cc31bb14903e1204af3", 20_000_263),
    "25m": _Edition("ml-25m.zip", "ml-25m/ratings.csv", "6b51fb2759a8657d3bfcbfc42b592ada", 25_000_095),
    "latest-small": _Edition("ml-latest-small.zip", "ml-latest-small/ratings.csv", None, None),
}


class Ratings(NamedTuple):
    """Ratings in coordinate format.

    Attributes
    ----------
    user, item : arrays of int64, shape (ratings,)
        Positions in ``MovieLens.users`` and ``MovieLens.items``.
    rating : array of float32, shape (ratings,)
        Stars, 0.5 to 5.
    time : array of int64, shape (ratings,)
        Seconds since 1970.
    """

    user: Any
    item: Any
    rating: Any
    time: Any

    def matrix(self, users: int, items: int) -> CSRNDArray:
        """The ratings as a CSRNDArray of float32, shape (users, items)."""
        order = np.lexsort((self.item, self.user))
        user, item = self.user[order], self.item[order]
        if bool(((user[1:] == user[:-1]) & (item[1:] == item[:-1])).any()):
            raise DataFileError("The data contain two ratings of one movie by one user.",
                                hint="remove all but one rating of each pair.")
        indptr = np.searchsorted(user, np.arange(users + 1))
        ratings: CSRNDArray = wrap(CSR(self.rating[order], item, indptr, (users, items)), cpu())
        return ratings


class MovieLens(NamedTuple):
    """The MovieLens data, split for training and testing.

    Attributes
    ----------
    train, test : Ratings
    users, items : arrays of int64
        Ids of users and movies in the files.
    """

    train: Ratings
    test: Ratings
    users: Any
    items: Any

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of users and items."""
        return len(self.users), len(self.items)


def fetch_movielens(size: str = "100k", test_share: float = 0.1, seed: int = 0, root: str | PathLike[str] | None = None,
                    site: str = SITE, progress: bool = True, refresh: bool = False) -> MovieLens:
    """Load MovieLens; the download and the parsed ratings are cached.

    Parameters
    ----------
    size : {"100k", "1m", "10m", "20m", "25m", "latest-small"}
        Approximate number of ratings.
    test_share : float
        Fraction of the ratings, chosen at random, for testing, 0 to 1.  Default 0.1.
    seed : int
        Determines the split.
    root, site, progress, refresh
        As for ``fetch_libsvm``.

    Returns
    -------
    MovieLens

    Raises
    ------
    DownloadError
        If the download fails, or the archive does not have the digest that GroupLens publishes.
    DataFileError
        If the archive is damaged.
    ShapeError
        If ``test_share`` is not within 0 to 1.
    UnknownNameError
        If the size is unknown.

    Notes
    -----
    The data are for research; their licence is in the archive.  F. M. Harper and J. A. Konstan, "The MovieLens
    Datasets: History and Context" (2015).

    Examples
    --------
    >>> data = mx.datasets.fetch_movielens("100k")  # doctest: +SKIP
    >>> data.train.matrix(*data.shape)  # doctest: +SKIP
    <CSRNDArray 943x1682 @cpu(0)>
    """
    UnknownNameError.check("size of MovieLens", size, MOVIELENS)
    number("test_share", test_share, "from 0 to 1", lambda value: 0 <= value <= 1, "0.1, for example.", ShapeError)
    edition = MOVIELENS[size]
    archive, digest = fetch(Source(f"{site.rstrip('/')}/{edition.file}", edition.file, md5=edition.md5),
                            data_home(root) / "movielens", progress, refresh)
    user, item, rating, time = _table(archive, digest, edition, refresh)
    users, user = np.unique(user, return_inverse=True)
    items, item = np.unique(item, return_inverse=True)
    testing = np.zeros(len(rating), bool)
    testing[np.random.default_rng(seed).permutation(len(rating))[:round(test_share * len(rating))]] = True
    train, test = (Ratings(user[chosen], item[chosen], rating[chosen], time[chosen]) for chosen in (~testing, testing))
    return MovieLens(train, test, users, items)


def _table(archive: Path, digest: str, edition: _Edition, refresh: bool) -> tuple[Any, ...]:
    """The columns of the file: user and item ids, ratings and times."""

    def parse() -> dict[str, Any]:
        with open_member(archive, edition.member) as text:
            table = _numbers(text, archive.name)
        if edition.ratings is not None and len(table) != edition.ratings:
            raise DataFileError(f"{archive} has {len(table):,} ratings, not {edition.ratings:,}.",
                                hint="refresh=True downloads it again.")
        columns = [np.ascontiguousarray(table[:, place], np.float32 if place == 2 else np.int64) for place in range(4)]
        return {name: wrap(column, cpu()) for name, column in zip(Ratings._fields, columns, strict=True)}

    arrays = parsed_once(archive, digest, archive.stem, refresh, parse)
    return tuple(arrays[name].asnumpy() for name in Ratings._fields)


def _numbers(text: IO[bytes], name: str) -> Array:
    """Parse lines of four numbers, separated by tabs, commas or pairs of colons, and skip a header line."""
    blocks, unfinished = [], b""
    while True:
        block = text.read(1 << 22)
        unfinished, lines = _split(unfinished + block, not block)
        if lines.startswith(b"userId"):
            lines = lines[lines.index(b"\n") + 1:]
        if lines.strip():
            blocks.append(_parsed(lines.replace(b"::", b" ").replace(b",", b" "), name))
        if not block:
            break
    return np.concatenate(blocks) if blocks else np.empty((0, 4))


def _split(text: bytes, at_end: bool) -> tuple[bytes, bytes]:
    cut = len(text) if at_end else text.rfind(b"\n") + 1
    return text[cut:], text[:cut]


def _parsed(lines: bytes, name: str) -> Array:
    with warnings.catch_warnings():
        warnings.simplefilter("error", DeprecationWarning)  # numpy's warning about text that is not a number
        try:
            numbers = np.fromstring(lines, np.float64, sep=" ")
        except (DeprecationWarning, ValueError):
            numbers = np.empty(1)
    if numbers.size != 4 * (lines.count(b"\n") + (not lines.endswith(b"\n"))):
        raise DataFileError(f"{name} contains lines that are not ratings.", hint="refresh=True downloads it again.")
    return numbers.reshape(-1, 4)
