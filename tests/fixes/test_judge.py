"""What is said of two runs that differ."""

from sparsekit.fixes.judge import NAMED, Answer


def test_a_verdict_names_few_differences_and_counts_the_others():
    differences = tuple(f"weight{number} differs" for number in range(NAMED + 4))
    words = Answer(False, False, 0.0, differences).words
    assert words == "; ".join(differences[:NAMED]) + "; and 4 other differences"
    assert Answer(False, False, 0.0, differences[: NAMED + 1]).words.endswith("; and 1 other difference")
    assert Answer(False, False, 0.0, differences[:NAMED]).words == "; ".join(differences[:NAMED])
