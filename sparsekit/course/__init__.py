"""Exercises for notebooks: predictions, their comparison with measurements, coding exercises, and progress.

    mx.predict("grad_mb")                          # asks a question of the course
    mx.reveal("grad_mb", gradient.nbytes / 1e6)    # compares the guess with what was measured
    mx.check("center", answer)                     # checks an exercise of the course

    mx.progress()
    mx.course.quiz()                               # ten questions on the whole course

Questions, answers and checks of the course are in files beside this one.  A notebook of your own has them in its cells:

    mx.predict("my_mb", "How many megabytes does the gradient of the weight take?", unit="MB")
    mx.reveal("my_mb", gradient.nbytes / 1e6, wrong={512: "you counted the dense gradient: 1,000,000 × 128 × 4 bytes"})

    with mx.exercise("my_center", answer) as task:
        task.expect(answer.stype == "csr", "the zeros have changed: subtract the means from stored values only")
        task.equal(answer, expected)

A notebook also runs from top to bottom without any answers.  Answers are stored in one small file for each notebook, in the
folder that ``SPARSEKIT_PROGRESS`` names (``off`` stores nothing), else in ``sparsekit/progress`` in the user's data folder.
"""

from __future__ import annotations

from .flood import million_rows, million_rows_figure
from .overview import progress
from .predictions import Question, Revelation, predict, quiz, reveal
from .record import forget
from .tasks import Task, check, exercise

__all__ = ["Question", "Revelation", "Task", "check", "exercise", "forget", "million_rows", "million_rows_figure", "predict",
           "progress", "quiz", "reveal"]  # fmt: skip
