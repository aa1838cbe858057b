"""Modules made of modules: buckets that share their parameters, and chains."""

import numpy as np
import pytest

import sparsekit as mx
from tests.calls import refused


def sym_gen(extra=False):
    def make(length):
        net = mx.sym.FullyConnected(mx.sym.sum(mx.sym.Variable("data"), axis=1), num_hidden=3, name="fc1")
        if extra and length != 5:
            net = mx.sym.FullyConnected(net, num_hidden=3, name="fc2")
        return mx.sym.SoftmaxOutput(net, name="softmax"), ("data",), ("softmax_label",)

    return make


def bucket_batch(length, **more):
    return mx.io.DataBatch([mx.nd.ones((4, length, 6))], [mx.nd.zeros(4)], bucket_key=length,
                           provide_data=[("data", (4, length, 6))], provide_label=[("softmax_label", (4,))], **more)


def buckets(make=None):
    mod = mx.mod.BucketingModule(make or sym_gen(), default_bucket_key=5)
    mod.bind([("data", (4, 5, 6))], [("softmax_label", (4,))])
    mod.init_params(mx.init.One())
    mod.init_optimizer(optimizer_params={"learning_rate": 0.1})
    return mod


def test_buckets_share_their_parameters(tmp_path):
    mod = buckets()
    for length in (3, 5, 2):
        mod.prepare(bucket_batch(length))
        mod.forward_backward(bucket_batch(length))
        mod.update()
        assert mod.data_shapes[0].shape == (4, length, 6)
    weights = {id(one._exec_group.execs[0].arg_dict["fc1_weight"]) for one in mod._buckets.values()}
    assert len(weights) == 1
    mod.save_checkpoint(str(tmp_path / "b"), 2)
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "b-0002.params", "b-2-symbol.json", "b-3-symbol.json", "b-5-symbol.json", "b.buckets"]
    loaded = mx.mod.BucketingModule.load(str(tmp_path / "b"), 2, sym_gen(), 5)
    loaded.bind([("data", (4, 5, 6))], [("softmax_label", (4,))], for_training=False)
    for length in (5, 3, 4):
        mod.forward(bucket_batch(length), is_train=False)
        loaded.forward(bucket_batch(length), is_train=False)
        np.testing.assert_allclose(loaded.get_outputs()[0].asnumpy(), mod.get_outputs()[0].asnumpy())


def test_buckets_that_cannot_be():
    refused(mx.ParameterNameError, "fc2_weight", lambda: buckets(sym_gen(extra=True)).forward(bucket_batch(3)))
    with pytest.raises(mx.ParameterError, match="A batch for BucketingModule must have bucket_key"):
        buckets().forward(mx.io.DataBatch([mx.nd.ones((4, 6))]))
    with pytest.raises(mx.ParameterError, match="must have provide_data"):
        buckets().forward(mx.io.DataBatch([mx.nd.ones((4, 3, 6))], bucket_key=3))
    refused(mx.ParameterError, "sym_gen is required", mx.mod.BucketingModule.load, "x", 1)
    with pytest.raises(mx.ParameterError, match="sym_dict must have the default bucket key 5"):
        mx.mod.BucketingModule.load_dict({3: sym_gen()(3)[0]}, sym_gen(), 5, {}, {})


def test_names_in_a_chain_are_their_own():
    classifier = mx.sym.SoftmaxOutput(mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=3, name="fc1"), name="softmax")
    chain = mx.mod.SequentialModule()
    chain.add(mx.mod.Module(mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=6, name="fc1"), label_names=None))
    chain.add(mx.mod.Module(classifier), take_labels=True, auto_wiring=True)
    chain.bind([("data", (4, 6))], [("softmax_label", (4,))])
    refused(mx.ParameterError, 'name "fc1_weight" in layer 1', chain.init_params)


def wide():
    net = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=300, name="fc1")
    return mx.sym.SoftmaxOutput(net, name="softmax")


def initialized(mod):
    mod.bind([("data", (4, 6))], [("softmax_label", (4,))])
    mod.init_params()
    return mod.get_params()[0]


def fitted(kind):
    data = mx.io.NDArrayIter(np.zeros((4, 6)), np.zeros(4), 4)
    if kind is mx.model.FeedForward:
        return kind.create(wide(), data, num_epoch=1, learning_rate=0.0).arg_params
    mod = kind(wide())
    mod.fit(data, num_epoch=1, optimizer_params={"learning_rate": 0.0})
    return mod.get_params()[0]


@pytest.mark.filterwarnings("ignore:mxnet.model.FeedForward has been deprecated:DeprecationWarning")
@pytest.mark.parametrize("weights", [
    lambda: initialized(mx.mod.Module(wide())),
    lambda: initialized(mx.mod.SequentialModule().add(mx.mod.Module(wide()), take_labels=True)),
    lambda: initialized(mx.mod.BucketingModule(lambda key: (wide(), ("data",), ("softmax_label",)), 6)),
    lambda: fitted(mx.mod.Module), lambda: fitted(mx.model.FeedForward),
], ids=["module", "sequential", "buckets", "fit", "feed forward"])
def test_weights_begin_within_a_hundredth(weights):
    assert 0.0095 < np.abs(weights()["fc1_weight"].asnumpy()).max() <= 0.01
