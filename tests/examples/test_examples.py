"""Each example trains to a score that no trivial predictor reaches, dense and sparse to the same losses."""

import hashlib
import importlib
import json
from pathlib import Path

import numpy as np
import pytest

import sparsekit as mx
from sparsekit.base.errors import DataFileError, MissingPackageError
from sparsekit.examples import NAMES, relation, running, sampled_softmax
from sparsekit.examples.factorization_machine import Data

GOLDEN = Path(__file__).parents[1] / "golden"
SCORES = json.loads((GOLDEN / "example_scores.json").read_text())

#: Sizes at which an example takes a few seconds, and how much better than the trivial predictor it must be.
SMALL = {
    "linear_classification": ({"epochs": 4, "batch_size": 32}, 0.2),
    "factorization_machine": ({"epochs": 4, "factors": 32, "batch_size": 64}, 0.08),
    "matrix_factorization": ({"epochs": 2}, 0.03),
    "wide_and_deep": ({"epochs": 2, "hidden": 16}, 0.08),
    "language_model": ({"epochs": 1, "words": 1500, "width": 32, "hidden": 48, "projection": 32, "samples": 100,
                        "batch_size": 8}, 30.0),
}


def kept(name):
    """The data that scikit-learn was trained on."""
    with np.load(GOLDEN / "example_data.npz") as stored:
        return {key: stored[key] for key in stored.files if key.startswith(name)}


def texts():
    """Docstrings, as rows of length 1."""
    stored, parts = kept("text"), []
    for part in ("train", "test"):
        starts = stored[f"text_{part}_indptr"].astype(np.int64)
        lengths = np.diff(starts)
        values = np.repeat(1 / np.sqrt(np.maximum(lengths, 1)), lengths).astype(np.float32)
        x = mx.nd.sparse.csr_matrix((values, stored[f"text_{part}_indices"].astype(np.int64), starts),
                                    shape=(len(lengths), 2**14))
        parts.append(mx.datasets.Part(x, stored[f"text_{part}_label"].astype(np.float32)))
    return mx.datasets.DocstringData(*parts, ("numba", "numpy"), {}, {"numpy": 0, "numba": 0}, 0)


def pairs():
    """Pairs of modules and words."""
    stored, made = kept("pairs"), []
    for part in ("train", "test"):
        made += [relation._rows(stored[f"pairs_{part}_columns"].astype(np.int64), int(stored["pairs_width"])),
                 stored[f"pairs_{part}_label"].astype(np.float32)]
    return Data(*made)


def shortened(data):
    """A part of the text: a test needs no more."""
    return data._replace(train=data.train[:45_000], test=data.test[:5_000])


@pytest.fixture(scope="module")
def counted():
    """The relation of one package, read once."""
    return relation.count_relation(["numpy"])


@pytest.fixture(autouse=True)
def small_data(monkeypatch, counted):
    monkeypatch.setattr(relation, "count_relation", lambda packages: counted)
    data = importlib.import_module("sparsekit.examples.language_model")
    monkeypatch.setattr(data, "load_pydoc", lambda *args, **kwargs: shortened(mx.datasets.load_pydoc(*args, **kwargs)))
    for name, load in (("linear_classification", texts), ("factorization_machine", pairs)):
        example = importlib.import_module(f"sparsekit.examples.{name}").Example
        monkeypatch.setattr(example, "load", staticmethod(lambda options, load=load: load()))


def options_of(kind, *words, **changes):
    options = running.settings(kind, running.parser(kind, "name", "text").parse_args(words))
    for name, value in changes.items():
        assert hasattr(options, name)
        setattr(options, name, value)
    return options


def example_of(name):
    return importlib.import_module(f"sparsekit.examples.{name}").Example


@pytest.fixture(scope="module")
def results():
    return {}


@pytest.mark.parametrize("name", NAMES)
def test_an_example_beats_a_trivial_predictor_and_dense_storage(name, results):
    kind, said = example_of(name), []
    changes, margin = SMALL[name]
    result = results[name] = running.run(kind, options_of(kind, steps=5, **changes), said.append)
    better = result.scores[-1] - result.trivial if kind.more_is_better else result.trivial - result.scores[-1]
    assert better >= margin
    dense, sparse = result.outcomes["dense"], result.outcomes["sparse"]
    np.testing.assert_allclose(dense.losses, sparse.losses, rtol=2e-5)
    assert sparse.losses[0] != sparse.losses[-1]
    assert sparse.gradient < dense.gradient
    assert all(word in "\n".join(said) for word in ("milliseconds a step", "bytes of gradients", kind.score_name))


def test_the_kept_data_are_those_that_scikit_learn_had():
    assert hashlib.sha256((GOLDEN / "example_data.npz").read_bytes()).hexdigest() == SCORES["sha256"]


@pytest.mark.parametrize(("name", "rival"), [("linear_classification", "text"), ("factorization_machine", "pairs_products")])
def test_scores_are_scikit_learns_or_better(name, rival, results):
    if name not in results:
        test_an_example_beats_a_trivial_predictor_and_dense_storage(name, results)
    assert results[name].scores[-1] >= SCORES["accuracy"][rival] - 0.01


def test_a_factorization_machine_tells_what_a_linear_model_cannot(results):
    if "factorization_machine" not in results:
        test_an_example_beats_a_trivial_predictor_and_dense_storage("factorization_machine", results)
    assert results["factorization_machine"].scores[-1] >= SCORES["accuracy"]["pairs"] + 0.03


@pytest.mark.parametrize("name", NAMES)
def test_a_hybridized_example_is_the_same(name):
    kind = example_of(name)
    outcomes = []
    data = None
    for words in (["--hybridize"], ["--no-hybridize"]):
        options = options_of(kind, *words, **{**SMALL[name][0], "epochs": 0})
        data = kind.load(options) if data is None else data
        example = kind(data, options)
        mx.random.seed(1)
        outcomes.append(running.measure(example, [batch for batch, _ in zip(example.batches(), range(4), strict=False)]))
    assert outcomes[0].losses == outcomes[1].losses


def test_a_profile_is_written(tmp_path, capsys):
    trace = tmp_path / "trace.json"
    module = importlib.import_module("sparsekit.examples.matrix_factorization")
    assert module.main(["--epochs", "0", "--steps", "3", "--profile", str(trace)]) == 0
    events = json.loads(trace.read_text())["traceEvents"]
    assert any(event.get("name") == "Embedding" for event in events)
    assert "Wrote" in capsys.readouterr().out


@pytest.mark.parametrize(("words", "message"), [
    (["--batch-size", "0"], "--batch-size is at least 1"), (["--epochs", "-1"], "--epochs is at least 0"),
    (["--profile", "no/such/folder/trace.json"], "there is no folder")])
def test_mistakes_are_named(words, message, capsys):
    assert importlib.import_module("sparsekit.examples.matrix_factorization").main(words) == 2
    assert message in capsys.readouterr().err


def test_help_says_what_there_is(capsys):
    for name in NAMES:
        with pytest.raises(SystemExit) as leaving:
            importlib.import_module(f"sparsekit.examples.{name}").main(["--help"])
        assert leaving.value.code == 0
        said = capsys.readouterr().out
        assert all(word in said for word in ("--epochs", "--profile", "--hybridize", "--seed", "--quick"))


def test_a_relation_needs_packages_with_enough_documentation(monkeypatch):
    monkeypatch.undo()
    with pytest.raises(MissingPackageError, match="no_such_package"):
        relation.count_relation(["no_such_package"])
    with pytest.raises(DataFileError, match="modules have enough"):
        relation.count_relation(["iniconfig"])


def test_pairs_tell_nothing_by_word_or_module_alone(counted):
    train, test = relation.draw_pairs(counted, 0)
    assert abs(np.concatenate([train.label, test.label]).mean() - 0.5) < 1e-6
    there = set(zip(counted.module.tolist(), counted.word.tolist(), strict=True))
    for part in (train, test):
        for module, word, label in list(zip(*(one.tolist() for one in part), strict=True))[:2000]:
            assert ((module, word) in there) == (label == 1)
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
    np.testing.assert_array_equal(hits == np.float32(sampled_softmax.NEVER), target[:, None] == classes[4:])
    assert set(np.unique(hits).tolist()) <= {0.0, float(np.float32(sampled_softmax.NEVER))}


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


def test_gradients_are_row_sparse_and_name_the_candidates():
    mx.random.seed(4)
    layer, target = layer_of(100, 3), np.array([5, 7])
    candidates = sampled_softmax.draw_candidates(target, 10, 100)
    with mx.autograd.record():
        loss = layer(mx.nd.ones((2, 3)), *candidates)
    loss.backward()
    gradient = layer.weight.weight.grad()
    assert gradient.stype == "row_sparse"
    assert gradient.indices.asnumpy().tolist() == sorted(set(candidates.classes.asnumpy().tolist()))


def test_states_are_carried_and_no_gradient_flows_through_them():
    kind = example_of("language_model")
    options = options_of(kind, **{**SMALL["language_model"][0], "length": 5})
    example = kind(kind.load(options), options)
    first, second, *_ = [batch for batch, _ in zip(example.batches(), range(2), strict=False)]
    example.step(first)
    carried = [state.asnumpy() for state in example.states]
    assert all(np.abs(state).max() > 0 for state in carried)
    assert all(state._entry is None for state in example.states)
    example.step(second)
    assert any((state.asnumpy() != before).any() for state, before in zip(example.states, carried, strict=True))
