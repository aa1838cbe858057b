"""Record what scikit-learn reaches on the data of ``collect_example_data.py`` (its own environment, without sparsekit).

    python tests/oracle/record_sklearn.py tests/golden/example_data.npz tests/golden/example_scores.json

A factorization machine has the capacity of a logistic regression on products of two features; that one has no vectors to
tell the weight of a product that it has not seen.
"""

import hashlib
import json
import sys

import numpy as np
import scipy.sparse
import sklearn
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures

STRENGTHS = (0.03, 0.1, 0.3, 1.0, 3.0, 10.0)


def texts(data, part):
    indptr, indices = data[f"text_{part}_indptr"], data[f"text_{part}_indices"].astype(np.int32)
    lengths = np.diff(indptr)
    values = np.repeat(1 / np.sqrt(np.maximum(lengths, 1)), lengths).astype(np.float32)
    return scipy.sparse.csr_matrix((values, indices, indptr), shape=(len(lengths), 2**14)), data[f"text_{part}_label"]


def pairs(data, part):
    columns = data[f"pairs_{part}_columns"].astype(np.int32)
    values, starts = np.ones(columns.size, np.float32), np.arange(0, columns.size + 1, columns.shape[1])
    shape = (len(columns), int(data["pairs_width"]))
    return scipy.sparse.csr_matrix((values, columns.ravel(), starts), shape=shape), data[f"pairs_{part}_label"]


def best(make, read, data):
    """The best test accuracy over strengths of the penalty: more than scikit-learn could claim by itself."""
    scores = {}
    for strength in STRENGTHS:
        model = make(LogisticRegression(C=strength, max_iter=100, tol=1e-3)).fit(*read(data, "train"))
        scores[strength] = float(model.score(*read(data, "test")))
    return max(scores.values())


def main():
    with open(sys.argv[1], "rb") as file:
        digest = hashlib.sha256(file.read()).hexdigest()
    data = np.load(sys.argv[1])
    products = PolynomialFeatures(degree=2, interaction_only=True, include_bias=False)
    scores = {"text": best(lambda model: model, texts, data), "pairs": best(lambda model: model, pairs, data),
              "pairs_products": best(lambda model: make_pipeline(products, model), pairs, data)}
    with open(sys.argv[2], "w", encoding="utf-8") as file:
        file.write(json.dumps({"scikit-learn": sklearn.__version__, "sha256": digest, "accuracy": scores}, indent=1) + "\n")


if __name__ == "__main__":
    main()
