"""Runs programs that may crash: one line of JSON in, one line of JSON out, with a limit on the address space."""

from __future__ import annotations

import json
import os
import resource
import sys
import traceback

BYTES = 3 << 30


def outcome(text: str) -> dict[str, str] | None:
    """None if the program passes; else the kind of its error, its message, and where the library raised it."""
    try:
        exec(compile(text, "<program>", "exec"), {"__name__": "program"})
    except BaseException as error:
        frames = [frame for frame in traceback.extract_tb(error.__traceback__) if "sparsekit" in frame.filename]
        where = f"{frames[-1].filename.partition('sparsekit' + os.sep)[2]}:{frames[-1].lineno}" if frames else ""
        return {"kind": type(error).__name__, "message": str(error)[:1000], "where": where}
    return None


def main() -> None:
    """Serve until the input ends; what programs print goes nowhere."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    import numba  # noqa: F401 - loaded here, so that no program is blamed for its time and its address space

    resource.setrlimit(resource.RLIMIT_AS, (BYTES, BYTES))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    for line in sys.stdin:
        import sparsekit as mx

        mx.config.densify_limit = 1 << 30
        answers.write(json.dumps(outcome(json.loads(line))) + "\n")
        answers.flush()


if __name__ == "__main__":
    main()
