"""Downloads from a server in this process that breaks off, forgets and lies; archives that do the same."""

import bz2
import contextlib
import gzip
import hashlib
import http.server
import io
import json
import lzma
import os
import random
import socket
import sys
import tarfile
import threading
import time
import tracemalloc
import types
import zipfile
from pathlib import Path

import numpy as np
import pytest

import sparsekit as mx
from sparsekit.base.errors import DataFileError, DownloadError, ShapeError, UnknownNameError
from sparsekit.base.progress import Progress
from sparsekit.datasets import archives, download, fetch_libsvm, fetch_movielens, libsvm_file, libsvm_sets, movielens
from sparsekit.datasets.archives import open_member, unpack
from sparsekit.datasets.download import Source, data_home, fetch
from sparsekit.gluon import utils
from tests.calls import refused

BODY = bytes(range(256)) * 40


class Handler(http.server.BaseHTTPRequestHandler):
    """Serves ``server.files`` as ``server.script`` says, an entry an answer: what to do to it."""

    def log_message(self, *_):
        pass

    def do_GET(self):
        server = self.server
        server.requests.append(dict(self.headers))
        action = server.script.pop(0) if server.script else {}
        body = server.files.get(self.path.lstrip("/"))
        if "status" in action or body is None:
            self.send_error(action.get("status", 404))
            return
        start, asked = 0, self.headers.get("Range")
        tag = action.get("tag", server.tag)
        if asked and not action.get("no_range") and self.headers.get("If-Range") == tag:
            start = int(asked.removeprefix("bytes=").rstrip("-"))
            if start >= len(body):
                self.send_response(416)
                self.send_header("Content-Range", f"bytes */{len(body)}")
                self.end_headers()
                return
            self.send_response(206)
            self.send_header("Content-Range", f"bytes {start}-{len(body) - 1}/{len(body)}")
        else:
            self.send_response(200)
        if tag:
            self.send_header("ETag", tag)
        if not action.get("no_length"):
            self.send_header("Content-Length", str(len(body) - start))
        self.end_headers()
        time.sleep(action.get("sleep", 0))
        self.wfile.write(body[start:][:action.get("cut")])


@pytest.fixture
def server(monkeypatch):
    monkeypatch.setattr(download, "WAIT", 0.001)
    made = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    made.daemon_threads = True
    made.files, made.script, made.requests, made.tag = {"file": BODY}, [], [], '"one"'
    made.url = f"http://127.0.0.1:{made.server_port}"
    thread = threading.Thread(target=made.serve_forever, args=(0.01,))
    thread.start()
    yield made
    made.shutdown()
    made.server_close()
    thread.join()


def get(server, folder, **options):
    source = Source(f"{server.url}/file", "file", **{name: options.pop(name) for name in ("md5", "sha256", "size")
                                                      if name in options})
    return fetch(source, folder, progress=False, **options)


@pytest.mark.parametrize("answer", [{}, {"no_length": True}], ids=str)
def test_a_file_is_downloaded_once(server, tmp_path, answer):
    digest = hashlib.sha256(BODY).hexdigest()
    server.script = [answer]
    for _ in range(2):
        path, found = get(server, tmp_path / "new")
        assert (path.read_bytes(), found) == (BODY, digest)
    assert len(server.requests) == 1
    assert json.loads((tmp_path / "new" / "file.json").read_text())["trust"] == "first download"
    assert sorted(one.name for one in (tmp_path / "new").iterdir()) == ["file", "file.json", "file.lock"]


def test_an_interrupted_transfer_goes_on(server, tmp_path):
    server.script = [{"cut": 3000}, {"cut": 2000}, {"status": 503}]
    assert get(server, tmp_path).path.read_bytes() == BODY
    assert [one.get("Range") for one in server.requests] == [None, "bytes=3000-", "bytes=5000-", "bytes=5000-"]


def test_a_later_call_goes_on(server, tmp_path, monkeypatch):
    monkeypatch.setattr(download, "RETRIES", 0)
    server.script = [{"cut": 3000}, {"status": 500}]
    refused(DownloadError, "the server answers 500", get, server, tmp_path)
    assert (tmp_path / "file.part").stat().st_size == 3000
    assert not (tmp_path / "file").exists()
    assert get(server, tmp_path).path.read_bytes() == BODY
    assert server.requests[-1]["Range"] == "bytes=3000-"


@pytest.mark.parametrize("change", [{"no_range": True}, {"tag": '"two"'}, {"tag": ""}], ids=str)
def test_what_cannot_be_gone_on_with_begins_anew(server, tmp_path, change):
    server.script = [{"cut": 3000}, change]
    assert get(server, tmp_path).path.read_bytes() == BODY


@pytest.mark.parametrize("tag", ["", 'W/"one"'], ids=["none", "weak"])
def test_without_a_validator_nothing_is_pieced_together(server, tmp_path, tag):
    server.tag, server.script = tag, [{"cut": 3000}]
    assert get(server, tmp_path).path.read_bytes() == BODY
    assert "Range" not in server.requests[-1]


@pytest.mark.parametrize("more", [b"", b"more"])
def test_a_part_that_is_already_all(server, tmp_path, more):
    begun(tmp_path, BODY + more)
    assert get(server, tmp_path).path.read_bytes() == BODY


def test_a_transfer_that_always_breaks_off_ends_in_an_error(server, tmp_path):
    server.script = [{"cut": 100}, *[{"cut": 0}] * 10]
    refused(DownloadError, "ended before the file did", get, server, tmp_path)
    assert len(server.requests) == 2 + download.RETRIES


def test_a_server_that_hangs(server, tmp_path, monkeypatch):
    monkeypatch.setattr(download, "TIMEOUT", 0.1)
    server.script = [{"sleep": 0.5}]
    assert get(server, tmp_path).path.read_bytes() == BODY
    assert len(server.requests) == 2


def test_no_such_file(server, tmp_path):
    with pytest.raises(DownloadError, match=r"cannot be downloaded: the server answers 404(.|\n)*by hand as"):
        fetch(Source(f"{server.url}/nothing", "nothing"), tmp_path, progress=False)
    assert len(server.requests) == 1


def test_no_network(tmp_path, monkeypatch):
    monkeypatch.setattr(download, "WAIT", 60)
    with pytest.raises(DownloadError, match=r"Connection refused(.|\n)*check the network, or put the file there by hand"):
        fetch(Source("http://127.0.0.1:1/file", "file"), tmp_path, progress=False)
    with pytest.raises(DownloadError, match="no-such-host"):
        fetch(Source("http://no-such-host.invalid/file", "file"), tmp_path, progress=False)


def test_a_place_that_cannot_be_written(server, tmp_path):
    (tmp_path / "in the way").write_text("")
    (tmp_path / "file.part").mkdir()
    for folder in (tmp_path / "in the way", tmp_path):
        refused(DownloadError, r"cannot be written(.|\n)*SPARSEKIT_DATA", get, server, folder)


def test_the_wrong_file_is_not_kept(server, tmp_path):
    for wrong in ({"md5": "0" * 32}, {"sha256": "0" * 64}, {"size": 7}):
        refused(DownloadError, r"not 0000|not 7", get, server, tmp_path, **wrong)
        assert not (tmp_path / "file").exists()
    right = {"md5": hashlib.md5(BODY).hexdigest(), "sha256": hashlib.sha256(BODY).hexdigest(), "size": len(BODY)}
    assert get(server, tmp_path, **right).path.exists()
    assert json.loads((tmp_path / "file.json").read_text())["trust"] == "published digest"


def test_the_first_download_is_trusted_and_later_ones_are_compared_with_it(server, tmp_path):
    get(server, tmp_path)
    (tmp_path / "file").write_bytes(BODY[:-1] + b"x")
    os.utime(tmp_path / "file", (0, 0))
    refused(DownloadError, r"as when it was first downloaded(.|\n)*refresh=True", get, server, tmp_path)
    (tmp_path / "file").unlink()
    server.files["file"] = BODY[::-1]
    refused(DownloadError, "as when it was first downloaded", get, server, tmp_path)
    assert not (tmp_path / "file").exists()
    assert get(server, tmp_path, refresh=True).path.read_bytes() == BODY[::-1]


def test_a_file_put_there_by_hand_is_checked_and_taken(server, tmp_path):
    (tmp_path / "file").write_bytes(BODY)
    assert get(server, tmp_path, md5=hashlib.md5(BODY).hexdigest()).sha256 == hashlib.sha256(BODY).hexdigest()
    assert server.requests == []


def test_two_at_once_download_once(server, tmp_path):
    server.script = [{"sleep": 0.3}]
    found = []
    threads = [threading.Thread(target=lambda: found.append(get(server, tmp_path).path.read_bytes())) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [BODY] * 3
    assert len(server.requests) == 1


# the function of gluon, whose answers that make no sense are below


def test_a_download_of_gluon_is_whole_checked_and_kept(server, tmp_path, monkeypatch):
    url, right, folder = f"{server.url}/file", hashlib.sha1(BODY).hexdigest(), tmp_path / "here"
    folder.mkdir()
    server.script = [{"status": 503}] * 2
    path = utils.download(url, str(folder), sha1_hash=right, retries=2)
    assert path == str(folder / "file")
    assert utils.check_sha1(path, right)
    (folder / "file").write_bytes(b"mine")
    assert utils.download(url, path) == path
    assert (folder / "file").read_bytes() == b"mine"
    utils.download(url, path, sha1_hash=right)
    assert utils.check_sha1(path, right)
    with pytest.raises(DataFileError, match=r"has the SHA-1 [0-9a-f]{40}, not 0{40}"):
        utils.download(url, str(tmp_path / "new" / "name"), sha1_hash="0" * 40)
    assert list((tmp_path / "new").iterdir()) == []
    monkeypatch.chdir(folder)
    with pytest.warns(UserWarning, match="verify_ssl"):
        assert utils.download(url, overwrite=True, verify_ssl=False) == "file"


def test_a_download_of_gluon_that_fails_says_why_and_leaves_nothing(server, tmp_path):
    server.script = [{"status": 503}] * 2
    with pytest.raises(DataFileError, match=r"cannot be downloaded: .*Service Unavailable"):
        utils.download(f"{server.url}/file", str(tmp_path / "x"), retries=1)
    for address, why in (("http://127.0.0.1:1/a", "refused"), ("nothing", "unknown url type"),
                         ("http://127.0.0.1/", "not end in a file name")):
        refused(DataFileError, why, utils.download, address, str(tmp_path / "y") if "file name" not in why else None, retries=0)
    refused(mx.SparsekitError, "retries must be an integer of at least 0, got -1", utils.download, server.url, retries=-1)
    assert list(tmp_path.iterdir()) == []


@pytest.fixture
def raw(monkeypatch):
    """A server that answers with bytes from a list, whatever it is asked, and keeps the requests."""
    monkeypatch.setattr(download, "WAIT", 0.001)
    listener = socket.create_server(("127.0.0.1", 0))
    answers, requests = [], []

    def serve():
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            with connection, contextlib.suppress(OSError):
                requests.append(connection.recv(65536))
                for piece in answers.pop(0) if len(answers) > 1 else answers[0]:
                    connection.sendall(piece)

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    yield types.SimpleNamespace(url=f"http://127.0.0.1:{listener.getsockname()[1]}/file", answers=answers, requests=requests)
    listener.shutdown(socket.SHUT_RDWR)
    listener.close()
    thread.join(60)


def head(*lines, status="200 OK"):
    return "\r\n".join((f"HTTP/1.1 {status}", "Connection: close", *lines, "", "")).encode("latin-1")


def partial(start=4000, last=None, total=None, tag='"one"'):
    """The head of an answer with a part of the body."""
    last = len(BODY) - 1 if last is None else last
    length = last - start + 1 if isinstance(start, int) else 10
    return head(f"Content-Range: bytes {start}-{last}/{total or len(BODY)}", f"ETag: {tag}", f"Content-Length: {length}",
                status="206 Partial Content")


def begun(folder, part=BODY[:4000]):
    """What an earlier transfer left."""
    (folder / "file.part").write_bytes(part)
    (folder / "file.part.json").write_text(json.dumps({"validator": '"one"'}))


WHOLE = [head('ETag: "two"', f"Content-Length: {len(BODY)}"), BODY]


@pytest.mark.parametrize("answer", [
    [partial(), BODY[4000:]],
    [partial(tag='"two"'), b"x" * (len(BODY) - 4000)], [partial(start=4001), BODY[4001:]], [partial(start=0), BODY],
    [head("Content-Length: 10", status="206 Partial Content"), b"x" * 10], [partial(start="x", last=9), b"x" * 10],
    [partial(total=len(BODY) + 5), BODY[4000:]]],
    ids=["the rest", "another file", "another start", "from the start", "no range", "no number", "another length"])
def test_a_part_that_was_not_asked_for_is_not_put_behind_what_is_here(raw, tmp_path, answer):
    begun(tmp_path)
    raw.answers += [answer, WHOLE]
    assert fetch(Source(raw.url, "file"), tmp_path, progress=False).path.read_bytes() == BODY
    assert (len(raw.requests) == 1) == (answer == [partial(), BODY[4000:]])


@pytest.mark.parametrize(("answer", "size", "said"), [
    ([head(), *[b"x" * 65536] * 200], 100_000, "sends more than the expected 100,000 bytes"),
    ([head("Transfer-Encoding: chunked"), *[b"10000\r\n" + b"x" * 65536 + b"\r\n"] * 200], 100_000, "sends more than"),
    ([head("Content-Length: 99999"), b"x" * 99_999], 100_000, "is 99,999 bytes long, not 100,000"),
    ([head("Content-Length: " + "9" * 15), b"x"], None, "takes 1000.0 TB|takes 1000000.0 GB|, but"),
    ([head("Content-Length: " + "9" * 30), b"x"], None, "the invalid Content-Length '999999"),
    ([head("Content-Length: -5"), b"x"], None, "the invalid Content-Length '-5'"),
    ([head("Content-Length: \u00b2"), b"x"], None, "sent the invalid Content-Length"),
    ([head("Transfer-Encoding: chunked"), b"-1\r\n", *[b"x" * 65536] * 50], None, "cannot be downloaded"),
    ([head("Transfer-Encoding: chunked"), b"zz\r\nhello\r\n"], None, "cannot be downloaded"),
    ([head("Transfer-Encoding: chunked"), b"f" * 70_000], None, "cannot be downloaded"),
    ([head(status="204 No Content")], None, "the server answers 204"),
    ([b"SSH-2.0-OpenSSH\r\n"], None, "cannot be downloaded"), ([b""], None, "cannot be downloaded"),
    ([b"HTTP/1.1 200 OK\r\n", b"a: b\r\n" * 1000, b"\r\n"], None, "cannot be downloaded"),
    ([head("Location: file:///etc/passwd", status="302 Found")], None, "cannot be downloaded"),
    ([head("Location: http://[", status="302 Found")], None, "cannot be downloaded"),
    ([head("Location: /file", status="302 Found")], None, "cannot be downloaded: the server answers 302"),
    ([head(), *[b"x" * 65536] * 40], None, "sends more than the expected 1,048,576 bytes"),
])
def test_answers_that_make_no_sense_are_named_and_written_within_bounds(raw, tmp_path, monkeypatch, answer, size, said):
    monkeypatch.setattr(download, "LARGEST", 1 << 20)  # of a file whose length nobody states
    raw.answers.append(answer)
    refused(DownloadError, said, lambda: fetch(Source(raw.url, "file", size), tmp_path, progress=False))
    assert not (tmp_path / "file").exists()
    assert sum(path.stat().st_size for path in tmp_path.iterdir()) < max(size or 0, 1 << 20)
    if size is None and "1,048,576" not in said:
        refused(DataFileError, said, utils.download, raw.url, str(tmp_path / "mine"), retries=0)
        assert not list(tmp_path.glob("*mine*"))


@pytest.mark.parametrize("url", ["nonsense", "", "file:///etc/passwd", "ftp://127.0.0.1/x", "http://", "http://[::1/x",
                                 "http://a b/c", "http://127.0.0.1:99999/", "http://127.0.0.1:1/\nX: y", "http://é/x", None])
def test_addresses_that_are_none(tmp_path, url):
    refused(DownloadError, "cannot be downloaded", lambda: fetch(Source(url, "file"), tmp_path, progress=False))
    assert not (tmp_path / "file").exists()


@pytest.mark.parametrize("name", ["../x", "/etc/x", "a/b", "..", ".", "", "a\0b", "a\nb", "a\\b", None, 3, b"x"])
def test_names_that_lead_out_of_the_folder(server, tmp_path, name):
    folder = tmp_path / "inner"
    refused(DownloadError, "is not a plain file name", lambda: fetch(Source(f"{server.url}/file", name), folder, progress=False))
    assert list(tmp_path.rglob("*")) == []
    assert server.requests == []


@pytest.mark.parametrize("facts", ['{"validator": 3}', '{"validator": "a\\nX: y"}', "[" * 100_000, "no json",
                                   '{"validator": "\\u1234"}'])
def test_facts_of_a_part_that_are_damaged(server, tmp_path, facts):
    begun(tmp_path)
    (tmp_path / "file.part.json").write_text(facts)
    assert get(server, tmp_path).path.read_bytes() == BODY


def test_where_data_are_kept(monkeypatch, tmp_path):
    monkeypatch.delenv("SPARSEKIT_DATA", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert data_home() == tmp_path / "sparsekit"
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    assert data_home() == Path.home() / ".cache" / "sparsekit"
    monkeypatch.setenv("SPARSEKIT_DATA", str(tmp_path / "mine"))
    assert data_home() == tmp_path / "mine"
    assert data_home(tmp_path) == tmp_path


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture
def progress_of(monkeypatch):
    """``advance`` after a number of seconds each."""
    now = [0.0]
    monkeypatch.setattr("sparsekit.base.progress.time", types.SimpleNamespace(monotonic=lambda: now[0]))

    def progress(stream, *steps, **options):
        shown = Progress("name", 4000, stream=stream, **options)
        for seconds, count in steps:
            now[0] += seconds
            shown.advance(count)
        return shown

    return progress


def test_progress_on_a_terminal(progress_of):
    terminal = Terminal()
    shown = progress_of(terminal, (5, 500), done=500)
    assert "name:  25%|" in terminal.getvalue()
    assert "1.00k/4.00k" in terminal.getvalue()
    shown.close()
    assert not terminal.getvalue().rstrip("\r").rpartition("\r")[2].strip()


def test_progress_in_a_log(progress_of):
    log = io.StringIO()
    progress_of(log, (5, 1000), (10, 1000), (0, 500)).close(logged=True)
    assert log.getvalue() == "name: 2.00 kB of 4.00 kB\nname: 2.50 kB of 4.00 kB\n"


def test_progress_that_is_not_to_be_shown(progress_of):
    for silent in (io.StringIO(), Terminal()):
        progress_of(silent, (20, 10), shown=False).close(logged=True)
        assert silent.getvalue() == ""


def test_a_terminal_without_tqdm_shows_no_progress(monkeypatch, tmp_path, server):
    monkeypatch.setitem(sys.modules, "tqdm", None)
    terminal = Terminal()
    monkeypatch.setattr("sys.stderr", terminal)
    monkeypatch.setattr("sparsekit.base.progress.REDRAW", -1.0)
    assert fetch(Source(f"{server.url}/file", "file"), tmp_path).path.read_bytes() == BODY
    assert terminal.getvalue() == ""


def zipped(**members):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in members.items():
            archive.writestr(name.replace("__", "/"), text)
    return file.getvalue()


def tarred(mode="w:xz", **members):
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode=mode) as archive:
        for name, text in members.items():
            entry = tarfile.TarInfo(name.replace("__", "/"))
            entry.size = len(text)
            archive.addfile(entry, io.BytesIO(text))
    return file.getvalue()


TEXT = b"1 1:0.5 3:2\n-1 2:1\n" * 500


@pytest.mark.parametrize(("packed", "member"), [
    (TEXT, None), (bz2.compress(TEXT), None), (gzip.compress(TEXT), None), (lzma.compress(TEXT), None),
    (zipped(a__b=TEXT, c=b"other"), "a/b"), (tarred(c=b"other", a__b=TEXT), "a/b"), (tarred("w:gz", a=TEXT), "a")],
    ids=["plain", "bz2", "gzip", "xz", "zip", "tar.xz", "tar.gz"])
def test_packed_text(tmp_path, packed, member):
    (tmp_path / "packed").write_bytes(packed)
    with open_member(tmp_path / "packed", member) as text:
        assert text.read() == TEXT
    assert unpack(tmp_path / "packed", tmp_path / "text", member).read_bytes() == TEXT
    if packed is not TEXT:
        (tmp_path / "short").write_bytes(packed[:len(packed) * 2 // 3])
        refused(DataFileError, r"is damaged, truncated|no member", unpack, tmp_path / "short", tmp_path / "other", member)
    with pytest.raises(DataFileError, match="decompresses to more bytes than the limit"):
        unpack(tmp_path / "packed", tmp_path / "other", member, limit=len(TEXT) - 1)
    assert sorted(one.name for one in tmp_path.iterdir()) == sorted(
        {"packed", "text"} | ({"short"} if packed is not TEXT else set()))
    if member:
        with pytest.raises(DataFileError, match="has no member nothing"), open_member(tmp_path / "packed", "nothing"):
            pass
    with pytest.raises(DataFileError, match="There is no file"), open_member(tmp_path / "missing"):
        pass


def test_nothing_is_written_where_an_archive_says(tmp_path):
    inner = tmp_path / "inner"
    inner.mkdir()
    for number, packed in enumerate((zipped(**{"..__escaped": b"x"}), tarred(**{"..__escaped": b"x"}))):
        (inner / f"packed{number}").write_bytes(packed)
        unpack(inner / f"packed{number}", inner / "text", "../escaped")
    assert sorted(one.name for one in tmp_path.rglob("*")) == ["inner", "packed0", "packed1", "text"]


def patched(archive, **changes):
    """A zip archive of one member whose headers say something else."""
    changed = bytearray(archive)
    for signature, flags, method in ((b"PK\x03\x04", 6, 8), (b"PK\x01\x02", 8, 10)):
        place = archive.find(signature)
        if "flags" in changes:
            changed[place + flags] |= changes["flags"]
        if "method" in changes:
            changed[place + method:place + method + 2] = changes["method"].to_bytes(2, "little")
    return bytes(changed)


def long_header():
    """A tar archive with a name of 64 MiB, which a reader of tar takes into memory."""
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w:gz", compresslevel=1) as archive:
        entry = tarfile.TarInfo("a")
        entry.type, entry.size = tarfile.GNUTYPE_LONGNAME, 1 << 26
        archive.addfile(entry, io.BytesIO(bytes(1 << 26)))
    return file.getvalue()


@pytest.mark.parametrize(("packed", "said"), [
    (patched(zipped(a=TEXT), flags=1), "is encrypted"), (patched(zipped(a=TEXT), method=99), "by an unsupported method"),
    (patched(zipped(a=TEXT), method=12), "is damaged, truncated"), (long_header(), "is damaged, truncated"),
    (zipped(a=TEXT)[:-30], "is damaged, truncated"), (tarred("w:gz", a=TEXT)[:100], "is damaged, truncated"),
    (b"PK\x03\x04" + bytes(50), "is damaged, truncated"), (b"", "is damaged, truncated"),
    (bytes(5000), "is damaged, truncated|no member"),
    (gzip.compress(bytes(3000)), "is damaged, truncated|no member")])
def test_archives_that_cannot_be_read_are_named(tmp_path, packed, said):
    (tmp_path / "packed").write_bytes(packed)
    tracemalloc.start()
    try:
        refused(DataFileError, said, unpack, tmp_path / "packed", tmp_path / "text", "a")
        assert tracemalloc.get_traced_memory()[1] < 1 << 25
    finally:
        tracemalloc.stop()
    assert [one.name for one in tmp_path.iterdir()] == ["packed"]


def test_random_damage_of_archives_is_named(tmp_path):
    draw = random.Random(6)
    for packed in (zipped(a=TEXT), tarred("w:gz", a=TEXT), tarred("w:xz", a=TEXT), tarred("w:", a=TEXT)):
        for _ in range(40):
            changed = bytearray(packed)
            for _ in range(draw.randint(1, 4)):
                changed[draw.randrange(len(changed))] = draw.randrange(256)
            (tmp_path / "packed").write_bytes(changed)
            try:
                assert len(unpack(tmp_path / "packed", tmp_path / "text", "a").read_bytes()) < 1 << 20
                (tmp_path / "text").unlink()
            except DataFileError:
                pass
            assert [one.name for one in tmp_path.iterdir()] == ["packed"]


def test_bombs_are_not_unpacked(tmp_path, monkeypatch):
    monkeypatch.setattr(archives, "LEAST", 1 << 18)
    zeros = bytes(1 << 21)
    for packed, member in ((zipped(a=zeros), "a"), (tarred("w:gz", a=zeros), "a"), (tarred("w:gz", b=zeros, a=TEXT), "a"),
                           (gzip.compress(zeros), None), (bz2.compress(zeros), None), (lzma.compress(zeros), None)):
        (tmp_path / "packed").write_bytes(packed)
        with pytest.raises(DataFileError, match="decompresses to more bytes than the limit"):
            unpack(tmp_path / "packed", tmp_path / "text", member)
        assert [one.name for one in tmp_path.iterdir()] == ["packed"]


def test_an_error_of_who_reads_or_writes_is_not_said_to_be_the_archives(tmp_path):
    (tmp_path / "packed").write_bytes(gzip.compress(TEXT))
    with pytest.raises(ValueError, match="the reader's own"), open_member(tmp_path / "packed"):
        raise ValueError("the reader's own")
    refused(DataFileError, "cannot be written", unpack, tmp_path / "packed", tmp_path / "nowhere" / "text")


@pytest.fixture
def sets(server, monkeypatch):
    """Small sets under the names of large ones."""
    monkeypatch.setitem(libsvm_sets.LIBSVM_SETS, "a9a", libsvm_sets.LIBSVM_SETS["a9a"]._replace(
        splits={"train": ("a9a", None, 1000), "test": ("a9a.t", None, 3)}))
    server.files.update({"a9a": TEXT, "a9a.t": TEXT, "news20.binary.bz2": bz2.compress(TEXT),
                         "criteo.kaggle2014.svm.tar.xz": tarred(**{"criteo.kaggle2014.svm__test.txt.svm": TEXT})})
    return server


def test_a_set_is_parsed_once_and_kept(sets, tmp_path, monkeypatch):
    options = {"root": tmp_path, "site": sets.url, "progress": False}
    first = fetch_libsvm("a9a", **options)
    assert (first.data.stype, first.data.shape, first.data.dtype) == ("csr", (1000, 123), np.float32)
    assert first.data[:2, :3].asnumpy().tolist() == [[0.5, 0, 2], [0, 1, 0]]
    assert (first.label.dtype, first.label[:2].tolist()) == (np.float32, [1, -1])
    with monkeypatch.context() as patch:
        patch.setattr(libsvm_sets, "LibSVMReader", None)
        again = fetch_libsvm("a9a", **options)
    assert len(sets.requests) == 1
    np.testing.assert_array_equal(first.data.asnumpy(), again.data.asnumpy())
    assert again.label.tolist() == first.label.tolist()
    (kept,) = (tmp_path / "libsvm").glob("*.params")
    kept.write_bytes(kept.read_bytes()[:1000])  # what is damaged is parsed again
    assert fetch_libsvm("a9a", **options).data.shape == (1000, 123)


def test_sets_that_are_not_what_they_should_be(sets, tmp_path, monkeypatch):
    options = {"root": tmp_path, "site": sets.url, "progress": False}
    refused(DataFileError, "has 1,000 rows, but the test part of a9a has 3", fetch_libsvm, "a9a", "test", **options)
    refused(UnknownNameError, r"LIBSVM data set named 'a9b'(.|\n)*did you mean 'a9a'", fetch_libsvm, "a9b", **options)
    refused(UnknownNameError, "part of a9a named 'validation'", fetch_libsvm, "a9a", "validation", **options)
    sets.files["news20.binary.bz2"] = bz2.compress(TEXT)[:-10]
    refused(DataFileError, r"is damaged, truncated|in the middle of its compressed data", fetch_libsvm, "news20", **options)
    monkeypatch.setenv("SPARSEKIT_DATA", str(tmp_path / "other"))
    refused(DownloadError, "404", fetch_libsvm, "rcv1", site=sets.url, progress=False)
    assert (tmp_path / "other" / "libsvm").is_dir()


def test_large_sets_are_streamed(sets, tmp_path):
    path = libsvm_file("criteo", "test", root=tmp_path, site=sets.url, progress=False)
    assert path.read_bytes() == TEXT
    iterator = mx.io.LibSVMIter(path, 1_000_000, 10, zero_based=False)
    assert next(iterator).data[0].shape == (10, 1_000_000)
    before = path.stat().st_mtime_ns
    assert libsvm_file("criteo", "test", root=tmp_path, site=sets.url, progress=False).stat().st_mtime_ns == before
    assert libsvm_file("a9a", root=tmp_path, site=sets.url, progress=False).name == "a9a"


def ratings(sign, head=""):
    generator = np.random.default_rng(1)
    places = generator.permutation(40 * 30)[:200]
    lines = [sign.join(map(str, (place // 30 + 1, place % 30 * 7 + 1, generator.integers(1, 11) / 2, 978300760 + place)))
             for place in places.tolist()]
    return (head + "\n".join(lines) + "\n").encode()


@pytest.mark.parametrize(("size", "sign", "head"), [
    ("100k", "\t", ""), ("1m", "::", ""), ("20m", ",", "userId,movieId,rating,timestamp\n")])
def test_movielens(server, tmp_path, monkeypatch, size, sign, head):
    edition = movielens.MOVIELENS[size]
    text = ratings(sign, head)
    body = zipped(**{edition.member.replace("/", "__"): text})
    server.files[edition.file] = body
    options = {"root": tmp_path, "site": server.url, "progress": False}
    refused(DownloadError, "as published", fetch_movielens, size, **options)
    monkeypatch.setitem(movielens.MOVIELENS, size, edition._replace(md5=hashlib.md5(body).hexdigest()))
    refused(DataFileError, "has 200 ratings, not", fetch_movielens, size, **options)
    monkeypatch.setitem(movielens.MOVIELENS, size, movielens.MOVIELENS[size]._replace(ratings=200))
    data = fetch_movielens(size, **options)
    assert (len(data.train.rating), len(data.test.rating), data.train.rating.dtype) == (180, 20, np.float32)
    rows = {tuple(map(float, line.split(sign))) for line in text.decode().splitlines()[bool(head):]}
    found = {(float(data.users[user]), float(data.items[item]), float(rating), float(moment))
             for part in (data.train, data.test) for user, item, rating, moment in zip(*part, strict=True)}
    assert found == rows
    matrix = data.train.matrix(*data.shape)
    assert (matrix.stype, matrix.shape, matrix.data.shape) == ("csr", data.shape, (180,))
    matrix.check_format(full_check=True)
    user, item, rating = data.train.user[5], data.train.item[5], data.train.rating[5]
    assert matrix[int(user), int(item)].asnumpy().tolist() == [rating]
    again = fetch_movielens(size, **options)
    assert again.test.user.tolist() == data.test.user.tolist()
    assert fetch_movielens(size, seed=1, **options).test.time.tolist() != data.test.time.tolist()


def test_movielens_that_is_none(server, tmp_path):
    options = {"root": tmp_path, "site": server.url, "progress": False}
    for text in (b"1,2,three,4\n", b"1,2,3\n", b"1,2,3,4\n5,6"):
        server.files["ml-latest-small.zip"] = zipped(**{"ml-latest-small__ratings.csv": text})
        refused(DataFileError, "lines that are not ratings", fetch_movielens, "latest-small", refresh=True, **options)
    refused(UnknownNameError, "size of MovieLens named '2m'", fetch_movielens, "2m", **options)
    refused(ShapeError, "test_share", fetch_movielens, "100k", 1.5, **options)
