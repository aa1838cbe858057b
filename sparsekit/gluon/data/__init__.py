"""Data sets, samplers and the loader that makes batches of them: ``mx.gluon.data``."""

from __future__ import annotations

from ...base.entry import entry, entry_classes
from ...base.lazy import add_lazy_names
from . import batchify
from .batchify import default_batchify_fn, default_mp_batchify_fn
from .dataloader import DataLoader
from .dataset import ArrayDataset, Dataset, SimpleDataset
from .sampler import BatchSampler, FilterSampler, IntervalSampler, RandomSampler, Sampler, SequentialSampler

__all__ = ["ArrayDataset", "BatchSampler", "DataLoader", "Dataset", "FilterSampler", "IntervalSampler", "RandomSampler",
           "Sampler", "SequentialSampler", "SimpleDataset", "batchify", "default_batchify_fn", "default_mp_batchify_fn"]

add_lazy_names(globals())

entry_classes(ArrayDataset, BatchSampler, DataLoader, Dataset, FilterSampler, IntervalSampler, RandomSampler, SequentialSampler,
              SimpleDataset)
default_batchify_fn, default_mp_batchify_fn = entry(default_batchify_fn), entry(default_mp_batchify_fn)
