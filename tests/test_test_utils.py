"""``mx.test_utils``: what MXNet's example scripts take from it."""

import bz2
import zipfile

import numpy as np
import pytest

import sparsekit as mx
from sparsekit import test_utils


@pytest.fixture(autouse=True)
def in_a_folder_without_network(tmp_path, monkeypatch):
    """``download`` copies from a folder instead."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "there").mkdir()

    def fetch(url, path, overwrite=False, retries=5):
        target = tmp_path / path
        if overwrite or not target.exists():
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes((tmp_path / "there" / url.rpartition("/")[2]).read_bytes())
        return str(path)

    monkeypatch.setattr(test_utils.utils, "download", fetch)
    return tmp_path


def idx(array):
    return bytes([0, 0, 8, array.ndim]) + np.array(array.shape, ">i4").tobytes() + array.astype(np.uint8).tobytes()


def mnist_files():
    images, labels = np.arange(7 * 784).reshape(7, 28, 28) % 251, np.arange(7) % 10
    return images, {f"{part}-{kind}": idx(array) for part in ("train", "t10k") for kind, array in (
        ("images-idx3-ubyte", images), ("labels-idx1-ubyte", labels))}


def test_a_star_import_gives_the_package_and_numpy():
    found = {}
    exec("from sparsekit.test_utils import *", found)
    assert (found["mx"], found["np"]) == (mx, np)
    assert {"get_bz2_data", "get_zip_data", "get_mnist_iterator", "rand_ndarray", "DummyIter"} <= found.keys()


def test_mnist_comes_from_the_archive_and_then_from_its_files(in_a_folder_without_network):
    images, files = mnist_files()
    with zipfile.ZipFile("there/mnist.zip", "w") as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    _, flat = mx.test_utils.get_mnist_iterator(batch_size=3, input_shape=(784,))
    (in_a_folder_without_network / "there" / "mnist.zip").unlink()
    train, square = mx.test_utils.get_mnist_iterator(batch_size=3, input_shape=(1, 28, 28))
    batches = list(square)
    assert [batch.data[0].shape for batch in batches] == [(3, 1, 28, 28)] * 2
    np.testing.assert_allclose(batches[1].data[0].asnumpy()[:, 0], images[3:6] / 256)
    np.testing.assert_allclose(next(flat).data[0].asnumpy(), images[:3].reshape(3, -1) / 256)
    assert [batch.label[0].asnumpy().tolist() for batch in batches] == [[0, 1, 2], [3, 4, 5]]
    assert sum(len(batch.label[0]) for batch in train) == 6
    _, part = mx.test_utils.get_mnist_iterator(batch_size=1, input_shape=(784,), num_parts=2, part_index=1)
    assert [int(batch.label[0].asscalar()) for batch in part] == [3, 4, 5]


@pytest.mark.parametrize("content", [b"", b"\0\0\x08", b"\0\0\x08\x01\0\0\0\x05ab", b"\0\0\x0d\x01\0\0\0\x01a",
                                     b"\0\0\x08\x01\xff\xff\xff\xffa"])
def test_damaged_files_of_mnist_are_named(content):
    _, files = mnist_files()
    files["train-labels-idx1-ubyte"] = content
    (test_utils.os.mkdir)("data")
    for name, one in files.items():
        with open(f"data/{name}", "wb") as file:
            file.write(one)
    with pytest.raises(mx.base.errors.DataFileError, match="train-labels"):
        mx.test_utils.get_mnist_iterator(batch_size=3, input_shape=(784,))


def test_compressed_data(in_a_folder_without_network):
    (in_a_folder_without_network / "there" / "rows.bz2").write_bytes(bz2.compress(b"1 2:3\n"))
    for _ in range(2):  # what is there is not fetched again
        mx.test_utils.get_bz2_data("data", "rows", "http://host/rows.bz2", "rows.bz2")
        assert (in_a_folder_without_network / "data" / "rows").read_bytes() == b"1 2:3\n"
        (in_a_folder_without_network / "there" / "rows.bz2").write_bytes(b"damaged")
    with pytest.raises(mx.base.errors.DataFileError, match=r"rows\.bz2 cannot be unpacked"):
        mx.test_utils.get_bz2_data("other", "rows", "http://host/rows.bz2", "rows.bz2")
    assert [path.name for path in (in_a_folder_without_network / "other").iterdir()] == ["rows.bz2"]
    with pytest.raises(mx.base.errors.DataFileError, match=r"rows\.zip cannot be unpacked"):
        mx.test_utils.get_zip_data("other", "http://host/rows.bz2", "rows.zip")


def test_a_dummy_iterator_gives_the_first_batch_for_ever():
    dummy = mx.test_utils.DummyIter(mx.io.NDArrayIter(mx.nd.arange(6), batch_size=2))
    assert [next(dummy).data[0].asnumpy().tolist() for _ in range(5)] == [[0, 1]] * 5
    assert (dummy.batch_size, dummy.provide_data[0].shape) == (2, (2,))


def test_wikitext_is_cut_into_sequences(in_a_folder_without_network, monkeypatch):
    """Numbers by frequency, then by the alphabet, as MXNet 1.9.1 gives them."""
    text = mx.gluon.contrib.data.text
    monkeypatch.setattr(text, "check_sha1", lambda path, digest: True)
    (in_a_folder_without_network / "wiki.train.tokens").write_text(" b a b \n\n c <unk> b a \n", encoding="utf-8")
    (in_a_folder_without_network / "wiki.test.tokens").write_text("a z\nb\n", encoding="utf-8")
    data = text.WikiText2(".", "train", seq_len=2)
    assert data.vocabulary.idx_to_token == ["<unk>", "<eos>", "b", "a", "c"]
    assert [[one.asnumpy().tolist() for one in data[place]] for place in range(len(data))] == [
        [[2, 3], [3, 2]], [[2, 1], [1, 4]], [[4, 0], [0, 2]], [[2, 3], [3, 1]]]
    assert data.frequencies["b"] == 3
    other = text.WikiText2(".", "test", vocab=data.vocabulary, seq_len=4)
    assert other[0][0].asnumpy().tolist() == [3, 0, 1, 2]
    assert (other.frequencies, data.vocabulary.to_tokens([3, 0]), data.vocabulary.to_tokens(4)) == (None, ["a", "<unk>"], "c")
    for make, error in ((lambda: text.WikiText2(".", "dev"), mx.UnknownNameError), (lambda: data.vocabulary.to_tokens(9),
                        mx.UnknownNameError), (lambda: text.WikiText2(".", "test", seq_len=0), mx.ShapeError)):
        with pytest.raises(error):
            make()


def test_wikitext_comes_from_its_archive(in_a_folder_without_network, monkeypatch):
    text = mx.gluon.contrib.data.text
    monkeypatch.setattr(text, "download", lambda url, root, sha1_hash: "there/wikitext-2-v1.zip")
    with zipfile.ZipFile("there/wikitext-2-v1.zip", "w") as archive:
        for name in ("wikitext-2/wiki.train.tokens", "wikitext-2/other", "../wiki.test.tokens"):
            archive.writestr(name, "a b\n")
    assert len(text.WikiText2("texts", "train", seq_len=1)) == 2
    assert [path.name for path in (in_a_folder_without_network / "texts").iterdir()] == ["wiki.train.tokens"]
    with pytest.raises(mx.base.errors.DataFileError, match=r"no member wikitext-2/wiki\.test\.tokens"):
        text.WikiText2("texts", "test")
    (in_a_folder_without_network / "there" / "wikitext-2-v1.zip").write_bytes(b"damaged")
    with pytest.raises(mx.base.errors.DataFileError, match="is damaged"):
        text.WikiText2("elsewhere", "train")
