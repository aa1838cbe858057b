"""Splitting, clipping, checksums and downloads."""

import functools
import hashlib
import http.server
import threading

import numpy as np
import pytest

import sparsekit as mx
from sparsekit.gluon import utils

TWO = [mx.cpu(0), mx.cpu(1)]


@pytest.mark.parametrize("stype", ["default", "csr", "row_sparse"])
def test_a_batch_is_cut_without_changing_its_kind(stype):
    values = np.arange(35, dtype=np.float32).reshape(7, 5) % 3
    data = mx.nd.array(values).tostype(stype)
    parts = utils.split_data(data, 3, even_split=False)
    assert [part.shape for part in parts] == [(3, 5), (2, 5), (2, 5)]
    np.testing.assert_array_equal(np.concatenate([part.asnumpy() for part in parts]), values)
    if stype != "row_sparse":
        assert {part.stype for part in parts} == {stype}
        columns = utils.split_data(data, 5, batch_axis=1)
        np.testing.assert_array_equal(columns[3].asnumpy(), values[:, 3:4])
        assert columns[3].stype == stype


def test_cuts_that_cannot_be():
    with pytest.raises(mx.ShapeError, match="evenly split into 2"):
        utils.split_data(mx.nd.ones((3, 2)), 2)
    for parts in (4, 0):
        with pytest.raises(mx.ShapeError, match=f"in {parts} parts"):
            utils.split_data(mx.nd.ones((3, 2)), parts, even_split=False)


def test_parts_go_to_their_contexts():
    for data in (np.ones((4, 2)), [[1, 2]] * 4, mx.nd.ones((4, 2)).tostype("csr")):
        parts = utils.split_and_load(data, TWO)
        assert [part.context for part in parts] == TWO
        assert [part.shape for part in parts] == [(2, 2)] * 2
    alone, = utils.split_and_load(data, [mx.cpu(1)])
    assert (alone.context, alone.stype) == (mx.cpu(1), "csr")


def test_clipping_scales_every_kind_in_place():
    dense, sparse = mx.nd.array([3.0, 0]), mx.nd.sparse.row_sparse_array((np.full((1, 2), 4.0, np.float32), [2]), shape=(5, 2))
    csr = mx.nd.array([[0, 2.0], [0, 0]]).tostype("csr").as_in_context(mx.cpu(1))
    stores = [array._store for array in (dense, sparse, csr)]
    norm = utils.clip_global_norm([dense, sparse, csr], 1.0)
    assert norm == pytest.approx(np.sqrt(9 + 32 + 4))
    assert isinstance(norm, float)
    assert all(array._store is store for array, store in zip((dense, sparse, csr), stores, strict=True))
    np.testing.assert_allclose(dense.asnumpy(), [3 / norm, 0], rtol=1e-6)
    np.testing.assert_allclose(sparse.data.asnumpy(), [[4 / norm] * 2], rtol=1e-6)
    assert sparse.indices.asnumpy().tolist() == [2]
    assert utils.clip_global_norm([dense, sparse, csr], 1.0) == pytest.approx(1)
    again = utils.clip_global_norm([dense], 100.0, check_isfinite=False)
    assert (again.shape, float(again.asscalar())) == ((1,), pytest.approx(3 / norm))
    np.testing.assert_allclose(dense.asnumpy(), [3 / norm, 0], rtol=1e-6)


def test_clipping_says_what_is_wrong():
    for wrong in (np.nan, np.inf):
        with pytest.warns(UserWarning, match="nan or inf is detected"):
            utils.clip_global_norm([mx.nd.array([wrong])], 1.0)
    with pytest.raises(mx.SparsekitError, match=r"max_norm must be a number of at least 0, got -1\.0"):
        utils.clip_global_norm([mx.nd.ones(2)], -1.0)
    with pytest.raises(mx.SparsekitError, match="no arrays"):
        utils.clip_global_norm([], 1.0)


def test_shapes_that_are_known():
    assert utils.shape_is_known((2, 3))
    assert not any(map(utils.shape_is_known, [None, (), (2, 0), (-1,)]))


class _Server(http.server.SimpleHTTPRequestHandler):
    failures = 0

    def do_GET(self):
        if type(self).failures > 0:
            type(self).failures -= 1
            self.send_error(503)
        else:
            super().do_GET()

    def log_message(self, *_):
        """Nothing is printed."""


@pytest.fixture
def server(tmp_path):
    """A server of one file on this machine."""
    folder = tmp_path / "served"
    folder.mkdir()
    (folder / "data.txt").write_bytes(b"1 2:3\n" * 1000)
    made = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(_Server, directory=str(folder)))
    thread = threading.Thread(target=made.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield f"http://127.0.0.1:{made.server_port}/data.txt"
    made.shutdown()
    thread.join()
    made.server_close()


def test_downloads_are_whole_checked_and_kept(server, tmp_path, monkeypatch):
    right = hashlib.sha1(b"1 2:3\n" * 1000).hexdigest()
    folder = tmp_path / "here"
    folder.mkdir()
    _Server.failures = 2
    path = utils.download(server, str(folder), sha1_hash=right, retries=2)
    assert path == str(folder / "data.txt")
    assert utils.check_sha1(path, right)
    (folder / "data.txt").write_bytes(b"mine")
    assert utils.download(server, path) == path
    assert (folder / "data.txt").read_bytes() == b"mine"
    utils.download(server, path, sha1_hash=right)
    assert utils.check_sha1(path, right)
    with pytest.raises(mx.DataFileError, match="not the file expected"):
        utils.download(server, str(tmp_path / "new" / "name"), sha1_hash="0" * 40)
    assert list((tmp_path / "new").iterdir()) == []
    monkeypatch.chdir(folder)
    with pytest.warns(UserWarning, match="verify_ssl"):
        assert utils.download(server, overwrite=True, verify_ssl=False) == "data.txt"


def test_a_download_that_fails_says_why_and_leaves_nothing(server, tmp_path):
    _Server.failures = 2
    with pytest.raises(mx.DataFileError, match=r"could not be downloaded: .*Service Unavailable"):
        utils.download(server, str(tmp_path / "x"), retries=1)
    for address, why in (("http://127.0.0.1:1/a", "refused"), ("nothing", "unknown url type"),
                         ("http://127.0.0.1/", "not end in a file name")):
        with pytest.raises(mx.DataFileError, match=why):
            utils.download(address, str(tmp_path / "y") if "file name" not in why else None, retries=0)
    with pytest.raises(mx.SparsekitError, match="retries must be at least 0, got -1"):
        utils.download(server, retries=-1)
    assert [path.name for path in tmp_path.iterdir()] == ["served"]
