"""Data files, and iterators over batches of rows: ``mx.io``."""

from __future__ import annotations

from ..base.entry import entry, entry_classes
from ..base.lazy import add_lazy_names
from .array_iter import NDArrayIter
from .csv_iter import CSVIter
from .data import DataBatch, DataDesc, DataIter
from .libsvm import LibSVMReader, load_libsvm, save_libsvm
from .libsvm_iter import LibSVMIter
from .wrapping import PrefetchingIter, ResizeIter

__all__ = ["CSVIter", "DataBatch", "DataDesc", "DataIter", "LibSVMIter", "LibSVMReader", "NDArrayIter", "PrefetchingIter",
           "ResizeIter", "load_libsvm", "save_libsvm"]

add_lazy_names(globals())

entry_classes(CSVIter, DataBatch, DataDesc, DataIter, LibSVMIter, LibSVMReader, NDArrayIter, PrefetchingIter, ResizeIter)
load_libsvm, save_libsvm = entry(load_libsvm), entry(save_libsvm)
