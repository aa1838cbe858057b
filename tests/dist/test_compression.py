"""Gradients of two bits: the arithmetic that MXNet documents, its numbers, and the bytes that travel."""

import numpy as np
import pytest

import sparsekit as mx
from sparsekit.dist.compression import pack, packed_size, quantize, unpack
from sparsekit.dist.messages import KeySpec
from sparsekit.dist.partition import Partition, dealt
from sparsekit.dist.transport import LocalCluster

from .world import small_blocks

#: What MXNet 1.9.1 gave: ``kv.create('device')`` with 2bit compression and a threshold of 0.5, two contexts that push the same.
PUSHED = [[.3, .5, -.6, 0], [.3, .5, -.6, .1], [.3, -2, .0, .1]]
PULLED = [[0, 1, -1, 0], [1, 1, -1, 0], [0, -1, 0, 0]]


def by_definition(gradients, threshold):
    """What is sent of each gradient, element by element in float32."""
    residual, sent = np.zeros(len(gradients[0]), np.float32), []
    for gradient in gradients:
        values = np.zeros_like(residual)
        for place, one in enumerate(np.asarray(gradient, np.float32)):
            residual[place] += one
            if residual[place] >= np.float32(threshold):
                values[place] = threshold
            elif residual[place] <= -np.float32(threshold):
                values[place] = -threshold
            residual[place] -= values[place]
        sent.append(values)
    return sent, residual


@pytest.mark.parametrize("threshold", [0.25, 0.5, 2.0])
@pytest.mark.parametrize("size", [1, 3, 4, 5, 1000])
def test_codes_are_those_of_the_definition_and_travel_in_two_bits(size, threshold):
    gradients = np.random.default_rng(size).standard_normal((6, size)).astype(np.float32)
    wanted, left = by_definition(gradients, threshold)
    residual = np.zeros(size, np.float32)
    for gradient, values in zip(gradients, wanted, strict=True):
        packed = pack(quantize(gradient, residual, threshold))
        assert packed.dtype == np.uint8
        assert packed.nbytes == packed_size(size) == (size + 3) // 4
        assert unpack(packed, (size,), threshold, np.dtype(np.float32)).tobytes() == values.tobytes()
    assert residual.tobytes() == left.tobytes()


def test_codes_of_another_size_are_refused():
    with pytest.raises(ValueError, match="2 bytes are needed for 5 elements"):
        unpack(np.zeros(3, np.uint8), (5,), 0.5, np.dtype(np.float32))


@pytest.mark.parametrize("servers", [1, 2])
def test_mxnets_numbers(servers):
    def worker():
        kv = mx.kv.create("dist_sync")
        kv.set_gradient_compression({"type": "2bit", "threshold": 0.5})
        kv.init("w", mx.nd.zeros((4,)))
        found, out = [], mx.nd.zeros((4,))
        for gradient in PUSHED:
            kv.push("w", mx.nd.array(gradient))
            kv.pull("w", out=out)
            found.append(out.asnumpy().tolist())
        return found

    assert LocalCluster(servers, 2).run(worker) == [PULLED, PULLED]


def test_every_worker_keeps_its_own_residual_and_sparse_gradients_travel_whole():
    shape = (40, 3)  # two servers hold parts

    def gradients(rank):
        rng = np.random.default_rng(rank)
        return [rng.standard_normal(shape).astype(np.float32) for _ in range(4)]

    def worker():
        kv = mx.kv.create("dist_sync")
        kv.set_gradient_compression({"type": "2bit"})
        kv.init(["w", "s"], [mx.nd.zeros(shape), mx.nd.zeros(shape).tostype("row_sparse")])
        found, out = [], mx.nd.zeros(shape)
        before = kv.statistics()["bytes_sent"]
        for gradient in gradients(kv.rank):
            kv.push("w", mx.nd.array(gradient))
            kv.pull("w", out=out)
            found.append(out.asnumpy())
        sent = kv.statistics()["bytes_sent"] - before
        rows = mx.nd.sparse.row_sparse_array((np.full((1, 3), 0.1, np.float32), [7]), shape=shape)
        kv.push("s", rows)
        kv.row_sparse_pull("s", out=rows, row_ids=mx.nd.array([7]))
        return found, sent, rows.data.asnumpy()

    sent = [by_definition([one.reshape(-1) for one in gradients(rank)], 0.5)[0] for rank in range(2)]
    with small_blocks():
        results, cut = LocalCluster(2, 2).run(worker), Partition("w", dealt(KeySpec(shape, "float32")), 2)
    for found, count, row in results:
        for step, values in enumerate(found):
            assert values.tobytes() == (sent[0][step] + sent[1][step]).reshape(shape).tobytes()
        assert count == 4 * sum(packed_size(cut.count(shard) * 3) for shard in cut.holders)
        assert len(cut.holders) == 2
        assert (row == np.float32(0.1) + np.float32(0.1)).all()


def test_what_cannot_be_compressed_is_refused_by_name():
    def worker():
        kv = mx.kv.create("dist_sync")
        for wrong, error, text in (({"type": "1bit"}, mx.UnknownNameError, "1bit"), ({}, mx.UnknownNameError, "None"),
                                   ({"type": "2bit", "threshold": 0}, mx.ParameterError, "above 0"),
                                   ({"type": "2bit", "limit": 1}, mx.UnknownNameError, "limit")):
            with pytest.raises(error, match=text):
                kv.set_gradient_compression(wrong)
        kv.set_gradient_compression({"type": "2bit", "threshold": 1})
        kv.init("h", mx.nd.zeros((4,), dtype="float16"))
        with pytest.raises(mx.StorageTypeError, match="key 'h' are float16"):
            kv.push("h", mx.nd.ones((4,), dtype="float16"))
        return True

    assert LocalCluster(1, 1).run(worker) == [True]
