"""What of MXNet's docstrings is run: which modules, with what given, and what is left out, each with its reason."""

#: The modules, as regular expressions.
MODULES = [
    r"mxnet\.(ndarray|symbol)",
    r"mxnet\.(ndarray|symbol)\.(ndarray|symbol|sparse|contrib|linalg|random|utils|op|gen_(op|_internal|contrib|linalg|random|sparse))",
    r"mxnet\.gluon(\..*)?",
    r"mxnet\.(autograd|optimizer|lr_scheduler|metric|io|kvstore|initializer|module|callback|monitor|profiler)(\..*)?",
    r"mxnet\.(executor|context|random|name|attribute|model|operator|engine|visualization|ndarray_doc|symbol_doc)",
]

_CONVOLUTIONS = "convolutions, pooling, and operators on images and on boxes in them"
_FORMULA = "a formula in the words of the text, not a program"
_PRIVATE = "a function that MXNet does not export"

#: Examples that are not run, by a pattern of their names (``where:kind`` or ``where:kind#statement``).
EXCLUDED = {
    r"model_zoo|^mxnet\.gluon\.block\.(SymbolBlock(\.imports)?):session": "model_zoo",
    r"gluon\.data\.vision|gluon\.nn\.conv_layers|gluon\.contrib\.cnn|PixelShuffle": _CONVOLUTIONS,
    r"\.gen_\w+\.\w*(Convolution|Deconvolution|Pooling|BilinearSampler|GridGenerator|SpatialTransformer|UpSampling|BilinearResize2D|"
    r"ROI|MultiBox|Proposal|box_\w+|bipartite_matching|Correlation|Crop)\w*:": _CONVOLUTIONS,
    r"\.retain:facts": "the operator takes a list of rows, which the notation does not say",
    r"^mxnet\.(optimizer|lr_scheduler|metric)\b.*:script": _FORMULA,
    r"\.gen_\w+\.\w*(adamw|adagrad|ftrl|sgd|signsgd|signum|adam|rmsprop|lamb|nag)\w*_update:equations": _FORMULA,
    r"\.gen_contrib\.SyncBatchNorm:": _FORMULA,
    r"\.gen_op\.L2Normalization:equations#[012]$": _FORMULA,
    r"\.gen_\w+\.(dot|batch_dot):equations#0$": _FORMULA,
    r"\.(foreach):script": _FORMULA,
    r"^mxnet\.gluon\.block\.HybridBlock\.optimize_for:": "backends that rewrite graphs",
    r"^mxnet\.autograd\._RecordingStateScope|indexing_key_expand_implicit_axes": _PRIVATE,
}

#: Statements whose results differ from MXNet's on purpose. They count as run, and as not passed.
ON_PURPOSE = {
    r"^mxnet\.executor\.Executor\.reshape:session#5$|SequentialModule\.add:session#[12]$": "no repr holds an address",
    r"KVStore\._set_updater:session#4$": "what an updater raises is raised; MXNet prints it and goes on",
    r"^mxnet\.executor\.Executor\.debug_str:": "the text about memory is one of our own",
    r"^mxnet\.gluon\.data\.dataloader\.DataLoader:session#(4|1[0124])$":
        "its workers are threads (DIFFERENCES.md), so what they print is seen",
    r"CSRNDArray\.asscipy:session#[12]$": "scipy's newer class (DIFFERENCES.md)",
    r"CSRNDArray\.asscipy:session#3$": "scipy's own repr, of another version",
    r"^mxnet\.io\.io\.NDArrayIter:session#22$": "arrays of different lengths are refused (DIFFERENCES.md)",
    r"^mxnet\.io\.io\.NDArrayIter:session#26$": "batches of csr data are csr (DIFFERENCES.md), as this docstring says",
    r"^mxnet\.ndarray\.ndarray\.NDArray\.__getitem__:session#35$":
        "zeros and ones that may be a mask are refused (DIFFERENCES.md)",
    r"\.dtype:session#[13]$|\.astype:session#2$": "a dtype is a numpy dtype (DIFFERENCES.md)",
    r"^mxnet\.visualization\.plot_network:session#[56]$": "the picture is one of our own (DIFFERENCES.md)",
}

#: The same, where the recorded calls show more than the example: that ``list`` asks for the length.
ON_PURPOSE_IN_CALLS = {
    r"^mxnet\.symbol\.gen_op\.clip:facts#[12]$": "a symbol that is refused takes no number in the names",
    r"IntervalSampler:session#3$": "the length counts what the sampler gives (DIFFERENCES.md)",
}

#: Statements that do not pass yet. They count as run, and as not passed.
NOT_YET = {
    r"\.gen_contrib\.hawkesll:equations#8$": "contrib.hawkesll is not here",
}

#: Examples that draw numbers, whatever the seed: MXNet's generator is not copied, so only the form of the results is compared.
CHANCE = [r"^mxnet\.random\.seed:", r"^mxnet\.ndarray\.random\.", r"^mxnet\.symbol\.random\."]

_LAYERS = "from mxnet.gluon.nn import *"

_ARRAYS = "from mxnet.ndarray import *"

_SYMBOLS = """
from mxnet.symbol import *
from mxnet import test_utils

class SymbolDoc:
    @staticmethod
    def get_output_shape(symbol, **shapes):
        return dict(zip(symbol.list_outputs(), symbol.infer_shape(**shapes)[1]))

"""

_MODULE = """
units = globals().get('units', 3)

def network():
    net = mx.sym.FullyConnected(mx.sym.var('data'), num_hidden=units, name='fc3')
    return mx.sym.SoftmaxOutput(net, name='softmax')

rows = np.arange(20).reshape(5, 4) / 10
metric = mx.metric.Accuracy()
model_prefix, n_epoch_load, n_epoch = 'model', 1, 2
iterator = data = train_iter = train_dataiter = mx.io.NDArrayIter(rows, np.array([0, 1, 2, 1, 0]), batch_size=1)
eval_data = val_dataiter = mx.io.NDArrayIter(rows, np.array([0, 1, 2, 1, 0]), batch_size=1)
mod = mx.mod.Module(network(), context=mx.cpu())
"""

_BOUND = _MODULE + """
mod.bind(data_shapes=train_iter.provide_data, label_shapes=train_iter.provide_label, inputs_need_grad=True)
module = mod
"""

_READY = _BOUND + """
mod.init_params(mx.init.One())
for epoch in (1, 3):
    mod.save_checkpoint(model_prefix, epoch)
"""

_PASSED = _READY + """
data_batch = next(iter(train_iter))
mod.forward(data_batch, is_train=True)
"""

_BACK = _PASSED + "mod.backward()\n"

_BASE = r"^mxnet\.module\.base_module\.BaseModule\."

_STORE = """
shape = (2, 3)
kv = mx.kv.create('local')
a = mx.nd.zeros(shape)
gpus = [mx.cpu(i) for i in range(4)]
{}
"""
_KEYS = "for key in ['3', '4', '5', '6', '7', '8', '9', *more]:\n    kv.init(key, mx.nd.ones(shape) * 2)\n"

_EXECUTOR = """
net = mx.sym.FullyConnected(mx.sym.var('data'), num_hidden=2, name='fc')
values = {'data': mx.nd.ones((2, 3)), 'fc_weight': mx.nd.ones((2, 3)), 'fc_bias': mx.nd.zeros((2,))}
texe = texec = net.bind(mx.cpu(), values)
mydata = mx.nd.ones((2, 3)) * 4
mx.model.save_checkpoint('mx_mlp', 0, net, {name: value for name, value in values.items() if name != 'data'}, {})
"""

_STEP = """
x = mx.nd.array([[1, 2], [3, 4]])
w = mx.nd.array([[0.5, 1], [2, -1]])
w.attach_grad()
model = lambda x: mx.nd.dot(x, w)
dropout = mx.gluon.nn.Dropout(0.5)
sampling = lambda y: y * 2
backward = mx.autograd.backward
"""

#: What an example takes for granted, by a pattern of its name: all that match are run before it.
GIVEN = {
    r"^mxnet\.autograd\.": _STEP,
    r"^mxnet\.callback\.": _MODULE + "module = mod\n",
    r"^mxnet\.executor\.Executor\.(forward|set_monitor_callback|copy_params_from):": _EXECUTOR,
    r"^mxnet\.gluon\.block\.Block\.name_scope:": "self = nn.Sequential(prefix='net_')",
    r"^mxnet\.gluon\.(block\.Block\.collect_params|parameter\.ParameterDict\.setattr):":
        "model = nn.Sequential(prefix='')\nmodel.add(nn.Dense(2, prefix='conv1_'), nn.Dense(3, prefix='fc_'))",
    r"^mxnet\.gluon\.contrib\.data\.": "from mxnet.gluon import contrib",
    r"^mxnet\.gluon\.contrib\.nn\.": "from mxnet.gluon.contrib.nn import *",
    r"^mxnet\.gluon\.nn\.(basic_layers|activations)\.": _LAYERS,
    r"^mxnet\.initializer\.": _BOUND + "from mxnet.initializer import alias",
    r"^mxnet\.kvstore\.kvstore\.KVStore\.pull:": "more = ['10']",
    r"^mxnet\.kvstore\.kvstore\.KVStore\.(push|pushpull|_set_updater):": "more = []",
    r"^mxnet\.kvstore\.kvstore\.KVStore\.(push|pull|pushpull|_set_updater):": _STORE.format(_KEYS),
    r"^mxnet\.kvstore\.kvstore\.KVStore\.row_sparse_pull:": _STORE.format(""),
    _BASE + "score:": "units = 1",
    _BASE + "(init_params|set_params|bind):": _MODULE,
    _BASE + "set_params:": _READY,
    _BASE + "(score|iter_predict|predict|fit|get_params|save_params|load_params|init_optimizer):": _READY,
    _BASE + "load_params:": "mod.save_params('myfile')",
    _BASE + "(backward|get_outputs|update_metric):": _PASSED,
    _BASE + "(update|get_input_grads):": _BACK,
    r"^mxnet\.module\.sequential_module\.": "mod1 = mod2 = mx.mod.Module(mx.sym.var('data'), label_names=None)",
    r"^mxnet\.ndarray\.sparse\.RowSparseNDArray:": "dense = mx.nd.array([[0, 1], [0, 0], [2, 3]])",
    r"^mxnet\.ndarray_doc\.": _ARRAYS,
    r"^mxnet\.symbol\.symbol\.Symbol\.__neg__:": "b = mx.sym.Variable('b')",
    r"^mxnet\.symbol_doc\.|^mxnet\.symbol\.gen_op\.\w+:session": _SYMBOLS,
    r"\.gen_contrib\.hawkesll:": "N, T, K = 4, 4, 3",
    r"\.gen_linalg\.gemm2?:": "A = B = C = array([[[[1, 2]], [[3, 4]]]])",
    r"\.gen_op\.(MakeLoss|make_loss):": "out = array([0.5, 0.25])\nlabel = array([1, 0])",
    r"\.gen_op\.softmax_cross_entropy:": "data = array([[1, 2, 3], [11, 7, 5]])",
}
