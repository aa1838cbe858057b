"""Downloads of files to a cache folder: resumed, checked, and complete or absent."""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import http.client
import json
import os
import re
import shutil
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
from ..base.scoped import Scoped
from ..base.version import __version__

if TYPE_CHECKING:
    from http.client import HTTPResponse
    from os import PathLike
    from ssl import SSLContext

__all__ = ["Fetched", "Source", "data_home", "digest_of", "fetch"]

BLOCK = 1 << 18
#: Retries of a transfer without progress, and seconds before each retry.
RETRIES, WAIT = 4, 1.0
TIMEOUT = 30.0
#: Bytes of a file of which neither its publisher nor its server says how long it is.
LARGEST = 1 << 36
#: Answers of a server after which another attempt makes sense.
PASSING = (408, 425, 429, 500, 502, 503, 504)


class Fetched(NamedTuple):
    """A file that is there, and its sha256."""

    path: Path
    sha256: str


class Source(NamedTuple):
    """A file to download.

    Attributes
    ----------
    url : str
    name : str
        What it is called in the cache.
    size : int, optional
        Bytes, where its publisher states them.
    md5, sha256 : str, optional
        Its digest, where its publisher states one.  Where none does, that of the first download is kept and
        everything later is compared with it: trust on first use.
    """

    url: str
    name: str
    size: int | None = None
    md5: str | None = None
    sha256: str | None = None


def data_home(root: str | PathLike[str] | None = None) -> Path:
    """The folder that data sets are kept in.

    Parameters
    ----------
    root : str or path, optional
        By default ``SPARSEKIT_DATA``, else ``sparsekit`` in ``XDG_CACHE_HOME``, else ``~/.cache/sparsekit``.
    """
    try:
        if root is not None:
            return Path(root).expanduser()
        if given := os.environ.get("SPARSEKIT_DATA"):
            return Path(given).expanduser()
        cache = os.environ.get("XDG_CACHE_HOME", "")
        return (Path(cache) if os.path.isabs(cache) else Path.home() / ".cache") / "sparsekit"
    except RuntimeError as error:  # a user without a home
        raise DownloadError(f"There is no folder to keep data in: {error}", hint="set SPARSEKIT_DATA to one.") from error


def digest_of(path: Path, kind: str = "sha256") -> str:
    """The digest of a file, in hexadecimal digits."""
    found = hashlib.new(kind, usedforsecurity=False)
    with open(path, "rb") as file:
        while block := file.read(1 << 20):
            found.update(block)
    return found.hexdigest()


def fetch(source: Source, folder: Path, progress: bool = True, refresh: bool = False) -> Fetched:
    """The file in the folder, downloaded if it is not there yet.

    It appears under its name when it is complete and has been checked.  A transfer that was cut off is taken up
    where it stopped, now or by a later call, if the server can do that and the file there is still the same.  A
    file put there by hand is checked and taken.  Two processes that want the same file wait for each other.

    Parameters
    ----------
    source : Source
    folder : Path
        Made if it is not there.
    progress : bool
        Show how far it is, on standard error.
    refresh : bool
        Download again, and forget the digest of the first time.

    Raises
    ------
    DownloadError
        If there is no network or no such file, or if the file differs from the published one, or from the first download.
    """
    _check_name(source)
    target, record = folder / source.name, folder / f"{source.name}.json"
    with _failures(source, target):
        folder.mkdir(parents=True, exist_ok=True)
        with _only_one(folder / f"{source.name}.lock"):
            if refresh:
                target.unlink(missing_ok=True)
                record.unlink(missing_ok=True)
            if target.exists():
                return Fetched(target, _check(source, target, record))
            part = folder / f"{source.name}.part"
            _download(source, part, progress)
            try:
                digest = _check(source, part, record)
            except DownloadError:
                part.unlink()
                raise
            os.replace(part, target)
            return Fetched(target, digest)


def _check_name(source: Source) -> None:
    """Refuse a name that is more than the name of a file in the folder."""
    name = source.name
    if not isinstance(name, str) or name in ("", ".", "..") or not name.isprintable() or {"/", "\\", os.sep} & set(name):
        raise DownloadError(f"{name!r} is not the name of a file: nothing is written outside the data folder.",
                            hint="give a plain name, such as 'a9a.bz2'.")


def check_url(url: str) -> None:
    """Raise unless an address is that of a web server.

    Raises
    ------
    DownloadError
        With what is wrong with it.
    """
    try:
        parts = urllib.parse.urlsplit(url)
        well = parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port is None or parts.port > 0)
        clean = url.isascii() and url.isprintable() and " " not in url
        problem = "" if well and clean else "unknown url type, no http or https address"
    except (AttributeError, TypeError, ValueError) as error:
        problem = str(error)
    if problem:
        raise DownloadError(f"{url!r} cannot be downloaded: {problem}.", hint="an address is like https://example.org/file.")


class _Redirects(urllib.request.HTTPRedirectHandler):
    """Follows redirections, a few and to web servers only."""

    def redirect_request(self, *given: Any) -> urllib.request.Request | None:
        check_url(given[-1])
        return super().redirect_request(*given)


def opened(url: str, headers: dict[str, str] | None = None, context: SSLContext | None = None,
           timeout: float | None = None) -> HTTPResponse:
    """The answer of a web server, to be read and closed.

    Parameters
    ----------
    url : str
    headers : dict, optional
        Sent with the request.
    context : ssl.SSLContext, optional
    timeout : float, optional
        Seconds that the server may stay silent.

    Raises
    ------
    DownloadError
        If it is not an address of a web server, or redirects to something else.
    """
    check_url(url)
    request = urllib.request.Request(url, headers={"User-Agent": f"sparsekit/{__version__}", "Accept-Encoding": "identity",
                                                   **(headers or {})})
    opener = urllib.request.build_opener(_Redirects, urllib.request.HTTPSHandler(context=context))
    try:
        found: HTTPResponse = opener.open(request, timeout=TIMEOUT if timeout is None else timeout)
        return found
    except ValueError as error:  # of an address that the server sends to
        raise DownloadError(f"{url} cannot be downloaded: {error}.", hint="download it by hand.") from error


def announced(answer: HTTPResponse) -> int | None:
    """Bytes that an answer says will come; None if it does not say.

    Raises
    ------
    http.client.HTTPException
        If it says something else.
    """
    length = answer.headers.get("Content-Length")
    if length is None:
        return None
    if not (length.isascii() and length.isdigit() and len(length) < 16):
        raise http.client.HTTPException(f"the server announces {length[:40]!r} bytes")
    return int(length)


def copied(answer: HTTPResponse, file: BinaryIO, most: int, advance: Callable[[int], None] | None = None) -> int:
    """Write what comes to a file, and give how many bytes there were.

    Parameters
    ----------
    answer : http.client.HTTPResponse
    file : file
    most : int
        Bytes that may come; it never writes more.
    advance : callable, optional
        Told of each piece.

    Raises
    ------
    DownloadError
        If more comes.
    http.client.HTTPException
        If something comes that is not HTTP.
    """
    count, room = 0, memoryview(bytearray(BLOCK))
    while True:
        try:
            got = answer.readinto(room)
        except ValueError as error:  # of the sizes of chunks
            raise http.client.HTTPException(f"the answer is not valid HTTP: {error}") from error
        if not got:
            return count
        if count + got > most:
            raise DownloadError(f"{answer.url} sends more than the expected {most:,} bytes.",
                                hint="the file there has been changed, or its server is broken.")
        file.write(room[:got])
        count += got
        if advance is not None:
            advance(got)


class _only_one(Scoped):
    """Hold a lock that other processes wait for; it is released however this one ends."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def _before(self) -> list[Any]:
        return []

    def _enter(self, before: list[Any]) -> None:
        before.append(open(self._path, "wb"))  # noqa: SIM115 - _leave closes it
        fcntl.flock(before[0], fcntl.LOCK_EX)

    def _leave(self, before: list[Any], kind: type[BaseException] | None) -> None:
        for lock in before:
            lock.close()


@contextlib.contextmanager
def _failures(source: Source, target: Path) -> Iterator[None]:
    """What goes wrong, in words."""
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
                            hint="set SPARSEKIT_DATA to a folder with room that you may write to.") from error
    except (ArithmeticError, LookupError, TypeError, ValueError) as error:  # of urllib, for what no server should say
        raise DownloadError(f"{source.url} cannot be downloaded: the answer is malformed ({error}).",
                            hint=f"download it by hand as {target}.") from error


def _written(path: Path, facts: dict[str, Any]) -> None:
    """Write a small file of facts, at once."""
    with written(path) as file:
        file.write(f"{json.dumps(facts, indent=1)}\n".encode())


def _facts(path: Path) -> dict[str, Any]:
    """What such a file says; nothing if it is missing or damaged."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, RecursionError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def _check(source: Source, path: Path, record: Path) -> str:
    """Compare a file with what its publisher says of it, and with the first download; its sha256, which is kept."""
    size, changed = path.stat().st_size, path.stat().st_mtime_ns
    facts = _facts(record)
    if facts.get("size") == size and facts.get("changed") == changed and "sha256" in facts:
        return str(facts["sha256"])  # the same file was checked before: do not read gigabytes again
    if source.size is not None and size != source.size:
        raise _wrong(source, path, f"{size:,} bytes", f"{source.size:,}")
    for kind, expected in (("sha256", source.sha256), ("md5", source.md5)):
        if expected is not None and (other := digest_of(path, kind)) != expected:
            raise _wrong(source, path, f"the {kind} {other}", f"{expected} as published")
    known, found = facts.get("sha256"), digest_of(path)
    if known is not None and known != found:
        raise _wrong(source, path, f"the sha256 {found}", f"{known} as when it was first downloaded")
    trust = "published digest" if source.sha256 or source.md5 else "first download"
    _written(record, {"url": source.url, "size": size, "sha256": found, "trust": trust, "changed": changed})
    return found


def _wrong(source: Source, path: Path, found: str, expected: str) -> DownloadError:
    return DownloadError(f"{path} from {source.url} has {found}, not {expected}.",
                         hint="it is damaged or has been changed; refresh=True downloads it again.")


def _download(source: Source, part: Path, progress: bool) -> None:
    """All of the file into ``part``, retrying as long as attempts make progress, and a few times more."""
    failures = 0
    while True:
        before = part.stat().st_size if part.exists() else 0
        try:
            if _attempt(source, part, progress):
                return
            error: Exception = ConnectionError("the connection ended before the file did")
        except urllib.error.HTTPError as answer:
            answer.close()
            if answer.code == 416 and before:  # there is nothing behind what is here
                if answer.headers.get("Content-Range") == f"bytes */{before}":
                    return
                part.unlink()
            elif answer.code not in PASSING:
                raise
            error = answer
        except (urllib.error.URLError, http.client.HTTPException, TimeoutError, ConnectionError) as broken:
            error = broken
        after = part.stat().st_size if part.exists() else 0
        failures = 0 if after > before else failures + 1
        if failures > RETRIES or (after == 0 and _nowhere(error)):
            raise error
        time.sleep(WAIT * 2 ** max(0, failures - 1) if failures else 0)


def _nowhere(error: Exception) -> bool:
    """Whether there is no network or no such host, so that retrying is useless."""
    reason = getattr(error, "reason", None)
    return isinstance(reason, OSError) and not isinstance(reason, TimeoutError)


def _attempt(source: Source, part: Path, progress: bool) -> bool:
    """One transfer, which goes on from what is there; whether the file is complete."""
    start = part.stat().st_size if part.exists() else 0
    state = part.with_name(f"{part.name}.json")
    validator = _facts(state).get("validator")
    asked = {}
    if start and isinstance(validator, str) and validator.isascii() and validator.isprintable():
        # The rest of another version would be of no use.
        asked = {"Range": f"bytes={start}-", "If-Range": validator}
    with opened(source.url, asked) as answer:
        etag = answer.headers.get("ETag") or ""
        now = answer.headers.get("Last-Modified") if etag[:2] in ("", "W/") else etag
        whole = None
        if answer.status == 206:
            found = re.fullmatch(r"bytes (\d{1,15})-(\d{1,15})/(\d{1,15}|\*)", answer.headers.get("Content-Range", ""))
            if not asked or found is None or int(found[1]) != start or (now is not None and now != validator):
                part.unlink(missing_ok=True)  # another part, or a part of another file
                raise http.client.HTTPException("the server did not send the range of bytes that was requested")
            whole = None if found[3] == "*" else int(found[3])
        elif answer.status == 200:
            start = 0
        else:
            raise http.client.HTTPException(f"the server answers {answer.status}")
        length = announced(answer)
        total = whole if whole is not None else None if length is None else start + length
        _check_room(source, part, total, start)
        _written(state, {"url": source.url, "validator": now})
        most = (total if total is not None else source.size if source.size is not None else LARGEST) - start
        shown = Progress(source.name, total, done=start, shown=progress)
        try:
            with open(part, "r+b" if start else "wb") as file:
                file.seek(start)
                end = start + copied(answer, file, max(0, most), shown.advance)
        except DownloadError:
            part.unlink()  # its rest is of no use
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
                            hint="the file there has been changed.")
    free = shutil.disk_usage(part.parent).free
    if total is not None and total - start > free:
        raise DownloadError(f"{source.url} takes {format_bytes(total - start)}, but {part.parent} has {format_bytes(free)} left.",
                            hint="set SPARSEKIT_DATA to a folder with more room.")
