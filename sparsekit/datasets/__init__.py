"""Real data that needs no network: the documentation of the packages that are installed."""

from .docstrings import DocstringData, Part, load_docstrings

__all__ = ["DocstringData", "Part", "load_docstrings"]
