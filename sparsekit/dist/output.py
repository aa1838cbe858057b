"""What workers print, shown by the process that started them."""

from __future__ import annotations

import io
import os
import sys
from pathlib import Path
from typing import TextIO

#: The two streams of a process: the ending of the file that keeps one, and the number of its descriptor.
STREAMS = {"out": 1, "err": 2}

#: How lines begin that Ray writes for itself when a process starts.
FROM_RAY = b":actor_name:"


def redirect(folder: Path, rank: int) -> None:
    """Have this process, and what it starts, print to files of a folder.  A later life of a rank adds to them."""
    for ending, number in STREAMS.items():
        with (folder / f"rank-{rank}.{ending}").open("ab") as file:
            os.dup2(file.fileno(), number)
    sys.stdout = text_stream(STREAMS["out"])
    sys.stderr = text_stream(STREAMS["err"])


def text_stream(number: int) -> TextIO:
    """A stream of text that is written line by line."""
    return io.TextIOWrapper(io.FileIO(number, "w", closefd=False), "utf-8", "backslashreplace", line_buffering=True)


class Outputs:
    """Reads the files of ``redirect`` and prints their new lines, each after its rank.

    Parameters
    ----------
    folder : Path
        An empty folder that exists.
    ranks : int
        How many workers write there.
    """

    def __init__(self, folder: Path, ranks: int) -> None:
        self._files = [(rank, ending, folder / f"rank-{rank}.{ending}") for rank in range(ranks) for ending in STREAMS]
        self._shown = dict.fromkeys(self._files, 0)

    def show(self, last: bool = False) -> None:
        """Print the lines that are complete; with ``last`` what follows them, too."""
        for file_of_rank in self._files:
            rank, ending, path = file_of_rank
            if not path.exists() or path.stat().st_size == self._shown[file_of_rank]:
                continue
            with path.open("rb") as file:
                file.seek(self._shown[file_of_rank])
                new = file.read()
            lines = new.split(b"\n") if last else new.split(b"\n")[:-1]
            self._shown[file_of_rank] += len(new) if last else new.rfind(b"\n") + 1
            stream = sys.stderr if ending == "err" else sys.stdout
            stream.write("".join(f"[rank {rank}] {line.decode(errors='replace')}\n" for line in lines
                                 if not line.startswith(FROM_RAY)))
            stream.flush()
