"""Sampled softmax: the cross entropy over very many classes, computed on the right class and a sample of the others.

The sample is drawn without replacement from a log-uniform distribution, which fits classes that are ordered by frequency, such
as words.  The logarithm of the expected count of a class in a sample is subtracted from its logit, so that the gradient
estimates that of the full softmax.  A sampled class that is the right one is masked (Jean et al. 2015,
https://arxiv.org/abs/1412.2007).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, Unpack

import numpy as np

from .. import gluon, nd

if TYPE_CHECKING:
    from ..base.types import Array
    from ..core.types import Functions, Tensor
    from ..gluon.types import BlockOptions
    from ..ndarray.ndarray import NDArray
    from ..ndarray.sparse import CSRNDArray

#: Added to the logit of a class to mask it.
MASKED = -1e30


class Candidates(NamedTuple):
    """The inputs of ``SampledSoftmaxLoss`` beside the hidden state.

    Attributes
    ----------
    classes : NDArray of int64, shape (targets + samples,)
        The right classes, then the sampled ones.
    log_expected : NDArray of float32, shape (targets + samples, 1)
        Logarithm of the expected count of each class in a sample.
    hits : CSRNDArray of float32, shape (targets, samples)
        ``MASKED`` where a sampled class is the right one of a target.
    """

    classes: Any
    log_expected: Any
    hits: Any


def draw_candidates(target: Array, samples: int, classes: int) -> Candidates:
    """Draw ``samples`` distinct classes below ``classes``, independently of the targets.

    Parameters
    ----------
    target : array of int, shape (targets,)
        The right classes.
    samples, classes : int
    """
    drawn, trials = (array.asnumpy() for array in nd._internal._sample_unique_zipfian(range_max=classes, shape=(1, samples)))
    both = np.concatenate([target, drawn[0]]).astype(np.int64)
    share = np.log1p(1.0 / (both + 1.0)) / np.log(classes + 1.0)
    expected = -np.expm1(trials[0] * np.log1p(-share))
    return Candidates(nd.array(both, dtype="int64"), nd.array(np.log(expected)[:, None]), accidental_hits(target, drawn[0]))


def accidental_hits(target: Array, drawn: Array) -> CSRNDArray:
    """Return a csr array of shape (targets, samples) with ``MASKED`` where a sampled class is the right one of a target."""
    order = np.argsort(drawn)
    columns = order[np.minimum(np.searchsorted(drawn, target, sorter=order), len(drawn) - 1)]
    hit = drawn[columns] == target
    components = np.full(int(hit.sum()), MASKED, np.float32), columns[hit], np.concatenate([[0], np.cumsum(hit)])
    return nd.sparse.csr_matrix(components, shape=(len(target), len(drawn)))


class SampledSoftmaxLoss(gluon.HybridBlock):
    """An output layer for very many classes, with the sampled softmax loss.

    Parameters
    ----------
    classes, width : int
        Number of classes, and size of the hidden state.
    sparse : bool
        Whether the gradients of weight and bias are row_sparse.
    **kwargs
        ``prefix`` and ``params`` of ``HybridBlock``.
    """

    def __init__(self, classes: int, width: int, sparse: bool = True, **kwargs: Unpack[BlockOptions]) -> None:
        super().__init__(**kwargs)
        with self.name_scope():
            self.weight = gluon.nn.Embedding(classes, width, sparse_grad=sparse)
            self.bias = gluon.nn.Embedding(classes, 1, sparse_grad=sparse, weight_initializer="zeros")

    def hybrid_forward(self, F: Functions, hidden: Tensor, classes: Tensor, log_expected: Tensor, hits: Tensor) -> Tensor:
        """Return the losses, of shape (targets,), for ``hidden`` of shape (targets, width) and the arrays of ``Candidates``."""
        targets = hidden.shape[0]
        rows, shift = self.weight(classes), self.bias(classes) - log_expected
        right, others = (F.slice_axis(rows, axis=0, begin=begin, end=end) for begin, end in ((0, targets), (targets, None)))
        shifts = F.slice_axis(shift, axis=0, begin=0, end=targets), F.slice_axis(shift, axis=0, begin=targets, end=None)
        logit = F.sum(hidden * right, axis=1, keepdims=True) + shifts[0]
        sampled = F.FullyConnected(hidden, others, F.reshape(shifts[1], shape=(-1,)), num_hidden=others.shape[0])
        logits = F.concat(logit, sampled + hits, dim=1)
        return -F.slice_axis(F.log_softmax(logits, axis=1), axis=1, begin=0, end=1).reshape((-1,))


def full_loss(layer: SampledSoftmaxLoss, hidden: NDArray, target: NDArray) -> NDArray:
    """Return the cross entropy of each target over all classes, which evaluation uses."""
    logits = nd.FullyConnected(hidden, layer.weight.weight.data(), layer.bias.weight.data().reshape((-1,)),
                               num_hidden=layer.weight.weight.shape[0])
    loss: NDArray = -nd.pick(nd.log_softmax(logits, axis=1), target, axis=1)
    return loss
