"""Record areas under the receiver operating characteristic, by scikit-learn (its own environment, without MXNet)."""

import json
import math
import sys

import numpy as np
import sklearn
from sklearn.metrics import roc_auc_score


def problem(seed, count, ties):
    places = np.arange(1, count + 1)
    scores = (places * (seed + math.sqrt(2))) % 1
    labels = ((places * (seed + math.sqrt(3))) % 1 + 0.5 * scores > 0.75).astype(np.float32)
    return labels, np.floor(scores * ties) / ties if ties else scores


CASES = []
for case in ((1, 20, 0), (1, 20, 3), (2, 200, 0), (2, 200, 5), (3, 200, 1), (4, 5000, 0), (5, 5000, 50)):
    labels, scores = problem(*case)
    CASES.append({"problem": case, "positives": int(labels.sum()), "auc": float(roc_auc_score(labels, scores))})
with open(sys.argv[1], "w", encoding="utf-8") as file:
    file.write(json.dumps({"scikit-learn": sklearn.__version__, "cases": CASES}) + "\n")
