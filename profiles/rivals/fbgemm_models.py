"""FBGEMM's tables, whose updates are part of the backward pass, in the models of ``torch_models.py``; see ``protocol.py``."""

from __future__ import annotations

import sys

import fbgemm_gpu
import torch
import torch_models
from fbgemm_gpu.split_table_batched_embeddings_ops_common import EmbeddingLocation, PoolingMode
from fbgemm_gpu.split_table_batched_embeddings_ops_training import (
    ComputeDevice,
    OptimType,
    SplitTableBatchedEmbeddingBagsCodegen,
)
from protocol import serve
from torch_models import EPSILON, RATE


class Table(torch.nn.Module):
    """A table whose rows are looked up, or added up with weights; it keeps the sums of AdaGrad itself."""

    def __init__(self, count, width, pooling):
        super().__init__()
        self.width = width
        wide = -width % 4 + width  # it takes only multiples of 4; the columns behind are never read
        self.inner = SplitTableBatchedEmbeddingBagsCodegen(
            [(count, wide, EmbeddingLocation.HOST, ComputeDevice.CPU)], optimizer=OptimType.EXACT_ADAGRAD,
            learning_rate=RATE, eps=0.0, pooling_mode=pooling)
        self.inner.split_optimizer_states()[0][0].fill_(EPSILON)

    def values(self):
        return self.inner.split_embedding_weights()[0][:, :self.width]

    def forward(self, indices, per_sample_weights=None):
        if per_sample_weights is None:
            offsets = torch.arange(indices.numel() + 1)
            return self.inner(indices.reshape(-1), offsets)[:, :self.width].reshape(*indices.shape, self.width)
        offsets = torch.arange(0, indices.numel() + 1, indices.shape[1])
        return self.inner(indices.reshape(-1), offsets, per_sample_weights=per_sample_weights.reshape(-1))[:, :self.width]


def rows(count, width):
    """As in ``torch_models``."""
    return Table(count, width, PoolingMode.NONE)


def bags(count, width):
    """As in ``torch_models``."""
    return Table(count, width, PoolingMode.SUM)


class Worker(torch_models.Worker):
    """As in ``torch_models``."""

    tables = sys.modules[__name__]

    def info(self):
        return {**super().info(), "name": "fbgemm", "version": f"{fbgemm_gpu.__version__} with torch {torch.__version__}"}

    def optimizers_of(self, model):
        tables = [one for one in model.modules() if isinstance(one, Table)]
        own = {id(parameter) for table in tables for parameter in table.parameters()}
        dense = [one for one in model.parameters() if id(one) not in own]
        torch_models.fill([*[table.values() for table in tables], *dense])
        return torch_models.adagrad(dense)


if __name__ == "__main__":
    serve(Worker())
