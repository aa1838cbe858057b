"""Sampled softmax: the loss of predicting one of very many classes, computed on the right one and a sample of the others.

The sample is drawn with log-uniform probabilities, which fit classes that are numbered by how frequent they are, as words
are; without repetition.  Each logit is lowered by the logarithm of how often its class is expected in a sample, so that
the loss estimates the full one's gradient, and a sampled class that is the right one is left out (Jean et al. 2015,
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

__all__ = ["Candidates", "SampledSoftmaxLoss", "draw_candidates", "full_loss"]

#: What is added to the logit of a class that must not count.
NEVER = -1e30


class Candidates(NamedTuple):
    """Sampled classes, and what the loss needs to know of them.

    Attributes
    ----------
    classes : NDArray of int64, shape (targets + samples,)
        The right classes, then the sampled ones.
    log_expected : NDArray, shape (targets + samples, 1)
        Logarithm of how often each is expected in a sample.
    hits : CSRNDArray, shape (targets, samples)
        ``NEVER`` where a sampled class is a target's right one.
    """

    classes: Any
    log_expected: Any
    hits: Any


def draw_candidates(target: Array, samples: int, classes: int) -> Candidates:
    """Draw ``samples`` of ``classes`` distinct ones, without regard to the targets.

    Parameters
    ----------
    target : array of int, shape (targets,)
    samples, classes : int
    """
    drawn, trials = (array.asnumpy() for array in nd._internal._sample_unique_zipfian(range_max=classes, shape=(1, samples)))
    both = np.concatenate([target, drawn[0]]).astype(np.int64)
    share = np.log1p(1.0 / (both + 1.0)) / np.log(classes + 1.0)
    expected = -np.expm1(trials[0] * np.log1p(-share))
    order = np.argsort(drawn[0])
    places = np.minimum(np.searchsorted(drawn[0], target, sorter=order), samples - 1)
    columns = order[places]
    hit = drawn[0][columns] == target
    hits = (np.full(int(hit.sum()), NEVER, np.float32), columns[hit], np.concatenate([[0], np.cumsum(hit)]))
    return Candidates(nd.array(both, dtype="int64"), nd.array(np.log(expected)[:, None]),
                      nd.sparse.csr_matrix(hits, shape=(len(target), samples)))


class SampledSoftmaxLoss(gluon.HybridBlock):
    """The output layer of very many classes, with the loss of sampled ones.

    Parameters
    ----------
    classes, width : int
        Number of classes, and size of what they are predicted from.
    sparse : bool
        Whether the gradients of weight and bias are row_sparse.
    """

    def __init__(self, classes: int, width: int, sparse: bool = True, **kwargs: Unpack[BlockOptions]) -> None:
        super().__init__(**kwargs)
        with self.name_scope():
            self.weight = gluon.nn.Embedding(classes, width, sparse_grad=sparse)
            self.bias = gluon.nn.Embedding(classes, 1, sparse_grad=sparse, weight_initializer="zeros")

    def hybrid_forward(self, F: Functions, hidden: Tensor, classes: Tensor, log_expected: Tensor, hits: Tensor) -> Tensor:
        """The loss of each target, (targets,), of ``hidden`` (targets, width) and the arrays of ``Candidates``."""
        targets = hidden.shape[0]
        rows, shift = self.weight(classes), self.bias(classes) - log_expected
        right, others = (F.slice_axis(rows, axis=0, begin=begin, end=end) for begin, end in ((0, targets), (targets, None)))
        shifts = F.slice_axis(shift, axis=0, begin=0, end=targets), F.slice_axis(shift, axis=0, begin=targets, end=None)
        logit = F.sum(hidden * right, axis=1, keepdims=True) + shifts[0]
        sampled = F.FullyConnected(hidden, others, F.reshape(shifts[1], shape=(-1,)), num_hidden=others.shape[0])
        logits = F.concat(logit, sampled + hits, dim=1)
        return -F.slice_axis(F.log_softmax(logits, axis=1), axis=1, begin=0, end=1).reshape((-1,))


def full_loss(layer: SampledSoftmaxLoss, hidden: NDArray, target: NDArray) -> NDArray:
    """The loss of each target over all classes: what a sampled softmax estimates, for testing."""
    logits = nd.FullyConnected(hidden, layer.weight.weight.data(), layer.bias.weight.data().reshape((-1,)),
                               num_hidden=layer.weight.weight.shape[0])
    found: NDArray = -nd.pick(nd.log_softmax(logits, axis=1), target, axis=1)
    return found
