"""``gluon.model_zoo.model_store``: files of models by name and SHA-1, which libraries extend by their own."""

import hashlib
import shutil
import zipfile

import pytest
from sparsekit.gluon.model_zoo import model_store
from sparsekit.gluon.model_zoo.model_store import get_model_file, purge, short_hash

import sparsekit as mx
from tests.calls import refused

PARAMETERS = b"parameters"


@pytest.fixture
def published(tmp_path, monkeypatch):
    """A repository with one model, whose name a library has added."""
    monkeypatch.setitem(model_store._model_sha1, "own", hashlib.sha1(PARAMETERS).hexdigest())
    monkeypatch.setenv("MXNET_GLUON_REPO", str(tmp_path / "repository"))
    monkeypatch.setattr("sparsekit.compat.model_store.download", lambda url, path, overwrite: shutil.copy(url, path))
    folder = tmp_path / "repository" / "gluon" / "models"
    folder.mkdir(parents=True)
    name = f"own-{short_hash('own')}"
    with zipfile.ZipFile(folder / f"{name}.zip", "w") as archive:
        archive.writestr(f"{name}.params", PARAMETERS)
    return folder / f"{name}.zip"


def test_a_model_is_downloaded_once_and_purged(published, tmp_path):
    root = tmp_path / "models"
    path = get_model_file("own", root=str(root))
    assert path == str(root / f"own-{short_hash('own')}.params")
    published.unlink()
    assert get_model_file("own", root=str(root)) == path
    assert [file.read_bytes() for file in root.iterdir()] == [PARAMETERS]
    purge(str(root))
    assert not list(root.iterdir())


def test_other_contents_and_unknown_models_are_refused(published, tmp_path, monkeypatch):
    refused(mx.UnknownNameError, "model", get_model_file, "resnet18_v1", root=str(tmp_path))
    with zipfile.ZipFile(published, "w") as archive:
        archive.writestr(f"own-{short_hash('own')}.params", b"others")
    refused(mx.DataFileError, "another SHA-1", get_model_file, "own", root=str(tmp_path))
