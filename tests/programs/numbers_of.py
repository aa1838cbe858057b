"""The numbers that a program prints and that do not depend on the machine."""

import json
import os
import re

_NUMBER = r"(-?\d+(?:\.\d+)?(?:e[-+]?\d+)?|-?inf|nan)"

#: Program -> name of the numbers -> pattern of the text before them.
PATTERNS = {
    "linear_classification": {"eval nll": r"eval nll = "},
    "factorization_machine": {"eval log loss": r"eval log loss = "},
    "matrix_factorization": {"eval MSE": r"eval MSE = "},
    "wide_deep": {"accuracy": r"epoch \d+, accuracy = ", "batch": r"batch \d+, accuracy = .*?, \[", "average": r"eval set is "},
    "lstm_crf": {"likelihood": r"Negative Log Likelihood "},
    "tree_lstm": {f"{part} {kind}": rf"{part} acc{where}: {kind}=" for part, where in
                  (("training", r" at epoch \d+"), ("validation", ""), ("test", "")) for kind in ("pearsonr", "mse")},
    "word_language_model": {"train": r"Batch \d+\] loss ", "valid": r"valid loss ", "test": r"test loss "},
    "numpy_ops": {"train": r"Train-accuracy=", "validation": r"Validation-accuracy="},
    "updater": {name: f"sum of {name}: " for name in ("weight", "mean", "var")},
    "sparse_end2end": {"accuracy": r"epoch \d+, \('accuracy', ", "batches": r"num_batches = "},
    "test_sparse_fm": {"mse": r"Training \('mse', "},
}

#: Relative deviation that is allowed: Adam's first steps, of gradients near zero, enlarge the rounding of one sum.
TOLERANCE = {"test_sparse_fm": 5e-3}


def numbers_of(name, number, text, folder):
    """Numbers by name; of profiles, the operators and how often they ran."""
    found = {key: [float(value) for value in re.findall(pattern + _NUMBER, text, re.MULTILINE)]
             for key, pattern in PATTERNS.get(name, {}).items()}
    if name == "numpy_ops" and number:
        found["printed"] = [float(value) for value in re.findall(r"-?\d+\.\d*(?:e[-+]\d+)?", text.partition("Error in")[0])]
    if name == "lstm_crf":
        found["tags"] = [float(tag) for line in re.findall(r"\[((?:\d, )+\d)\]\)", text) for tag in line.split(",")]
    if name.startswith("profiler"):
        trace = next(file for file in os.listdir(folder) if file.startswith("profile_"))
        with open(os.path.join(folder, trace), encoding="utf-8") as file:
            events = json.load(file)["traceEvents"]
        ran = [event["name"].strip("[]") for event in events if event.get("ph") in ("B", "X")]
        wanted = {"profiler_matmul": ("dot",), "profiler_ndarray": (
            "broadcast_to", "sum", "max", "min", "sqrt", "square", "norm", "pick", "clip", "dot")}[name]
        found["ran"] = [ran.count(operator) for operator in wanted]
    return {key: values for key, values in found.items() if values}


def deviation(wanted, found, part=False):
    """The largest difference of the numbers under each name, relative to them or to 0.05; infinity if there are others.

    With ``part`` there may be fewer numbers than wanted; more may be "printed" where MXNet failed before the end.
    """
    if wanted.keys() != found.keys():
        return float("inf")
    worst = 0.0
    for name, values in wanted.items():
        if (len(values) > len(found[name]) and not part) or (len(values) < len(found[name]) and name != "printed"):
            return float("inf")
        for one, other in zip(values, found[name], strict=False):
            worst = max(worst, abs(one - other) / max(0.05, abs(one)))
    return worst
