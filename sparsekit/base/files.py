"""Files that appear under their name when they are complete, or not at all."""

from __future__ import annotations

import contextlib
import errno
import functools
import os
import stat
import weakref
from collections.abc import Iterator
from typing import BinaryIO

from .errors import DataFileError, DTypeError, expected
from .platform import OPEN_SAFELY, can_lock, is_own, try_lock
from .scoped import Scoped
from .signal_safe import undisturbed


def path_of(name: object) -> str:  # object: whatever the user gave, to be checked
    """The path of a file of this machine.

    Raises
    ------
    DTypeError
        If it is neither str, bytes nor a path.
    DataFileError
        If it is empty, or contains a NUL or half of a surrogate pair.
    """
    try:
        path = os.fsdecode(name)  # type: ignore[arg-type]  # which raises for what is not a path
    except Exception:  # an object's own __fspath__ may raise anything
        raise DTypeError(expected("The file name", "a str or a path", type(name)),
                         hint="give 'name.params'.") from None
    try:
        fits = bool(path) and b"\0" not in os.fsencode(path)
    except UnicodeEncodeError:
        fits = False
    if not fits:
        raise DataFileError(expected("The file name", "text of at least one character without NUL", path),
                            hint="give a name such as 'weights.params'.")
    return path


#: Writers that one file may have at a time.
MOST = 1000


class written(Scoped):
    """A binary file to write in a ``with`` block; it appears under its name if the block succeeds.

    Until then it is ``.NAME.tmp`` beside it, or ``.NAME.1.tmp`` and so on while another writer has that one.  Neither
    Ctrl-C nor another signal leaves that file behind.  A process that is killed does; the next writer of the same name
    reuses that file, since no process holds its lock.

    A name that is a link stands for the file that it leads to.  A file that is there keeps its permissions, and is not replaced
    if they forbid to write it; a device or a pipe is never replaced.

    Parameters
    ----------
    path : path
        The name it takes.
    """

    _discard: weakref.finalize[[BinaryIO, str, int], written] | None = None

    def __init__(self, path: object) -> None:  # object: path_of checks it
        self._path = path_of(path)

    def _enter(self, before: None) -> BinaryIO:
        return undisturbed(self._open)

    def _leave(self, before: None, kind: type[BaseException] | None) -> None:
        discard = self._discard
        if discard is not None:
            undisturbed(functools.partial(self._keep, discard) if kind is None else discard)

    def _open(self) -> BinaryIO:
        permissions = _permissions(self._path)
        if os.path.islink(self._path):
            self._path = os.path.realpath(self._path)
        folder, name = os.path.split(self._path)
        for number in range(MOST):
            self._temporary = os.path.join(folder, f".{name}.{number}.tmp" if number else f".{name}.tmp")
            descriptor = _taken(self._temporary)
            if descriptor is not None:
                break
        else:
            raise FileExistsError(errno.EEXIST, "all names for a temporary file beside it are in use", self._path)
        self._file = os.fdopen(descriptor, "w+b")
        # For the end of the process inside the block.
        self._discard = weakref.finalize(self, _remove, self._file, self._temporary, os.getpid())
        if permissions is not None:
            with contextlib.suppress(OSError):  # a file system without permissions
                os.chmod(descriptor if os.chmod in os.supports_fd else self._temporary, permissions)
        return self._file

    def _keep(self, discard: weakref.finalize[[BinaryIO, str, int], written]) -> None:
        try:
            self._file.flush()
            if not can_lock():
                self._file.close()
            os.replace(self._temporary, self._path)
            discard.detach()
            self._file.close()
        finally:
            discard()


def _permissions(path: str) -> int | None:
    """Those of the file that is to be replaced; None if there is none, or a folder, which cannot be replaced."""
    try:
        mode = os.stat(path).st_mode
    except OSError:  # there is none yet; or it cannot be reached, which fails again where it is written
        return None
    if stat.S_ISDIR(mode):
        return None
    if not stat.S_ISREG(mode):
        raise OSError(errno.EEXIST, "it is a device, a pipe or a socket", path)
    if not os.access(path, os.W_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), path)
    return stat.S_IMODE(mode) & 0o777


def _taken(temporary: str) -> int | None:
    """The descriptor of an empty file that no other process writes; None if one does, or if it belongs to another user."""
    flags = os.O_RDWR | OPEN_SAFELY
    try:
        descriptor, created = os.open(temporary, flags | os.O_CREAT | os.O_EXCL, 0o666), True
    except FileExistsError:
        if not can_lock():
            return None
        try:
            descriptor, created = os.open(temporary, flags), False
        except OSError:  # of another user, or no file; or it has just gone
            return None
    try:
        try_lock(descriptor)
        here = os.fstat(descriptor)
        left = here.st_nlink == 1 and is_own(here)
        # Its writer may have given it its name, or removed it, before the lock was free.
        if (created or left) and os.path.samestat(here, os.lstat(temporary)):
            os.ftruncate(descriptor, 0)
            return descriptor
    except FileNotFoundError:
        pass
    except BlockingIOError:  # its writer lives
        pass
    except OSError:  # a system, or a file system, without locks: what was left behind there stays
        if created:
            return descriptor
    os.close(descriptor)
    return None


def _remove(file: BinaryIO, temporary: str, process: int) -> None:
    if process != os.getpid():
        return  # a forked child ends: the file is its parent's
    if not can_lock():
        _close(file)
    with contextlib.suppress(OSError):
        os.unlink(temporary)
    _close(file)


def _close(file: BinaryIO) -> None:
    with contextlib.suppress(OSError, ValueError):
        file.close()


def write_whole(path: object, data: bytes) -> None:  # object: path_of checks it
    """Write a file at once.

    Raises
    ------
    DataFileError
        If it cannot be written.
    """
    with failures_named(path), written(path) as file:
        file.write(data)


@contextlib.contextmanager
def failures_named(path: object) -> Iterator[None]:  # object: a name that path_of takes, or a file of the user's own
    """Turn every error of writing a file into a ``DataFileError``."""
    try:
        yield
    except DataFileError:
        raise
    except OSError as error:
        if hasattr(path, "write"):  # a file of the user's own
            raise
        raise DataFileError(f"{path_of(path)} cannot be written: {error.strerror}.",
                            hint="check that its folder exists, that no folder has its name, that you may write there, "
                            "and that there is space left.") from error
