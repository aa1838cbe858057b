"""Where the course's notebooks are: in a checkout, in a folder of the user's, or in the installed package, to be copied from."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

from .base.errors import DataFileError

__all__ = ["COPY", "FIRST", "course_folder", "find_course"]

#: The notebook that a folder of the course begins with.
FIRST = "00_start_here.ipynb"

#: The folder that the course is copied to where none is given.
COPY = Path("sparsekit-course")

#: The notebooks that an installed package has; in a checkout they are elsewhere.
SHIPPED = Path(__file__).parent / "course" / "notebooks"


def find_course() -> tuple[Path, bool] | None:
    """The folder of the course, and whether it must be copied before it can be worked in; None if there is none.

    The current folder is looked at first, for ``notebooks`` as in a checkout and for an earlier copy.
    """
    for folder in (Path("notebooks"), COPY):
        if (folder / FIRST).is_file():
            return folder, False
    return (SHIPPED, True) if (SHIPPED / FIRST).is_file() else None


def course_folder(given: Path | None = None) -> Path:
    """A folder of notebooks to open; the course is copied there if there is nothing yet.

    Parameters
    ----------
    given : Path, optional
        A folder of notebooks, or one to copy the course to.  By default ``notebooks`` in a checkout, else
        ``sparsekit-course`` in the current folder.

    Raises
    ------
    DataFileError
        If the folder holds other files and no notebook, if it cannot be written, or if there is no course to copy.
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
                            hint="give --dir a folder of .ipynb files, or one that does not exist, which gets the course.")
    if not (SHIPPED / FIRST).is_file():
        raise DataFileError("This package does not bring the course's notebooks, since it was installed from a checkout.",
                            hint="run `sparsekit lab` in the checkout, or give --dir CHECKOUT/notebooks.")
    _copy_to(folder)
    return folder


def _copy_to(folder: Path) -> None:
    """Copy the course: all of it, or nothing."""
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder.parent, prefix=f".{folder.name}.") as place:
            shutil.copytree(SHIPPED, Path(place) / "course", ignore=shutil.ignore_patterns(".ipynb_checkpoints", "__pycache__"))
            (Path(place) / "course").rename(folder)
    except OSError as error:
        raise DataFileError(f"The course could not be copied to {folder}: {error.strerror or error}.",
                            hint="give --dir a folder that you may write to.") from None
