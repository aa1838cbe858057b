"""Exercises for notebooks: predictions, their comparison with measurements, coding exercises, and progress.

    mx.predict("grad_mb", "How many megabytes does the gradient of the weight take?", unit="MB")
    mx.reveal("grad_mb", gradient.nbytes / 1e6, wrong={512: "you counted the dense gradient: 1,000,000 × 128 × 4 bytes"})

    with mx.exercise("center", answer) as task:
        task.expect(answer.stype == "csr", "the zeros have changed: subtract the means from stored values only")
        task.equal(answer, expected)

    mx.progress()

A notebook also runs from top to bottom without any answers.  Answers are stored in one small file for each notebook, in the
folder that ``SPARSEKIT_PROGRESS`` names (``off`` stores nothing), else in ``sparsekit/progress`` in the user's data folder.
"""

from __future__ import annotations

from .overview import progress
from .predictions import Question, Revelation, predict, reveal
from .record import forget
from .tasks import Task, exercise

__all__ = ["Question", "Revelation", "Task", "exercise", "forget", "predict", "progress", "reveal"]
