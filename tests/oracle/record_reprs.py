"""Record how MXNet 1.9.1 prints its arrays, contexts, blocks, parameters and trainers, and what they are called."""

import expressions

SETUP = ["c = mx.nd.sparse.csr_matrix(([1.0, 2], [1, 3], [0, 1, 2]), shape=(2, 5))",
         "r = mx.nd.sparse.row_sparse_array((np.ones((1, 3)), [1]), shape=(4, 3))", "net = mx.gluon.nn.Sequential()",
         "net.add(mx.gluon.nn.Dense(3, in_units=4), mx.gluon.nn.Activation('sigmoid'), mx.gluon.nn.Dense(2, in_units=3))",
         "deferred = mx.gluon.nn.Dense(2, activation='relu', use_bias=False)", "weight = net[0].weight",
         "net.initialize(mx.init.Zero())", "trainer = mx.gluon.Trainer(net.collect_params(), 'sgd', {'learning_rate': 0.25})",
         "loss = mx.gluon.loss.SigmoidBinaryCrossEntropyLoss()"]
# fmt: off
ARRAYS = ["mx.nd.array([1, 2])", "mx.nd.ones((2, 3))", "mx.nd.zeros((1,))", "mx.nd.array([[1.5, -2], [3, 1e-05]])",
          "mx.nd.array(3.0)", "mx.nd.array([1, 2], dtype='int32')", "mx.nd.arange(3).astype('int64')",
          "mx.nd.ones((2, 1, 2))", "mx.nd.zeros((2000,))", "mx.nd.ones((1, 1))", "mx.nd.array([1, 2], dtype='float64')", "c",
          "r", "c[0]", "c[:1]", "c.data", "c.indices", "c.indptr", "r.data", "r.indices",
          "mx.nd.sparse.zeros('csr', (1000, 1000000))", "mx.nd.sparse.zeros('row_sparse', (3, 2, 2))", "c.tostype('default')",
          "mx.nd.array([1, 2], ctx=mx.cpu(1))", "mx.nd.array([float('inf'), float('nan')])"]
CALLS = ["type(c).__name__", "type(r).__name__", "type(c.data).__name__", "str(type(c))[-28:]", "type(c.context).__name__",
         "repr(c.context)", "str(c.context)", "repr(mx.cpu())", "repr(mx.cpu(3))", "repr(mx.gpu())", "repr(mx.gpu(1))",
         "mx.cpu() == mx.cpu(0)", "mx.cpu() == mx.gpu()", "mx.cpu().device_type", "mx.cpu(2).device_id", "mx.cpu() is None",
         "repr(mx.current_context())", "c.dtype.__name__", "repr(c.shape)", "c.stype", "r.stype", "c.data.stype",
         "c.data.asnumpy().dtype.name", "c.indices.asnumpy().dtype.name", "r.indices.asnumpy().dtype.name",
         "str(c.sum(axis=1)[0].asscalar())", "repr(c.shape[0])", "type(c.sum(axis=1)[0].asscalar()).__name__",
         "np.dtype(c).itemsize", "np.dtype(c.indices).itemsize", "np.dtype(c.data).itemsize"]
BLOCKS = ["repr(net)", "str(net)", "repr(net[0])", "repr(net[1])", "repr(deferred)", "repr(loss)",
          "repr(net.collect_params())", "str(net.collect_params())", "repr(net.params)", "repr(weight)", "repr(net[0].bias)",
          "repr(net[0].params)", "repr(deferred.weight)", "repr(deferred.bias)", "net.name", "net.prefix", "net[0].name",
          "net[0].prefix", "net[1].name", "net[2].name", "deferred.name", "loss.name", "weight.name", "weight.shape",
          "deferred.weight.shape", "weight.stype", "weight.grad_stype", "weight.grad_req", "weight.dtype.__name__",
          "list(net.collect_params())", "list(net.collect_params('.*weight'))", "len(net)", "repr(weight.data())",
          "repr(weight.grad())", "repr(weight.list_ctx())", "trainer.learning_rate", "repr(net[0].weight.init)",
          "deferred.weight.data()", "mx.gluon.nn.Dense(2).weight.data()", "repr(mx.gluon.nn.HybridSequential())",
          "repr(mx.gluon.nn.Dense(5, flatten=False))", "weight.lr_mult", "weight.wd_mult", "repr(net[0].weight.list_data())",
          "mx.gluon.Trainer(net.collect_params(), 'sgdd')", "mx.gluon.nn.Dense(2, in_units=-3)",
          "repr(mx.gluon.Parameter('w', shape=(2, 3)))", "repr(mx.gluon.Parameter('w', shape=(2, 0), stype='row_sparse'))",
          "mx.gluon.Parameter('w', shape=(2, 3), stype='coo')", "repr(mx.gluon.ParameterDict('net_'))"]
ERRORS = ["mx.nd.ones((2, 3)) + mx.nd.ones((3, 2))", "mx.nd.dot(c, mx.nd.ones((4, 2)))", "mx.nd.dot(c, mx.nd.ones((5,)))",
          "mx.nd.ones((2, 3)).asscalar()", "c.asscalar()", "c.reshape((5, 2))", "c[::2]", "c[0, 1]", "r[0]", "r[1:2]",
          "c.tostype('row_sparse')", "r.tostype('csr')", "mx.nd.array([1]).tostype('dense')",
          "mx.nd.sparse.csr_matrix(([1.0, 2], [1, 3], [0, 1, 2]), shape=(2, 3)).check_format()",
          "mx.nd.sparse.csr_matrix(([1.0, 2], [3, 1], [0, 2]), shape=(1, 5)).check_format()",
          "mx.nd.sparse.csr_matrix(([1.0, 2], [1, 3], [0, 3]), shape=(1, 5)).check_format()",
          "mx.nd.sparse.row_sparse_array((np.ones((2, 3)), [3, 1]), shape=(4, 3)).check_format()",
          "mx.nd.sparse.row_sparse_array((np.ones((1, 3)), [4]), shape=(4, 3)).check_format()",
          "mx.nd.ones((2, 3)).reshape((4, 4))", "mx.nd.ones((2, 3))[5]", "mx.nd.zeros((2, 3), stype='coo')",
          "mx.nd.sparse.zeros('csr', (2, 3, 4))", "mx.nd.ones((2, 2), dtype='complex64')", "len(mx.nd.array(3.0))",
          "net(mx.nd.ones((2, 5)))", "mx.io.LibSVMIter(data_libsvm='no such file', data_shape=(5,), batch_size=2)",
          "mx.nd.array([1, 2], ctx=mx.gpu())", "mx.nd.ones((2, 3)).backward()"]
# fmt: on

described = [f"{name}({array})" for array in ARRAYS for name in ("repr", "str")]
expressions.save(SETUP, [(text,) for text in [*described, *CALLS, *BLOCKS, *ERRORS]])
