"""Data sets: paragraphs of books come with the package, the others are downloaded, verified and cached."""

from .books import AUTHORS, BookData, Paragraph, Part, books_file, load_books, read_books
from .download import data_home
from .libsvm_sets import LIBSVM_SETS, LibSVMSet, fetch_libsvm, libsvm_file
from .movielens import MOVIELENS, MovieLens, Ratings, fetch_movielens
from .text import BPTTBatches, TextData, Vocabulary, load_book_tokens

__all__ = ["AUTHORS", "LIBSVM_SETS", "MOVIELENS", "BPTTBatches", "BookData", "LibSVMSet", "MovieLens", "Paragraph", "Part",
           "Ratings", "TextData", "Vocabulary", "books_file", "data_home", "fetch_libsvm", "fetch_movielens", "libsvm_file",
           "load_book_tokens", "load_books", "read_books"]
