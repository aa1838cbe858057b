"""Record what scikit-learn reaches on the data of ``collect_example_data.py`` (its own environment, without sparsekit).

    python tests/oracle/record_sklearn.py tests/golden/example_data.npz tests/golden/example_scores.json

The last fifth of the training data is not trained on: settings are chosen by it, and then the data for testing are looked
at once, as the examples do.

A factorization machine has the capacity of a logistic regression on products of two features; that one has no vectors to
tell the weight of a product that it has not seen.  A matrix factorization has that of a ridge regression on users and items
and a truncated singular value decomposition of what it leaves.
"""

import hashlib
import itertools
import json
import sys

import numpy as np
import scipy.sparse
import sklearn
from sklearn.decomposition import TruncatedSVD
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures

STRENGTHS = (0.03, 0.1, 0.3, 1.0, 3.0, 10.0)
RANKS, SHRINKING = (1, 2, 4, 8, 16), (0.1, 0.2, 0.4, 0.6, 1.0)


def texts(data, part):
    indptr, indices = data[f"text_{part}_indptr"], data[f"text_{part}_indices"].astype(np.int32)
    lengths = np.diff(indptr)
    values = np.repeat(1 / np.sqrt(np.maximum(lengths, 1)), lengths).astype(np.float32)
    return scipy.sparse.csr_matrix((values, indices, indptr), shape=(len(lengths), 2**14)), data[f"text_{part}_label"]


def one_hot(columns, width):
    starts = np.arange(0, columns.size + 1, columns.shape[1])
    return scipy.sparse.csr_matrix((np.ones(columns.size, np.float32), columns.ravel(), starts), shape=(len(columns), width))


def pairs(data, part):
    columns, (followers, words, _) = data[f"pairs_{part}_columns"].astype(np.int32), data["pairs_sizes"]
    ending = data["pairs_ending"][columns[:, 1:] - followers] + followers + words
    return one_hot(np.hstack([columns, ending]), int(data["pairs_width"])), data[f"pairs_{part}_label"]


def carved(x, y):
    """Training data without their last fifth, and that."""
    rows = x.shape[0]
    cut = rows - round(rows / 5)
    return (x[:cut], y[:cut]), (x[cut:], y[cut:])


def classified(make, read, data):
    """The accuracy in testing of the strength of the penalty that is best in validation."""
    train, validation = carved(*read(data, "train"))
    models = [make(LogisticRegression(C=strength, max_iter=200, tol=1e-3)).fit(*train) for strength in STRENGTHS]
    chosen = max(models, key=lambda model: model.score(*validation))
    return float(chosen.score(*read(data, "test")))


def error(said, rating):
    return float(np.sqrt(np.mean((said - rating) ** 2)))


def rated(data):
    """Errors in testing of users and items each by itself, and with a singular value decomposition of the rest."""
    users, items = map(int, data["ratings_shape"])
    user, item = data["ratings_word"].astype(np.int64), data["ratings_follower"].astype(np.int64)
    rating = np.log1p(data["ratings_count"].astype(np.float64))
    x = one_hot(np.stack([user, item + users], axis=1), users + items)
    first = len(rating) - round(len(rating) / 5)
    (train, known), (validation, wanted) = carved(x[:first], rating[:first])
    biases = min((Ridge(alpha=strength).fit(train, known) for strength in STRENGTHS),
                 key=lambda model: error(model.predict(validation), wanted))
    left = scipy.sparse.csr_matrix((known - biases.predict(train), (user[:len(known)], item[:len(known)])), shape=(users, items))
    parts = {rank: TruncatedSVD(rank, random_state=0).fit(left) for rank in RANKS}

    def said(rank, share, rows):
        vectors, axes = parts[rank].transform(left), parts[rank].components_
        return biases.predict(x[rows]) + share * np.sum(vectors[user[rows]] * axes.T[item[rows]], axis=1)

    inside, testing = slice(len(known), first), slice(first, None)
    rank, share = min(itertools.product(RANKS, SHRINKING), key=lambda one: error(said(*one, inside), wanted))
    return {"ratings": error(biases.predict(x[testing]), rating[testing]),
            "ratings_factors": error(said(rank, share, testing), rating[testing])}


def main():
    with open(sys.argv[1], "rb") as file:
        digest = hashlib.sha256(file.read()).hexdigest()
    data = np.load(sys.argv[1])
    products = PolynomialFeatures(degree=2, interaction_only=True, include_bias=False)
    scores = {"text": classified(lambda model: model, texts, data), "pairs": classified(lambda model: model, pairs, data),
              "pairs_products": classified(lambda model: make_pipeline(products, model), pairs, data), **rated(data)}
    with open(sys.argv[2], "w", encoding="utf-8") as file:
        file.write(json.dumps({"scikit-learn": sklearn.__version__, "sha256": digest, "scores": scores}, indent=1) + "\n")


if __name__ == "__main__":
    main()
