"""Files of trained models by name: ``mx.gluon.model_zoo.model_store``, to which libraries add the names of their own models."""

from __future__ import annotations

import os
import zipfile
from pathlib import Path

from ..base.errors import DataFileError, UnknownNameError
from ..gluon.utils import check_sha1, download

__all__ = ["apache_repo_url", "get_model_file", "purge", "short_hash"]

apache_repo_url = "https://apache-mxnet.s3-accelerate.dualstack.amazonaws.com/"

#: SHA-1 of the parameters of each model; empty, because the models that MXNet lists are of images.
_model_sha1: dict[str, str] = {}

_FOLDER = os.path.join(os.environ.get("MXNET_HOME", os.path.join("~", ".mxnet")), "models")


def short_hash(name: str) -> str:
    """The first eight digits of the SHA-1 of a model's parameters."""
    if name not in _model_sha1:
        raise UnknownNameError.of("model", name, _model_sha1)
    return _model_sha1[name][:8]


def get_model_file(name: str, root: str = _FOLDER) -> str:
    """The path of a model's parameters, which are downloaded unless the folder has them.

    Parameters
    ----------
    name : str
    root : str
        Default: ``models`` in the folder that ``MXNET_HOME`` names, or in ``~/.mxnet``.
    """
    folder, stem = Path(root).expanduser(), f"{name}-{short_hash(name)}"
    path = folder / f"{stem}.params"
    if path.exists() and check_sha1(path, _model_sha1[name]):
        return str(path)
    folder.mkdir(parents=True, exist_ok=True)
    url = os.environ.get("MXNET_GLUON_REPO", apache_repo_url).rstrip("/")
    packed = download(f"{url}/gluon/models/{stem}.zip", folder, overwrite=True)
    with zipfile.ZipFile(packed) as archive:
        archive.extract(path.name, folder)
    os.remove(packed)
    if not check_sha1(path, _model_sha1[name]):
        raise DataFileError(f"The parameters of {name!r} in {path} have another SHA-1 than {_model_sha1[name]}.",
                            hint="remove the file, and try again.")
    return str(path)


def purge(root: str = _FOLDER) -> None:
    """Remove the parameters of all models from a folder."""
    for path in Path(root).expanduser().glob("*.params"):
        path.unlink()
