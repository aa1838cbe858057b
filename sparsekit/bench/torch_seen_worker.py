"""The worker for ``sparsekit bench torch``: an embedding model in PyTorch, trained with and without profilers.

``prepare ROWS WIDTH BATCH SPARSE`` builds it and returns the number of operators of a step, ``step FORM STEPS`` returns
milliseconds a step.
"""

from __future__ import annotations

import time
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import sparsekit as mx

from ..base.optional import optional_import
from .protocol import OwnWorker, serve

__all__ = ["Worker"]


class Worker(OwnWorker):
    """The commands, and the model that they share."""

    def versions(self) -> dict[str, str]:
        """Versions of what is measured."""
        self.torch: Any = optional_import("torch", "torch", "sparsekit bench torch")  # Any: PyTorch
        return {"torch": str(self.torch.__version__)}

    def prepare(self, rows: str, width: str, batch: str, sparse: str) -> int:
        """Build the model and a batch; return the operators of a step."""
        torch, nn = self.torch, self.torch.nn
        torch.manual_seed(0)
        torch.set_num_threads(2)
        self.embedding = nn.Embedding(int(rows), int(width), sparse=bool(int(sparse)))
        self.rest = nn.Sequential(nn.Linear(int(width), 128), nn.ReLU(), nn.Linear(128, 20))
        self.loss = nn.CrossEntropyLoss()
        self.tokens = torch.randint(0, int(rows), (int(batch), 40))
        self.labels = torch.randint(0, 20, (int(batch),))
        optimizers = torch.optim
        self.optimizers = ([optimizers.SparseAdam(self.embedding.parameters()), optimizers.Adam(self.rest.parameters())]
                           if int(sparse) else [optimizers.Adam([*self.embedding.parameters(), *self.rest.parameters()])])
        self._train()
        with mx.Profiler(torch=True) as prof:
            self._train()
        return sum(1 for record in prof.records if record["kind"] == "op")

    def _train(self) -> None:
        for optimizer in self.optimizers:
            optimizer.zero_grad()
        self.loss(self.rest(self.embedding(self.tokens).mean(1)), self.labels).backward()
        for optimizer in self.optimizers:
            optimizer.step()

    def _profiler(self, form: str) -> AbstractContextManager[object]:
        if form == "plain":
            return nullcontext()
        if form == "seen":
            return mx.Profiler(torch=True)
        more = {"record_shapes": True, "profile_memory": True} if form == "torch" else {}
        made: AbstractContextManager[object] = self.torch.profiler.profile(
            activities=[self.torch.profiler.ProfilerActivity.CPU], **more)
        return made

    def step(self, form: str, steps: str) -> float:
        """Milliseconds of a training step."""
        with self._profiler(form):
            start = time.perf_counter()
            for _ in range(int(steps)):
                self._train()
            return (time.perf_counter() - start) / int(steps) * 1e3


if __name__ == "__main__":
    serve(Worker())
