"""Loggers with coloured lines that start with the letter of the level: ``mx.log``."""

from __future__ import annotations

import logging
from logging import CRITICAL, DEBUG, ERROR, INFO, NOTSET, WARNING

from ..base.warn import warn_user

__all__ = ["CRITICAL", "DEBUG", "ERROR", "INFO", "NOTSET", "WARNING", "getLogger", "get_logger"]

_LETTERS = {CRITICAL: "C", ERROR: "E", WARNING: "W", INFO: "I", DEBUG: "D"}

#: Names of loggers to which ``get_logger`` has added a handler.
_prepared: set[str] = set()


class _Formatter(logging.Formatter):
    def __init__(self) -> None:
        super().__init__("%(asctime)s %(process)d %(pathname)s:%(funcName)s:%(lineno)d]\x1b[0m %(message)s", "%m%d %H:%M:%S")

    def format(self, record: logging.LogRecord) -> str:
        """Format a record."""
        colour = "\x1b[31m" if record.levelno >= WARNING else "\x1b[32m" if record.levelno >= INFO else "\x1b[34m"
        return f"{colour}{_LETTERS.get(record.levelno, 'U')}{super().format(record)}"


def get_logger(name: str | None = None, filename: str | None = None, filemode: str | None = None,
               level: int = WARNING) -> logging.Logger:
    """Return a logger that writes to a file or to stderr; a second call with the same name returns it unchanged.

    Parameters
    ----------
    name : str, optional
        By default, return the root logger unchanged.
    filename : str, optional
        File to write to; by default, coloured lines are written to stderr.
    filemode : str, optional
        Mode of the file, ``"a"`` by default.
    level : int
        Default ``WARNING``.
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
    """Old name of ``get_logger``; emits a ``DeprecationWarning``."""
    warn_user("getLogger is deprecated, Use get_logger instead.", DeprecationWarning)
    return get_logger(name, filename, filemode, level)
