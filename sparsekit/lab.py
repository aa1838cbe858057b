"""The folder of the course's notebooks (a checkout's, an earlier copy, or a new copy of the package's), and their signatures."""

from __future__ import annotations

import json
import shutil
import tempfile
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from urllib.parse import urlsplit
from urllib.request import url2pathname

from .base.errors import DataFileError

#: The first notebook of the course.
FIRST_NOTEBOOK = "00_start_here.ipynb"

#: The folder that the course is copied to by default.
COPY = Path("sparsekit-course")

#: The notebooks inside a package installed from a wheel; a checkout has them in ``notebooks``.
SHIPPED = Path(__file__).parent / "course" / "notebooks"

#: Defaults for JupyterLab: it saves the state of live views, so that they are there without their kernel too.
JUPYTER = Path(__file__).parent / "course" / "jupyter"

#: The notebooks of the course in its folder, by their names.
COURSE = ("[0-9A][0-9]_*.ipynb", "slides/*.ipynb")


def find_course() -> tuple[Path, bool] | None:
    """Return the folder of the course and whether it must be copied before use, or None if there is none.

    ``notebooks`` and an earlier copy in the current folder come first, then the notebooks of the package, then those of the
    checkout that the package was installed from with ``pip install -e``.
    """
    for folder in (Path("notebooks"), COPY):
        if (folder / FIRST_NOTEBOOK).is_file():
            return folder, False
    if (SHIPPED / FIRST_NOTEBOOK).is_file():
        return SHIPPED, True
    checkout = editable_checkout()
    folder_there = checkout / "notebooks" if checkout else None
    return (folder_there, False) if folder_there and (folder_there / FIRST_NOTEBOOK).is_file() else None


def editable_checkout() -> Path | None:
    """Return the folder that pip installed this package from in editable mode (PEP 610), or None."""
    try:
        origin = json.loads(distribution("sparsekit").read_text("direct_url.json") or "{}")
    except PackageNotFoundError:
        return None
    if not origin.get("dir_info", {}).get("editable"):
        return None
    return Path(url2pathname(urlsplit(origin["url"]).path))


def sign_course(folder: Path) -> list[Path]:
    """Sign the notebooks of the course, and return those that Jupyter trusts now.

    JupyterLab shows a live view after the page is loaded again only in a notebook that it trusts.  Other notebooks of the
    folder are not signed.
    """
    from nbformat import ValidationError, read
    from nbformat.sign import TrustNotebookApp

    app = TrustNotebookApp(log_level="ERROR")
    signed = []
    try:
        app.initialize([])  # reads the user's configuration, which may name another database of signatures
        for path in sorted(path for names in COURSE for path in folder.glob(names)):
            try:
                app.notary.sign(read(path, as_version=4))  # type: ignore[no-untyped-call]  # of nbformat
                signed.append(path)
            except (ValueError, AttributeError, ValidationError):
                continue  # not a notebook
    except OSError as error:
        print(f"The notebooks could not be signed ({error.strerror or error}): live views end when the page is loaded again.")
    return signed


def course_folder(chosen: Path | None = None) -> Path:
    """Return a folder of notebooks to open, after copying the course there if it is missing or empty.

    Parameters
    ----------
    chosen : Path, optional
        A folder of notebooks, or the folder to copy the course to.  By default what ``find_course`` finds; a copy is
        ``sparsekit-course`` in the current folder.

    Raises
    ------
    DataFileError
        If the folder has files but no notebook, if it cannot be written, or if there is no course to copy.
    """
    if chosen is None:
        course = find_course()
        if course is not None and not course[1]:
            return course[0].resolve()
    folder = (chosen or COPY).resolve()
    if any(folder.glob("*.ipynb")):
        return folder
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise DataFileError(f"There are no notebooks in {chosen or COPY}.",
                            hint="--dir must be a folder of .ipynb files, or a new one, to which the course is copied.")
    if not (SHIPPED / FIRST_NOTEBOOK).is_file():
        raise DataFileError("This package has no notebooks to copy, because it was installed from a checkout.",
                            hint="run `sparsekit lab` in the checkout, or pass --dir CHECKOUT/notebooks.")
    _copy_to(folder)
    return folder


def _copy_to(folder: Path) -> None:
    """Copy the course; after an error nothing is left."""
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder.parent, prefix=f".{folder.name}.") as place:
            shutil.copytree(SHIPPED, Path(place) / "course", ignore=shutil.ignore_patterns(".ipynb_checkpoints", "__pycache__"))
            (Path(place) / "course").rename(folder)
    except OSError as error:
        raise DataFileError(f"The course could not be copied to {folder}: {error.strerror or error}.",
                            hint="pass --dir with a folder that you may write to.") from None
