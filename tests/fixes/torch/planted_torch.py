"""Programs in PyTorch with planted wastes, and clean ones."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import nn

ROWS, CLASSES = 20_000, 4


class Wasteful(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(ROWS, 16)
        self.wide = nn.Linear(300, 16)
        self.out = nn.Linear(16, CLASSES)

    def forward(self, tokens, features):
        rows = self.embedding(tokens)
        pooled = rows.mean(1)
        return self.out(pooled + self.wide(features.to_dense()))


class Clean(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.EmbeddingBag(ROWS, 16, mode="mean", sparse=True)
        self.wide = nn.Linear(300, 16)
        self.out = nn.Linear(16, CLASSES)

    def forward(self, tokens, features):
        return self.out(self.embedding(tokens) + self.wide(features))


class Hot(nn.Module):
    def __init__(self):
        super().__init__()
        self.one = nn.Linear(4000, 8)
        self.several = nn.Linear(4000, 8, bias=False)

    def forward(self, token, tokens):
        hot = F.one_hot(token, 4000).float()
        return self.one(hot) + self.several(torch.sum(F.one_hot(tokens, 4000), dim=1).float())


def batch():
    features = (torch.rand(64, 300) * (torch.rand(64, 300) < 0.02)).to_sparse_csr()
    return torch.randint(0, ROWS, (64, 30)), features, torch.randint(0, CLASSES, (64,))


def trained(kind, optimizer, **settings):
    torch.manual_seed(0)
    model = kind()
    optimizer = optimizer(model.parameters(), **settings)
    tokens, features, labels = batch()
    dropout = nn.Dropout(0.1)

    def step():
        optimizer.zero_grad()
        loss = F.cross_entropy(dropout(model(tokens, features)), labels)
        loss.backward()
        optimizer.step()
        return loss

    return step, model, optimizer


def wasteful():
    return trained(Wasteful, torch.optim.Adagrad, lr=0.1)


def with_adam():
    _, model, optimizer = trained(Wasteful, torch.optim.Adam, lr=0.01)
    generator = torch.Generator().manual_seed(1)
    schedule = torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.9)

    def other():
        tokens = torch.randint(0, ROWS, (64, 30), generator=generator)
        optimizer.zero_grad()
        loss = model(tokens, FEATURES).pow(2).mean()
        loss.backward()
        optimizer.step()
        schedule.step()
        return loss.item()

    return other, model, optimizer, generator, schedule


torch.manual_seed(2)
FEATURES = batch()[1]


def clean():
    return trained(Clean, torch.optim.SGD, lr=0.1)


def hot():
    torch.manual_seed(0)
    model = Hot()
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    token, tokens = torch.randint(0, 4000, (64,)), torch.randint(0, 4000, (64, 10))

    def step():
        optimizer.zero_grad()
        loss = model(token, tokens).pow(2).mean()
        loss.backward()
        optimizer.step()
        return [loss]

    return step


def tied():
    """The rows are looked up, and the whole weight is multiplied with: no sparse gradient can help."""
    torch.manual_seed(0)
    embedding, tokens = nn.Embedding(4000, 16), torch.randint(0, 4000, (30,))
    optimizer = torch.optim.SGD(embedding.parameters(), 0.1)

    def step():
        optimizer.zero_grad()
        loss = F.cross_entropy(embedding(tokens) @ embedding.weight.t(), tokens)
        loss.backward()
        optimizer.step()
        return loss

    return step
