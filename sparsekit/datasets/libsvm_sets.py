"""Data sets of the LIBSVM site, as csr matrices or as files for streaming."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..base.context import cpu
from ..base.errors import DataFileError, UnknownNameError
from ..io.libsvm_reader import LibSVMReader
from ..ndarray import wrap
from .archives import open_member, parsed_once, unpack
from .books import Part
from .download import Source, data_home, fetch

if TYPE_CHECKING:
    from os import PathLike

SITE = "https://www.csie.ntu.edu.tw/~cjlin/libsvmtools/datasets/binary"


class LibSVMSet(NamedTuple):
    """Description of a data set of the LIBSVM site.

    Attributes
    ----------
    about : str
    features : int
        Number of columns.
    splits : dict of str to (file, member of the archive or None, number of rows or None)
    """

    about: str
    features: int
    splits: dict[str, tuple[str, str | None, int | None]]


#: Data sets by name.  The site publishes no digests, so files are trusted on first use; the numbers of rows are checked.
LIBSVM_SETS = {
    "a9a": LibSVMSet("census income, 14 attributes in 123 binary features", 123,
                     {"train": ("a9a", None, 32_561), "test": ("a9a.t", None, 16_281)}),
    "rcv1": LibSVMSet("Reuters news, tf-idf, two classes", 47_236,
                      {"train": ("rcv1_train.binary.bz2", None, 20_242), "test": ("rcv1_test.binary.bz2", None, 677_399)}),
    "news20": LibSVMSet("20 newsgroups, two classes", 1_355_191, {"train": ("news20.binary.bz2", None, 19_996)}),
    "avazu": LibSVMSet("clicks on advertisements in apps", 1_000_000,
                       {"train": ("avazu-app.tr.bz2", None, 12_642_186), "validation": ("avazu-app.val.bz2", None, 1_953_951),
                        "test": ("avazu-app.t.bz2", None, 1_719_304)}),
    "kdd2010": LibSVMSet("students' answers, algebra", 20_216_830,
                         {"train": ("kdda.bz2", None, 8_407_752), "test": ("kdda.t.bz2", None, 510_302)}),
    "criteo": LibSVMSet("clicks on advertisements", 1_000_000,
                        {split: ("criteo.kaggle2014.svm.tar.xz", f"criteo.kaggle2014.svm/{split}.txt.svm", rows)
                         for split, rows in (("train", 45_840_617), ("test", 6_042_135))}),
}


def _chosen(name: str, split: str) -> tuple[LibSVMSet, tuple[str, str | None, int | None]]:
    UnknownNameError.check("LIBSVM data set", name, LIBSVM_SETS)
    facts = LIBSVM_SETS[name]
    UnknownNameError.check(f"part of {name}", split, facts.splits)
    return facts, facts.splits[split]


def _raw(name: str, split: str, root: str | PathLike[str] | None, site: str, progress: bool,
         refresh: bool) -> tuple[Path, str, str | None]:
    """The downloaded file, its digest, and the member of the archive or None."""
    _, (file, member, _) = _chosen(name, split)
    folder = data_home(root) / "libsvm"
    return *fetch(Source(f"{site.rstrip('/')}/{file}", file), folder, progress, refresh), member


def libsvm_file(name: str, split: str = "train", root: str | PathLike[str] | None = None, site: str = SITE, progress: bool = True,
                refresh: bool = False) -> Path:
    """Download a data set of the LIBSVM site as a text file, which ``LibSVMIter`` streams with ``zero_based=False``.

    Parameters
    ----------
    name, split, root, site, progress, refresh
        As for ``fetch_libsvm``.

    Returns
    -------
    pathlib.Path
        The decompressed file, in the folder of the download, so that it is not decompressed in every epoch.

    Examples
    --------
    >>> path = mx.datasets.libsvm_file("criteo")  # doctest: +SKIP
    >>> iterator = mx.io.LibSVMIter(path, data_shape=1_000_000, batch_size=1024, zero_based=False)  # doctest: +SKIP
    """
    raw, _, member = _raw(name, split, root, site, progress, refresh)
    if member is None and raw.suffix not in (".bz2", ".xz", ".gz"):
        return raw
    target = raw.with_name(f"{name}.{split}.libsvm")
    if refresh or not target.exists() or target.stat().st_mtime_ns < raw.stat().st_mtime_ns:
        unpack(raw, target, member)
    return target


def fetch_libsvm(name: str, split: str = "train", root: str | PathLike[str] | None = None, site: str = SITE,
                 progress: bool = True, refresh: bool = False) -> Part:
    """Load a data set of the LIBSVM site; the download and the parsed matrix are cached.

    Parameters
    ----------
    name : {"a9a", "rcv1", "news20", "avazu", "kdd2010", "criteo"}
        ``LIBSVM_SETS`` describes them.  The matrices of criteo, kdd2010 and avazu take many gigabytes of memory;
        ``libsvm_file`` with ``LibSVMIter`` reads them in batches.
    split : {"train", "test", "validation"}
        Not all data sets have all of them.
    root : str or path, optional
        Cache folder; default as for ``data_home``.
    site : str
        URL of a server with the same files.
    progress : bool
        Show the progress of the download.  Default True.
    refresh : bool
        Download again.  Default False.

    Returns
    -------
    Part
        ``data``, CSRNDArray (rows, features) of float32, and ``label``, a numpy array of float32 with the labels of the file:
        -1 and 1, or 0 and 1.

    Raises
    ------
    DownloadError
        If the download fails, or the file is not the same as in the first download.  The site publishes no digests, so the
        first download is trusted, and its sha256 is recorded.
    DataFileError
        If the file is damaged, or its number of rows is not that stated by the site.
    UnknownNameError
        If the name or the split is unknown.

    Examples
    --------
    >>> train = mx.datasets.fetch_libsvm("a9a")  # doctest: +SKIP
    >>> train.data.shape  # doctest: +SKIP
    (32561, 123)
    """
    facts, (_, _, rows) = _chosen(name, split)
    raw, digest, member = _raw(name, split, root, site, progress, refresh)

    def parse() -> dict[str, Any]:
        with open_member(raw, member) as text:
            rows_read = LibSVMReader(text, zero_based=False).read()
        if rows is not None and len(rows_read) != rows:
            raise DataFileError(f"{raw} has {len(rows_read):,} rows, but the {split} part of {name} has {rows:,}.",
                                hint="the download is incomplete or the file has changed; refresh=True downloads it again.")
        width = max(facts.features, int(rows_read.indices.max(initial=-1)) + 1)
        return {"data": wrap(rows_read.csr(width), cpu()), "label": wrap(np.asarray(rows_read.labels, np.float32), cpu())}

    parts = parsed_once(raw, digest, f"{name}.{split}", refresh, parse)
    return Part(parts["data"], parts["label"].asnumpy())
