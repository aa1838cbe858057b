"""Data sets: some are read from installed packages, the others are downloaded, verified and cached."""

from .docstrings import DocstringData, Part, load_docstrings
from .download import data_home
from .libsvm_sets import LIBSVM_SETS, LibSVMSet, fetch_libsvm, libsvm_file
from .movielens import MOVIELENS, MovieLens, Ratings, fetch_movielens
from .text import BPTTBatches, TextData, Vocabulary, load_pydoc

__all__ = ["LIBSVM_SETS", "MOVIELENS", "BPTTBatches", "DocstringData", "LibSVMSet", "MovieLens", "Part", "Ratings", "TextData",
           "Vocabulary", "data_home", "fetch_libsvm", "fetch_movielens", "libsvm_file", "load_docstrings", "load_pydoc"]
