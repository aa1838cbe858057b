"""Runs notebooks and saves them as they are committed: with outputs, without what differs between two runs.

    python tests/refresh_notebooks.py                     every notebook of the course
    python tests/refresh_notebooks.py notebooks/03_*.ipynb
    python tests/refresh_notebooks.py --list              run none; only list the predictions and exercises they have
"""

from __future__ import annotations

import json
import os
import re
import runpy
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import nbformat

ROOT = Path(__file__).resolve().parents[1]

LIVE = "application/vnd.jupyter.widget-view+json"

#: The temporary file that a cell is compiled as; a warning names it.
CELL_FILE = re.compile(r"[^\s\"']*ipykernel_\d+[/\\]\d+\.py")

#: What is kept of a cell's metadata: how it is tested, and its place among slides.
KEPT = ("tags", "slideshow")

#: The call of a prediction or an exercise.
CALL = re.compile(r"\b(?:mx|sparsekit)\.(predict|exercise|check)\(\s*(['\"])([\w.-]+)\2")

KERNEL = {"display_name": "Python 3", "language": "python", "name": "python3"}


def normalise(notebook: Any) -> Any:
    """Take out, in place, what depends on the machine or the moment; gives the notebook.

    A live view cannot answer without its kernel and would hide the picture beside it, so saved
    outputs keep the picture and the table only.
    """
    notebook.metadata = nbformat.from_dict({"kernelspec": KERNEL, "language_info": {"name": "python"}})
    for number, cell in enumerate(notebook.cells):
        cell.id = f"cell-{number:02d}"
        cell.metadata = nbformat.from_dict({name: cell.metadata[name] for name in KEPT if cell.metadata.get(name)})
        if "outputs" in cell:
            cell.outputs = joined(cell.outputs)
        for output in cell.get("outputs", ()):
            normalise_output(output)
    return notebook


def joined(outputs: Sequence[Any]) -> list[Any]:
    """Outputs with each stream in one piece: where a kernel cuts what a cell prints is a matter of time."""
    kept: list[Any] = []
    streams: dict[str, Any] = {}
    for output in outputs:
        name = output.get("name") if output.output_type == "stream" else None
        if name in streams:
            streams[name].text += output.text
        else:
            kept.append(output)
            if name:
                streams[name] = output
    return kept


def normalise_output(output: Any) -> None:
    data = output.get("data", {})
    if "text/html" in data:
        data.pop(LIVE, None)
    if output.output_type == "stream":
        output.text = CELL_FILE.sub("cell", output.text)


def refresh(path: Path, seconds: int = 300) -> None:
    """Run one notebook in its folder and replace it by the result; a cell that raises leaves it as it was."""
    from nbclient import NotebookClient

    notebook = nbformat.read(path, as_version=4)
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.outputs, cell.execution_count = [], None
    client = NotebookClient(notebook, timeout=seconds, kernel_name="python3",
                            resources={"metadata": {"path": str(path.parent)}})
    client.execute()
    temporary = path.with_name(f".{path.name}.part")
    try:
        nbformat.write(normalise(notebook), temporary)
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


def read_notebook(sources: list[str]) -> dict[str, list[str]]:
    """Return the names of the predictions and exercises in the code cells of a notebook, in order."""
    found: dict[str, list[str]] = {"predict": [], "exercise": []}
    for source in sources:
        for call, _, name in CALL.findall(source):
            kind = "predict" if call == "predict" else "exercise"
            if name not in found[kind]:
                found[kind].append(name)
    return found


def list_exercises() -> None:
    """Write which predictions and exercises the notebooks have, for ``sparsekit.progress()``."""
    tool = runpy.run_path(str(ROOT / "sparsekit" / "course" / "contents.py"))
    found = {}
    for path in sorted((ROOT / "notebooks").glob("*.ipynb")):
        cells = nbformat.read(path, as_version=4).cells
        names = read_notebook([cell.source for cell in cells if cell.cell_type == "code"])
        if any(names.values()):
            found[path.stem] = names
    lines = [f" {json.dumps(name)}: {json.dumps(names)}" for name, names in found.items()]
    temporary = tool["FILE"].with_name(".contents.json.part")
    temporary.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")
    os.replace(temporary, tool["FILE"])


def main(names: Sequence[str]) -> None:
    """Refresh the notebooks named, or all of the course, and the list of their exercises."""
    os.environ["SPARSEKIT_PROGRESS"] = "off"
    list_exercises()  # first, since a notebook may show them
    everything = sorted(str(path) for path in (ROOT / "notebooks").rglob("*.ipynb") if path.parent.name[0] != ".")
    for path in map(Path, [] if "--list" in names else names or everything):
        refresh(path.resolve())
        print(f"refreshed {path.name}")


if __name__ == "__main__":
    main(sys.argv[1:])
