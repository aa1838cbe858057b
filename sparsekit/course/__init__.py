"""Exercises for notebooks: predict, compare with what was measured, solve, and see how far one has come.

    mx.predict("grad_mb", "How many megabytes does the gradient of the weight take?", unit="MB")
    mx.reveal("grad_mb", gradient.nbytes / 1e6, wrong={512: "you counted the dense gradient: 1,000,000 × 128 × 4 bytes"})

    with mx.exercise("center", answer) as task:
        task.expect(answer.stype == "csr", "the zeros have changed: subtract the means where something is stored only")
        task.equal(answer, expected)

    mx.progress()

Nothing has to be filled in: a notebook runs from top to bottom all the same.  What a learner did is kept in one small
file for each notebook, in the folder that ``SPARSEKIT_PROGRESS`` names (``off`` keeps nothing), else in ``sparsekit/progress``
in the user's data folder.
"""

from __future__ import annotations

from .overview import progress
from .predictions import Question, Revelation, predict, reveal
from .record import forget
from .tasks import Task, exercise

__all__ = ["Question", "Revelation", "Task", "exercise", "forget", "predict", "progress", "reveal"]
