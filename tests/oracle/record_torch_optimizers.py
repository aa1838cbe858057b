"""Records what PyTorch's SGD and AdamW make of gradients of a few rows each, in float64.

    PYTHON tests/oracle/record_torch_optimizers.py tests/golden/torch_optimizers.json

The Python has to have torch.  AdamW adds epsilon to another root than MXNet does, so epsilon is next to nothing.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import torch

ROWS, WIDTH, STEPS = 12, 2, 60
#: Steps after which weights are recorded.
SHOWN = (1, 2, 20, 59, 60)

CASES = {"sgd, weight decay": (torch.optim.SGD, {"weight_decay": 0.05}),
         "sgd, momentum and weight decay": (torch.optim.SGD, {"weight_decay": 0.05, "momentum": 0.9}),
         "adamw": (torch.optim.AdamW, {"weight_decay": 0.05, "betas": (0.9, 0.999), "eps": 1e-15}),
         "adamw, other averages": (torch.optim.AdamW, {"weight_decay": 0.2, "betas": (0.8, 0.95), "eps": 1e-15})}


def gradients(random: np.random.Generator) -> list[dict[str, list]]:
    """For each step the rows that have a gradient, and its values: row 0 in the first step and the last alone, row 11 never."""
    made = []
    for step in range(STEPS):
        drawn = sorted(random.choice(range(1, 11), 2, replace=False).tolist())
        rows = [0] if step == 0 else [0, 3] if step == STEPS - 1 else drawn
        made.append({"rows": rows, "values": random.standard_normal((len(rows), WIDTH)).round(3).tolist()})
    return made


def train(make: type[torch.optim.Optimizer], settings: dict, start: list, steps: list, rates: list[float]) -> list[list]:
    """The weight after the steps that are shown."""
    weight = torch.nn.Parameter(torch.tensor(start, dtype=torch.float64))
    optimizer = make([weight], lr=rates[0], **settings)
    found = []
    for number, (step, rate) in enumerate(zip(steps, rates, strict=True), 1):
        optimizer.param_groups[0]["lr"] = rate
        weight.grad = torch.zeros_like(weight)
        weight.grad[step["rows"]] = torch.tensor(step["values"], dtype=torch.float64)
        optimizer.step()
        if number in SHOWN:
            found.append([number, weight.detach().numpy().round(14).tolist()])
    return found


def main(target: Path) -> None:
    """Write the file."""
    random = np.random.default_rng(0)
    start, steps = random.standard_normal((ROWS, WIDTH)).round(3).tolist(), gradients(random)
    cases = []
    for name, (make, settings) in CASES.items():
        # PyTorch's momentum holds no learning rate, MXNet's does: they agree where it is constant
        rates = [0.1] * STEPS if "momentum" in settings else (0.1 / (1 + 0.05 * np.arange(STEPS))).round(6).tolist()
        cases.append({"name": name, "settings": settings, "rates": rates, "weights": train(make, settings, start, steps, rates)})
    made = {"start": start, "steps": steps, "cases": cases}
    target.write_text(json.dumps(made, indent=None, sort_keys=True) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
