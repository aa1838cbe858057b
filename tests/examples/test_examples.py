"""Each example trains to a score that no trivial predictor reaches, and scikit-learn's; dense and sparse to the same losses."""

import hashlib
import importlib
import json
import sys
from pathlib import Path

import numpy as np
import pytest

import sparsekit as mx
from sparsekit.core import program
from sparsekit.core.table import machine, table
from sparsekit.datasets.words import split_words
from sparsekit.examples import NAMES, relation, running, sampled_softmax
from sparsekit.examples.beside import Beside, Measured
from sparsekit.profiler import turns
from sparsekit.profiler.turns import Comparison, Turn

sys.path.insert(0, str(Path(__file__).parent))
kept_data = importlib.import_module("kept_data")

SCORES = json.loads((kept_data.GOLDEN / "example_scores.json").read_text(encoding="utf-8"))
SETTINGS = kept_data.settings()

#: What scikit-learn is given for each example that is linear or a factorization, and how much worse than it is allowed.  Its
#: factorizations have penalties, and its products of features a weight each.
RIVALS = {"linear_classification": ("text", 0.01), "factorization_machine": ("pairs_products", 0.02),
          "matrix_factorization": ("ratings_factors", 0.015)}
#: How far beyond the best trivial score an example must be, in standard errors of what is tested.
ERRORS = 5


@pytest.fixture(scope="module")
def counted():
    """The relation, counted once."""
    return relation.count_relation()


@pytest.fixture(autouse=True)
def few_turns(monkeypatch):
    """As few steps in turn as have an interval: no test looks at times."""
    monkeypatch.setattr(running, "TIMED_ROUNDS", 8)
    monkeypatch.setattr(turns, "FEWEST_CALLS", 1)


@pytest.fixture(autouse=True)
def small_data(monkeypatch):
    for name in NAMES:
        kind = kept_data.kind_of(name)
        load = kind.load
        monkeypatch.setattr(kind, "load", staticmethod(
            lambda options, name=name, load=load: kept_data.shortened(load(options)) if name == "language_model" else
            kept_data.data_of(name, options)))


def options_of(name, *words, **changes):
    return kept_data.options_of(name, *words, chosen=SETTINGS[name]["settings"], **changes)


@pytest.fixture(scope="module")
def results():
    return {}


def result_of(name, results):
    """The one run of an example, in which its data for testing are looked at once."""
    if name not in results:
        said = []
        results[name] = running.run(kept_data.kind_of(name), options_of(name, steps=5), said.append), "\n".join(said)
    return results[name]


def better(kind, one, other):
    return one >= other if kind.more_is_better else one <= other


def bar(name, data):
    """What no predictor reaches that looks at no input, not by luck either; with the test labels known it has ``trivial``."""
    given = data.test[-1]
    if name == "matrix_factorization":
        lost = (given - given.mean()) ** 2
        return np.sqrt(lost.mean() - ERRORS * lost.std() / np.sqrt(len(lost)))
    if name == "language_model":
        lost = -np.log(np.bincount(given)[given] / len(given))
        return np.exp(lost.mean() - ERRORS * lost.std() / np.sqrt(len(lost)))
    share = kept_data.kind_of(name).trivial(data)
    return share + ERRORS * np.sqrt(share * (1 - share) / len(given))


@pytest.mark.parametrize("name", NAMES)
def test_an_example_beats_any_trivial_predictor_and_dense_storage(name, results):
    """The bar is beyond the best score that is possible without looking at inputs, even if the test labels were known."""
    kind = kept_data.kind_of(name)
    result, said = result_of(name, results)
    limit = bar(name, result.example.data)
    assert better(kind, limit, result.trivial)
    assert better(kind, result.score, limit)
    dense, sparse = result.compared.measured.values()
    assert [row["name"] for row in result.compared.times.rows] == ["dense", "sparse"]
    np.testing.assert_allclose(dense.losses, sparse.losses, rtol=2e-5)
    assert sparse.losses[0] != sparse.losses[-1]
    assert sparse.gradient < dense.gradient
    assert all(word in said for word in ("time per step in ms", "bytes of gradients", f"Test {kind.score_name}: "))


@pytest.mark.parametrize(("blocks", "told"), [
    ([0.5, 0.5, 0.51, 0.49, 0.5, 0.5, 0.5, 0.5], "2.0× to 2.0× as fast"),
    ([1.0, 1.001, 0.999, 1.0, 1.0, 1.0, 1.0, 1.0], "no detectable difference"),
    ([0.001, 0.5, 0.01, 0.3, 0.02, 0.4, 0.001, 0.5], "varies too much here")])
def test_times_are_told_with_their_interval_or_not_at_all(blocks, told):
    times = Comparison(["dense", "sparse"], [1, 1], [[Turn(0, 1.0), Turn(1, share)] for share in blocks], 0.9, [])
    measured = {"dense": Measured(200, [0.5]), "sparse": Measured(100, [0.5])}
    *_, last = running.table(Beside(measured, times)).splitlines()
    assert last.startswith("  time per step in ms")
    assert last.endswith(told)
    assert ("1000.00" in last) == (told != "varies too much here")


def test_times_are_not_told_where_other_programs_ran():
    """A busy core makes what runs in several threads many times slower, and what runs in one not at all."""
    blocks = [[Turn(0, 1.0), Turn(1, 0.005)]] * 8
    measured = {"dense": Measured(200, [0.5]), "sparse": Measured(100, [0.5])}
    for others, told in ((0.1, "as fast"), (1.0, "other programs ran")):
        times = Comparison(["dense", "sparse"], [1, 1], blocks, 0.9, [], others=others)
        assert running.table(Beside(measured, times)).endswith(told)


@pytest.mark.parametrize("name", NAMES)
def test_settings_are_those_that_were_best_in_validation(name, results):
    """What was chosen is what runs, and its score in validation is the recorded one."""
    result, _ = result_of(name, results)
    assert len(result.scores) == SETTINGS[name]["settings"]["epochs"]
    assert abs(result.scores[-1] - SETTINGS[name]["validation"]) <= 0.02 * SETTINGS[name]["validation"]


def test_the_kept_data_are_those_that_scikit_learn_had():
    assert hashlib.sha256((kept_data.GOLDEN / "example_data.npz").read_bytes()).hexdigest() == SCORES["sha256"]


@pytest.mark.parametrize("name", RIVALS)
def test_scores_are_scikit_learns_or_better(name, results):
    """On the same rows, settings chosen by the same rows, tested once."""
    rival, margin = RIVALS[name]
    kind = kept_data.kind_of(name)
    sign = 1 if kind.more_is_better else -1
    assert better(kind, result_of(name, results)[0].score, SCORES["scores"][rival] - sign * margin)


def test_what_only_interactions_tell(results):
    """A linear model of words and followers by themselves, and biases of users and items, are behind by many standard errors."""
    assert result_of("factorization_machine", results)[0].score >= SCORES["scores"]["pairs"] + 0.04
    assert result_of("wide_and_deep", results)[0].score >= SCORES["scores"]["pairs"] + 0.02
    assert result_of("matrix_factorization", results)[0].score <= SCORES["scores"]["ratings"] - 0.02


def test_the_three_parts_have_nothing_in_common():
    """No row of validation or testing is trained on; those for testing are the ones that were kept for it."""
    data = kept_data.ratings()
    parts = [set(zip(part[0].tolist(), part[1].tolist(), strict=True)) for part in data[:3]]
    assert not parts[0] & parts[1]
    assert not (parts[0] | parts[1]) & parts[2]
    assert [round(len(part[0]) / 39_000, 2) for part in data[:3]] == [0.64, 0.16, 0.2]
    train, validation = kept_data.texts()[:2]
    assert (train[0].shape[0], validation[0].shape[0], len(validation[1])) == (1280, 320, 320)


def test_settings_are_chosen_without_the_test_part(monkeypatch):
    kind = kept_data.kind_of("linear_classification")
    monkeypatch.setattr(kind, "candidates", {"learning_rate": (0.01, 0.4)})
    said, data = [], kept_data.texts()._replace(test=None)
    choice = running.choose(kind, data, options_of("linear_classification", epochs=1, batch_size=64), said.append)
    assert choice.settings["learning_rate"] == 0.4
    assert 1 <= choice.settings["epochs"] <= 2
    assert len(said) == 3
    assert "--learning-rate 0.4 --epochs" in said[-1]


#: Operators of a step of each example, from forward pass to update, all of which the table runs, and how many Python runs.
STEPS = {"linear_classification": (12, 0), "factorization_machine": (36, 0), "matrix_factorization": (31, 0),
         "wide_and_deep": (37, 0), "language_model": (82, 0)}

#: The share of operators that a table runs at least, and how often it may leave the rest to Python a step.
LOWERED, EXITS = 0.95, 3


@pytest.mark.skipif(bool(machine.reason_against_tables()), reason=machine.reason_against_tables() or "-")
@pytest.mark.parametrize("name", NAMES)
def test_a_step_runs_as_a_table(name, monkeypatch):
    """Its operators, and how many of them Python runs, are held; also at the sizes of the command line."""
    kind = kept_data.kind_of(name)
    sizes = {key: value for key, value in kind.defaults.items() if key not in ("words", "movielens", "epochs", "steps")}
    for options in (options_of(name), options_of(name, **sizes)):
        example = kind(kind.load(options), options)
        batches = [batch for batch, _ in zip(example.batches(), range(12), strict=False)]
        for batch in batches[:4]:
            example.step(batch)
        rows = example.train.explain()
        in_python = [row for row in rows if row["reason"]]
        assert (len(rows), len(in_python)) == STEPS[name], in_python
        assert len(in_python) <= (1 - LOWERED) * len(rows)
        made, = example.train._made.values()
        stops = made.step_program._table.stops
        with monkeypatch.context() as patch:
            outside = calls_from_now(patch, program, "execute")
            inside = calls_from_now(patch, table.Table, "begin")
            for batch in batches[4:]:
                example.step(batch)
        assert len(inside) >= len(batches[4:])
        assert len(in_python) + (made.step_program._table.stops - stops) / len(batches[4:]) <= EXITS
        assert len(outside) <= EXITS * len(batches[4:])


def calls_from_now(monkeypatch, owner, name):
    """The names of the calls of a function from now on."""
    function, found = getattr(owner, name), []

    def run(*arguments):
        found.append(name)
        return function(*arguments)

    monkeypatch.setattr(owner, name, run)
    return found


def test_a_profile_is_written(tmp_path, capsys):
    trace = tmp_path / "trace.json"
    module = importlib.import_module("sparsekit.examples.matrix_factorization")
    assert module.main(["--epochs", "0", "--steps", "3", "--profile", str(trace)]) == 0
    events = json.loads(trace.read_text())["traceEvents"]
    assert any(event.get("name") == "Embedding" for event in events)
    assert "Wrote" in capsys.readouterr().out


@pytest.mark.parametrize(("words", "message"), [
    (["--batch-size", "0"], "--batch-size must be at least 1, got 0"),
    (["--epochs", "-1"], "--epochs must be at least 0, got -1"),
    (["--profile", "no/such/folder/trace.json"], "there is no folder")])
def test_mistakes_are_named(words, message, capsys):
    assert importlib.import_module("sparsekit.examples.matrix_factorization").main(words) == 2
    assert message in capsys.readouterr().err


def test_the_relation_counts_words_close_behind_others(counted):
    texts = [split_words(paragraph.text) for paragraph in mx.datasets.read_books()]
    for entry in range(0, len(counted.word), 9973):
        word, follower = (counted.words[one[entry]] for one in (counted.word, counted.follower))
        found = sum(text[place + 1:place + 1 + relation.CLOSE].count(follower) for text in texts
                    for place, one in enumerate(text) if one == word)
        assert found == counted.count[entry] > 0, (word, follower)
    assert all(counted.endings[ending] == word[-2:] for word, ending in zip(counted.words, counted.ending, strict=True))
    with pytest.raises(ValueError, match="read-only"):
        counted.count[0] = 9


def test_pairs_tell_nothing_by_one_word_alone(counted):
    train, test = relation.draw_pairs(counted, 0)
    assert abs(np.concatenate([train.label, test.label]).mean() - 0.5) < 1e-6
    there = set(zip(counted.word.tolist(), counted.follower.tolist(), strict=True))
    for part in (train, test):
        for word, follower, label in list(zip(*(one.tolist() for one in part), strict=True))[:2000]:
            assert ((word, follower) in there) == (label == 1)
    both = [np.concatenate(parts) for parts in zip(train, test, strict=True)]
    uses = [np.bincount(both[1][both[2] == label], minlength=len(counted.words)) for label in (0, 1)]
    np.testing.assert_array_equal(*uses)


# sampled softmax


def layer_of(classes, width, sparse=True):
    layer = sampled_softmax.SampledSoftmaxLoss(classes, width, sparse)
    layer.initialize(mx.init.Normal(0.5))
    return layer


def test_candidates_are_corrected_and_hits_are_left_out():
    mx.random.seed(0)
    target = np.array([0, 3, 49, 0])
    candidates = sampled_softmax.draw_candidates(target, 20, 50)
    classes = candidates.classes.asnumpy()
    assert classes[:4].tolist() == target.tolist()
    assert len(set(classes[4:].tolist())) == 20
    hits = candidates.hits.asnumpy()
    np.testing.assert_array_equal(hits == np.float32(sampled_softmax.MASKED), target[:, None] == classes[4:])
    assert set(np.unique(hits).tolist()) <= {0.0, float(np.float32(sampled_softmax.MASKED))}


def test_expected_counts_are_those_of_many_samples():
    mx.random.seed(1)
    counts, expected = np.zeros(30), np.zeros(30)
    for _ in range(2000):
        candidates = sampled_softmax.draw_candidates(np.arange(30), 10, 30)
        counts[candidates.classes.asnumpy()[30:]] += 1
        expected += np.exp(candidates.log_expected.asnumpy()[:30, 0])
    # The formula takes the trials as given, though they depend on what was drawn: it is near, not exact.
    assert (np.abs(counts - expected) <= 0.08 * expected + 4 * np.sqrt(expected)).all()


def test_a_sample_of_all_classes_gives_the_full_loss():
    """Then every class is expected once or nearly so, and nothing is estimated."""
    mx.random.seed(2)
    layer, target = layer_of(12, 5), np.array([3, 0, 11, 3])
    hidden = mx.nd.random.normal(shape=(4, 5))
    candidates = sampled_softmax.draw_candidates(target, 12, 12)
    exact = candidates._replace(log_expected=mx.nd.zeros((16, 1)))
    found = layer(hidden, *exact).asnumpy()
    np.testing.assert_allclose(found, sampled_softmax.full_loss(layer, hidden, mx.nd.array(target)).asnumpy(), rtol=1e-5)


def test_the_gradient_of_sampled_losses_approaches_the_full_one():
    mx.random.seed(3)
    layer, target = layer_of(60, 4), np.array([2, 30])
    hidden = mx.nd.random.normal(shape=(2, 4))
    hidden.attach_grad()
    with mx.autograd.record():
        loss = sampled_softmax.full_loss(layer, hidden, mx.nd.array(target)).sum()
    loss.backward()
    full, mean = hidden.grad.asnumpy().copy(), np.zeros((2, 4))
    for _ in range(400):
        candidates = sampled_softmax.draw_candidates(target, 30, 60)
        with mx.autograd.record():
            loss = layer(hidden, *candidates).sum()
        loss.backward()
        mean += hidden.grad.asnumpy() / 400
    np.testing.assert_allclose(mean, full, atol=0.08)


def test_states_are_carried_and_no_gradient_flows_through_them():
    kind = kept_data.kind_of("language_model")
    options = options_of("language_model", length=5)
    example = kind(kind.load(options), options)
    first, second, *_ = [batch for batch, _ in zip(example.batches(), range(2), strict=False)]
    example.step(first)
    carried = [state.asnumpy() for state in example.states]
    assert all(np.abs(state).max() > 0 for state in carried)
    assert all(state._entry is None for state in example.states)
    example.step(second)
    assert any((state.asnumpy() != before).any() for state, before in zip(example.states, carried, strict=True))
