"""The folder of the course's notebooks: in a checkout, an earlier copy, or a new copy of those in the installed package."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

from .base.errors import DataFileError

__all__ = ["COPY", "FIRST_NOTEBOOK", "course_folder", "find_course"]

#: The first notebook of the course.
FIRST_NOTEBOOK = "00_start_here.ipynb"

#: The folder that the course is copied to by default.
COPY = Path("sparsekit-course")

#: The notebooks inside a package installed from a wheel; a checkout has them in ``notebooks``.
SHIPPED = Path(__file__).parent / "course" / "notebooks"


def find_course() -> tuple[Path, bool] | None:
    """Return the folder of the course and whether it must be copied before use, or None if there is none.

    ``notebooks`` and an earlier copy in the current folder come before the notebooks of the package.
    """
    for folder in (Path("notebooks"), COPY):
        if (folder / FIRST_NOTEBOOK).is_file():
            return folder, False
    return (SHIPPED, True) if (SHIPPED / FIRST_NOTEBOOK).is_file() else None


def course_folder(given: Path | None = None) -> Path:
    """Return a folder of notebooks to open, after copying the course there if it is missing or empty.

    Parameters
    ----------
    given : Path, optional
        A folder of notebooks, or the folder to copy the course to.  By default ``notebooks`` in a checkout, else
        ``sparsekit-course`` in the current folder.

    Raises
    ------
    DataFileError
        If the folder has files but no notebook, if it cannot be written, or if there is no course to copy.
    """
    if given is None:
        found = find_course()
        if found is not None and not found[1]:
            return found[0].resolve()
    folder = (given or COPY).resolve()
    if any(folder.glob("*.ipynb")):
        return folder
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise DataFileError(f"There are no notebooks in {given or COPY}.",
                            hint="--dir must be a folder of .ipynb files, or a new one, to which the course is copied.")
    if not (SHIPPED / FIRST_NOTEBOOK).is_file():
        raise DataFileError("This package has no notebooks, because it was installed from a checkout.",
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
