"""Loggers whose lines begin with the level's letter, in colour: ``mx.log``."""

from __future__ import annotations

import logging
import warnings
from logging import CRITICAL, DEBUG, ERROR, INFO, NOTSET, WARNING

__all__ = ["CRITICAL", "DEBUG", "ERROR", "INFO", "NOTSET", "WARNING", "getLogger", "get_logger"]

_LETTERS = {CRITICAL: "C", ERROR: "E", WARNING: "W", INFO: "I", DEBUG: "D"}

#: Loggers that have a handler from here.
_prepared: set[str] = set()


class _Formatter(logging.Formatter):
    def __init__(self) -> None:
        super().__init__("%(asctime)s %(process)d %(pathname)s:%(funcName)s:%(lineno)d]\x1b[0m %(message)s", "%m%d %H:%M:%S")

    def format(self, record: logging.LogRecord) -> str:
        """The line of one record."""
        colour = "\x1b[31m" if record.levelno >= WARNING else "\x1b[32m" if record.levelno >= INFO else "\x1b[34m"
        return f"{colour}{_LETTERS.get(record.levelno, 'U')}{super().format(record)}"


def get_logger(name: str | None = None, filename: str | None = None, filemode: str | None = None,
               level: int = WARNING) -> logging.Logger:
    """A logger that writes to a file or to stderr; a second call for the same name changes nothing.

    Parameters
    ----------
    name : str, optional
        Without a name, the root logger is returned as it is.
    filename : str, optional
        The file that is written to; without it, lines go to stderr, in colour.
    filemode : str, optional
        ``"a"`` by default.
    level : int
    """
    logger = logging.getLogger(name)
    if name is not None and name not in _prepared:
        _prepared.add(name)
        if filename:
            handler: logging.Handler = logging.FileHandler(filename, filemode or "a")
        else:
            handler = logging.StreamHandler()
            handler.setFormatter(_Formatter())
        logger.addHandler(handler)
        logger.setLevel(level)
    return logger


def getLogger(name: str | None = None, filename: str | None = None, filemode: str | None = None,
              level: int = WARNING) -> logging.Logger:
    """``get_logger`` under its old name, with a ``DeprecationWarning``."""
    warnings.warn("getLogger is deprecated, Use get_logger instead.", DeprecationWarning, stacklevel=2)
    return get_logger(name, filename, filemode, level)
