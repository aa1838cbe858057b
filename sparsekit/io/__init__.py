"""Reading and writing data: LibSVM files and the iterators over batches of them."""

from .data import DataBatch, DataDesc, DataIter
from .libsvm import LibSVMReader, load_libsvm, save_libsvm
from .libsvm_iter import LibSVMIter

__all__ = ["DataBatch", "DataDesc", "DataIter", "LibSVMIter", "LibSVMReader", "load_libsvm", "save_libsvm"]
