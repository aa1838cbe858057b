"""What is said of two runs that differ."""

import numpy as np

from sparsekit.fixes.judge import NAMED, Answer, compare_answers, identical
from sparsekit.fixes.observe import Run


def test_a_verdict_names_few_differences_and_counts_the_others():
    differences = tuple(f"weight{number} differs" for number in range(NAMED + 4))
    words = Answer(False, False, 0.0, differences).words
    assert words == "; ".join(differences[:NAMED]) + "; and 4 other differences"
    assert Answer(False, False, 0.0, differences[: NAMED + 1]).words.endswith("; and 1 other difference")
    assert Answer(False, False, 0.0, differences[:NAMED]).words == "; ".join(differences[:NAMED])


def test_runs_that_compute_different_numbers_of_losses_differ():
    few, more = (Run(None, {}, losses=[[np.ones(())]] * count) for count in (3, 4))
    for one, other, words in ((few, more, "3 losses are computed in the one and 4 in the other"),
                              (more, few, "4 losses are computed in the one and 3 in the other")):
        assert identical(one, other) == words
        answer = compare_answers(one, other)
        assert not answer.same
        assert answer.differences == (words,)
