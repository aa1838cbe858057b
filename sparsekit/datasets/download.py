"""Downloads to a cache folder, which are resumed and verified; a file appears only when it is complete."""

from __future__ import annotations

import contextlib
import hashlib
import http.client
import json
import os
import re
import shutil
import tempfile
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple

from ..base.errors import DownloadError
from ..base.files import written
from ..base.formatting import format_bytes
from ..base.progress import Progress
from ..base.version import __version__

if TYPE_CHECKING:
    from http.client import HTTPResponse
    from os import PathLike
    from ssl import SSLContext

BLOCK = 1 << 18
#: Retries of a transfer without progress, and seconds before each retry.
RETRIES, WAIT = 4, 1.0
TIMEOUT = 30.0
#: Maximum size of a file whose size neither the publisher nor the server states.
LARGEST = 1 << 36
#: HTTP status codes of temporary errors, after which a retry may succeed.
TEMPORARY = (408, 425, 429, 500, 502, 503, 504)


class Fetched(NamedTuple):
    """A downloaded file, and its sha256."""

    path: Path
    sha256: str


class Source(NamedTuple):
    """A file to download.

    Attributes
    ----------
    url : str
    name : str
        Name of the file in the cache.
    size : int, optional
        Number of bytes, if its publisher states it.
    md5, sha256 : str, optional
        Digest, if its publisher states one.  Otherwise, later downloads are compared with the sha256 of the first (trust on
        first use).
    """

    url: str
    name: str
    size: int | None = None
    md5: str | None = None
    sha256: str | None = None


def data_home(root: str | PathLike[str] | None = None) -> Path:
    """The folder in which data sets are cached.

    Parameters
    ----------
    root : str or path, optional
        Default: the environment variable ``SPARSEKIT_DATA``, else ``sparsekit`` in ``XDG_CACHE_HOME``, else
        ``~/.cache/sparsekit``.

    Raises
    ------
    DownloadError
        If the home folder is needed and cannot be determined.
    """
    try:
        if root is not None:
            return Path(root).expanduser()
        if folder := os.environ.get("SPARSEKIT_DATA"):
            return Path(folder).expanduser()
        cache = os.environ.get("XDG_CACHE_HOME", "")
        return (Path(cache) if os.path.isabs(cache) else Path.home() / ".cache") / "sparsekit"
    except RuntimeError as error:  # a user without a home folder
        raise DownloadError(f"There is no folder for data sets: {error}", hint="set SPARSEKIT_DATA to a folder.") from error


def digest_of(path: Path, kind: str = "sha256") -> str:
    """The digest of a file, in hexadecimal digits."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, lambda: hashlib.new(kind, usedforsecurity=False)).hexdigest()


def fetch(source: Source, folder: Path, progress: bool = True, refresh: bool = False) -> Fetched:
    """Download a file to a folder, unless it is there already.

    The file appears under its name when it is complete and verified.  An interrupted transfer is resumed, by retries or by a
    later call, if the server supports it and its file has not changed.  A file that the user puts into the folder is verified
    and used.  Processes that download the same file wait for each other.

    Parameters
    ----------
    source : Source
    folder : Path
        Created if it does not exist.
    progress : bool
        Show the progress on standard error.
    refresh : bool
        Download again, and discard the recorded digest of the first download.

    Raises
    ------
    DownloadError
        If the download fails, or the file differs from the published one or from the first download.
    """
    _check_name(source)
    target, record = folder / source.name, folder / f"{source.name}.json"
    with _failures(source, target):
        folder.mkdir(parents=True, exist_ok=True)
        from filelock import FileLock

        with FileLock(folder / f"{source.name}.lock"):
            if refresh:
                target.unlink(missing_ok=True)
                record.unlink(missing_ok=True)
            if target.exists():
                return Fetched(target, _check(source, target, record))
            part = folder / f"{source.name}.part"
            _download(source, part, progress, RETRIES)
            try:
                digest = _check(source, part, record)
            except DownloadError:
                part.unlink()
                raise
            os.replace(part, target)
            return Fetched(target, digest)


def retrieve(url: str, target: Path, sha1: str | None, retries: int, context: SSLContext | None) -> None:
    """Download a file to a path.  It appears there when it is whole, and nothing is left of a download that fails.

    Parameters
    ----------
    url : str
    target : Path
        Its folder is created if it does not exist.
    sha1 : str or None
        SHA-1 that the file must have, in hexadecimal digits.
    retries : int
        Number of further attempts after one that made no progress.
    context : ssl.SSLContext or None

    Raises
    ------
    DownloadError
        If the download fails, or the SHA-1 differs.
    """
    source = Source(url, target.name)
    with _failures(source, target):
        target.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".download-", dir=target.parent) as folder:
            part = Path(folder) / "part"
            _download(source, part, False, retries, context)
            if sha1 is not None and (digest := digest_of(part, "sha1")) != sha1:
                raise _mismatch(source, target, f"the SHA-1 {digest}", sha1)
            os.replace(part, target)


def _check_name(source: Source) -> None:
    """Raise ``DownloadError`` unless the name is a plain file name, so that nothing is written outside the folder."""
    name = source.name
    if not isinstance(name, str) or name in ("", ".", "..") or not name.isprintable() or {"/", "\\", os.sep} & set(name):
        raise DownloadError(f"{name!r} is not a plain file name.", hint="pass a name without a folder, such as 'a9a.bz2'.")


def check_url(url: str) -> None:
    """Raise ``DownloadError`` unless a URL is a valid http or https URL."""
    try:
        parts = urllib.parse.urlsplit(url)
        valid = parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port is None or parts.port > 0)
        clean = url.isascii() and url.isprintable() and " " not in url
        problem = "" if valid and clean else "unknown url type, not a valid http or https URL"
    except (AttributeError, TypeError, ValueError) as error:
        problem = str(error)
    if problem:
        raise DownloadError(f"{url!r} cannot be downloaded: {problem}.", hint="pass a URL such as https://example.org/file.")


class _Redirects(urllib.request.HTTPRedirectHandler):
    """Follows redirects, as many as urllib allows, to http and https URLs only."""

    def redirect_request(self, *arguments: Any) -> urllib.request.Request | None:
        check_url(arguments[-1])
        return super().redirect_request(*arguments)


def opened(url: str, headers: dict[str, str], context: SSLContext | None) -> HTTPResponse:
    """Open a URL; the caller reads and closes the response.

    Parameters
    ----------
    url : str
    headers : dict
        Additional headers of the request.
    context : ssl.SSLContext or None

    Raises
    ------
    DownloadError
        If the URL, or one to which it redirects, is not a valid http or https URL.
    """
    check_url(url)
    request = urllib.request.Request(url, headers={"User-Agent": f"sparsekit/{__version__}", "Accept-Encoding": "identity",
                                                   **headers})
    opener = urllib.request.build_opener(_Redirects, urllib.request.HTTPSHandler(context=context))
    try:
        answer: HTTPResponse = opener.open(request, timeout=TIMEOUT)
        return answer
    except ValueError as error:  # an invalid URL to which the server redirects
        raise DownloadError(f"{url} cannot be downloaded: {error}.", hint="download it by hand.") from error


def announced(answer: HTTPResponse) -> int | None:
    """The ``Content-Length`` of a response, or None; raises ``http.client.HTTPException`` if it is not a number."""
    length = answer.headers.get("Content-Length")
    if length is None:
        return None
    if not (length.isascii() and length.isdigit() and len(length) < 16):
        raise http.client.HTTPException(f"the server sent the invalid Content-Length {length[:40]!r}")
    return int(length)


def copied(answer: HTTPResponse, file: BinaryIO, most: int, advance: Callable[[int], None]) -> int:
    """Copy a response to a file, and return the number of bytes.

    Parameters
    ----------
    answer : http.client.HTTPResponse
    file : file
    most : int
        Maximum number of bytes to write.
    advance : callable
        Called with the number of bytes of each block.

    Raises
    ------
    DownloadError
        If the response is longer.
    http.client.HTTPException
        If the response is not valid HTTP.
    """
    count, room = 0, memoryview(bytearray(BLOCK))
    while True:
        try:
            got = answer.readinto(room)
        except ValueError as error:  # an invalid chunk size
            raise http.client.HTTPException(f"the response is not valid HTTP: {error}") from error
        if not got:
            return count
        if count + got > most:
            raise DownloadError(f"{answer.url} sends more than the expected {most:,} bytes.",
                                hint="the file on the server has changed, or the server is faulty.")
        file.write(room[:got])
        count += got
        advance(got)


@contextlib.contextmanager
def _failures(source: Source, target: Path) -> Iterator[None]:
    """Convert errors of a download to ``DownloadError``."""
    try:
        yield
    except DownloadError:
        raise
    except urllib.error.HTTPError as error:
        raise DownloadError(f"{source.url} cannot be downloaded: the server answers {error.code} {error.reason}.",
                            hint=f"if the file has moved, download it by hand as {target}.") from error
    except (urllib.error.URLError, http.client.HTTPException, TimeoutError, ConnectionError) as error:
        reason = getattr(error, "reason", None) or error
        raise DownloadError(f"{source.url} cannot be downloaded: {reason}.",
                            hint=f"check the network, or put the file there by hand as {target}.") from error
    except OSError as error:
        raise DownloadError(f"{target} cannot be written: {error.strerror or error}.",
                            hint="choose a writable folder with enough free space by path=, or SPARSEKIT_DATA.") from error
    except (ArithmeticError, LookupError, TypeError, ValueError) as error:  # errors of urllib for malformed responses
        raise DownloadError(f"{source.url} cannot be downloaded: the response is malformed ({error}).",
                            hint=f"download it by hand as {target}.") from error


def _write_record(path: Path, record: dict[str, Any]) -> None:
    """Write a JSON file atomically."""
    with written(path) as file:
        file.write(f"{json.dumps(record, indent=1)}\n".encode())


def _read_record(path: Path) -> dict[str, Any]:
    """The contents of a JSON file; an empty dict if it is missing or damaged."""
    try:
        contents = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, RecursionError, ValueError):
        return {}
    return contents if isinstance(contents, dict) else {}


def _check(source: Source, path: Path, record: Path) -> str:
    """Verify a file against the published size and digests, and against the first download; return and record its sha256."""
    size, changed = path.stat().st_size, path.stat().st_mtime_ns
    first = _read_record(record)
    if first.get("size") == size and first.get("changed") == changed and "sha256" in first:
        return str(first["sha256"])  # this file was verified before: do not read gigabytes again
    if source.size is not None and size != source.size:
        raise _mismatch(source, path, f"{size:,} bytes", f"{source.size:,}")
    for kind, expected in (("sha256", source.sha256), ("md5", source.md5)):
        if expected is not None and (other := digest_of(path, kind)) != expected:
            raise _mismatch(source, path, f"the {kind} {other}", f"{expected} as published")
    recorded, digest = first.get("sha256"), digest_of(path)
    if recorded is not None and recorded != digest:
        raise _mismatch(source, path, f"the sha256 {digest}", f"{recorded} as when it was first downloaded")
    trust = "published digest" if source.sha256 or source.md5 else "first download"
    _write_record(record, {"url": source.url, "size": size, "sha256": digest, "trust": trust, "changed": changed})
    return digest


def _mismatch(source: Source, path: Path, actual: str, expected: str) -> DownloadError:
    return DownloadError(f"{path} from {source.url} has {actual}, not {expected}.",
                         hint="the file is damaged or was changed; refresh=True, or overwrite=True, downloads it again.")


def _download(source: Source, part: Path, progress: bool, retries: int, context: SSLContext | None = None) -> None:
    """Download the whole file to ``part``; retry after attempts that made progress, and ``retries`` times without progress."""
    failures = 0
    while True:
        before = part.stat().st_size if part.exists() else 0
        try:
            if _attempt(source, part, progress, context):
                return
            error: Exception = ConnectionError("the connection ended before the file did")
        except urllib.error.HTTPError as answer:
            answer.close()
            if answer.code == 416 and before:  # there are no bytes after those in ``part``
                if answer.headers.get("Content-Range") == f"bytes */{before}":
                    return
                part.unlink()
            elif answer.code not in TEMPORARY:
                raise
            error = answer
        except (urllib.error.URLError, http.client.HTTPException, TimeoutError, ConnectionError) as broken:
            error = broken
        after = part.stat().st_size if part.exists() else 0
        failures = 0 if after > before else failures + 1
        if failures > retries or (after == 0 and _unreachable(error)):
            raise error
        time.sleep(WAIT * 2 ** max(0, failures - 1) if failures else 0)


def _unreachable(error: Exception) -> bool:
    """Whether there is no network or no such host, so that a retry would fail too."""
    reason = getattr(error, "reason", None)
    return isinstance(reason, OSError) and not isinstance(reason, TimeoutError)


def _attempt(source: Source, part: Path, progress: bool, context: SSLContext | None) -> bool:
    """Make one transfer, which resumes a partial file; return whether the file is complete."""
    start = part.stat().st_size if part.exists() else 0
    state = part.with_name(f"{part.name}.json")
    validator = _read_record(state).get("validator")
    headers = {}
    if start and isinstance(validator, str) and validator.isascii() and validator.isprintable():
        # If-Range: the server sends the rest only if its file has not changed.
        headers = {"Range": f"bytes={start}-", "If-Range": validator}
    with opened(source.url, headers, context) as answer:
        etag = answer.headers.get("ETag") or ""
        now = answer.headers.get("Last-Modified") if etag[:2] in ("", "W/") else etag
        announced_size = None
        if answer.status == 206:
            content_range = re.fullmatch(r"bytes (\d{1,15})-(\d{1,15})/(\d{1,15}|\*)", answer.headers.get("Content-Range", ""))
            if not headers or content_range is None or int(content_range[1]) != start or (now is not None and now != validator):
                part.unlink(missing_ok=True)  # another range, or a range of another file
                raise http.client.HTTPException("the server did not send the range of bytes that was requested")
            announced_size = None if content_range[3] == "*" else int(content_range[3])
        elif answer.status == 200:
            start = 0
        else:
            raise http.client.HTTPException(f"the server answers {answer.status}")
        length = announced(answer)
        total = announced_size if announced_size is not None else None if length is None else start + length
        _check_room(source, part, total, start)
        _write_record(state, {"url": source.url, "validator": now})
        most = (total if total is not None else source.size if source.size is not None else LARGEST) - start
        shown = Progress(source.name, total, done=start, shown=progress)
        try:
            with open(part, "r+b" if start else "wb") as file:
                file.seek(start)
                end = start + copied(answer, file, max(0, most), shown.advance)
        except DownloadError:
            part.unlink()  # it cannot be resumed
            raise
        finally:
            shown.close(logged=True)
    if total is not None and end < total:
        return False
    state.unlink(missing_ok=True)
    return True


def _check_room(source: Source, part: Path, total: int | None, start: int) -> None:
    if total is not None and source.size is not None and total != source.size:
        raise DownloadError(f"{source.url} is {total:,} bytes long, not {source.size:,}.",
                            hint="the file on the server has changed.")
    free = shutil.disk_usage(part.parent).free
    if total is not None and total - start > free:
        raise DownloadError(f"{source.url} takes {format_bytes(total - start)}, but the disk has {format_bytes(free)} left.",
                            hint="choose a folder with more free space by path=, or SPARSEKIT_DATA.")
