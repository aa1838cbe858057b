"""Record the operators of neural networks: values, types, gradients under given heads, moving averages, and refusals.

A case is ``(expression, variables, states)``: names to differentiate for, and names whose values after the backward pass
are recorded too.  Every result gets the same kind of gradient from above, ``head`` in the setup.
"""

import sys

import expressions
import mxnet as mx
import numpy as np
import recording

SETUP = [
    "head = lambda a: mx.nd.array((np.arange(a.size).reshape(a.shape) % 7 - 2) / 4, dtype=a.dtype)",
    "x = mx.nd.array([[1, 0, 2, 0, -3], [0, 0.5, 0, 0, -1.5], [0, 0, 4, 5, 0], [-1, 0, 0, 2, 3]])",
    "probability = mx.nd.softmax(mx.nd.array([[1, 0, 2, 0, -3], [0, 0, 0, 0, 0], [0, 1, 4, 5, 0], [-1, 3, 0, 2, 3]]))",
    "label, twice, strange = mx.nd.array([1, 0, 4, 2]), mx.nd.array([2, 0, 8, 4]), mx.nd.array([7, -1, 1.7, 5])",
    "ends = mx.nd.array([1, 3, 0, 5], dtype='int32'), mx.nd.array([1, 3, 2, 0, 4], dtype='int32')",
    "inner = mx.nd.array(np.array([[1, 3, 2, 0], [1, 2, 3, 2]]), dtype='int64')",
    "column, sparse = mx.nd.array([[1], [0], [4], [2]]), mx.nd.array([[0, 1, 0, 0, 3], [0, 0, 2, 0, 0]] * 2).tostype('csr')",
    "other = mx.nd.array([[0.5, 1, -2, 0, 3], [1, 0, 0.25, 2, 0], [0, 1, 3, 5.5, -1], [-2, 0, 0, 2, 1]])",
    "cube = mx.nd.array(np.arange(24).reshape(2, 3, 4) % 5 - 1.5)",
    "places, thirds = mx.nd.array([[0, 1, 2, 1], [2, 2, 0, 1]]), mx.nd.array([[0, 1, 2], [3, 2, 1]])",
    "tall, double = mx.nd.array([[[0, 1, 2, 1]], [[2, 2, 0, 1]]]), mx.nd.array((np.arange(24).reshape(2, 3, 4) % 5 - 1.5) * 2)",
    "image = mx.nd.array(np.arange(24).reshape(1, 6, 2, 2) % 7 - 2)",
    "channels = mx.nd.array(np.arange(24).reshape(2, 4, 3) % 5)",
    "g5, b5 = mx.nd.array([0.5, 1, 2, -1, 0.25]), mx.nd.array([0, 1, 0.5, 0, -1])",
    "g4, b4 = mx.nd.array([0.5, 1, 2, -1]), mx.nd.array([0, 1, 0.5, 0])",
    "g3, b3 = mx.nd.array([0.5, 1, 2]), mx.nd.array([0, 1, 0.5])",
    "g2, b2 = mx.nd.array([0.5, 2]), mx.nd.array([0, 1])",
    "g1, b1 = mx.nd.array([0.5]), mx.nd.array([1])",
    "mean5, var5 = mx.nd.array(np.arange(5) / 2), mx.nd.array(np.arange(5) / 2 + 1)",
    "mean3, var3 = mx.nd.array(np.arange(3) / 2), mx.nd.array(np.arange(3) / 2 + 1)",
    "mean4, var4 = mx.nd.array(np.arange(4) / 2), mx.nd.array(np.arange(4) / 2 + 1)",
    "w = mx.nd.array(np.arange(12).reshape(4, 3) / 4 - 1)",
    "ids, far = mx.nd.array([[0, 3], [1, 1]]), mx.nd.array([7, -1, 1.7, -0.5])",
    "ids32, ids64 = ids.astype('int32'), ids.astype('int64')",
    "speech = mx.nd.array(np.sin(np.arange(40)).reshape(5, 2, 4))",
    "sample = mx.nd.array([[1, 2, 3], [0.5, 4, 2]])",
    "p, q, r = mx.nd.array([2, 0.5]), mx.nd.array([5, 3]), mx.nd.array([0.4, 0.7])",
    "shares, alphas = mx.nd.array([[0.2, 0.3, 0.5], [0.1, 0.1, 0.8]]), mx.nd.array([[2, 1, 0.5], [1, 1, 3]])",
    "fw, fb = mx.nd.array(np.arange(10).reshape(2, 5) / 5 - 1), mx.nd.array([0.5, -0.25])",
    "cw = mx.nd.array(np.arange(24).reshape(2, 12) / 16 - 1)",
    "picture = mx.nd.array(np.arange(84).reshape(1, 2, 6, 7) % 11 - 3)",
    "blocks = mx.nd.array(np.arange(300).reshape(1, 12, 25) % 13 - 4)",
    "wider = mx.nd.array(np.arange(144).reshape(1, 12, 12) % 13 - 4)",
    "half = lambda a: a.astype('float16')",
]

LAYERS = [("mx.nd.FullyConnected(x, fw, fb, num_hidden=2)", "x fw fb"),
          ("mx.nd.FullyConnected(x, fw, num_hidden=2, no_bias=True)", "x fw"),
          ("mx.nd.FullyConnected(cube, cw, fb, num_hidden=2)", "cube cw fb"),
          ("mx.nd.FullyConnected(cube, cw[:, :4], fb, num_hidden=2, flatten=False)", "cube cw fb"),
          ("mx.nd.FullyConnected(half(x), half(fw), half(fb), num_hidden=2)", ""),
          ("mx.nd.FullyConnected(x, fw.tostype('row_sparse'), fb, num_hidden=2)", ""),
          ("mx.nd.FullyConnected(x, fw, num_hidden=2)", ""), ("mx.nd.FullyConnected(x, cw, fb, num_hidden=2)", ""),
          ("mx.nd.FullyConnected(x, fw, fb)", ""), ("mx.nd.FullyConnected(x, fw, b3, num_hidden=2)", ""),
          *((f"mx.nd.Activation(x, act_type='{kind}')", "x") for kind in ("relu", "sigmoid", "tanh", "softrelu", "softsign")),
          ("mx.nd.Activation(x, act_type='gelu')", ""), ("mx.nd.Activation(x.astype('int32'), act_type='relu')", ""),
          ("mx.nd.Activation(x)", ""), ("mx.nd.Activation(half(x), act_type='tanh')", ""),
          *((f"mx.nd.LeakyReLU(x, act_type='{kind}')", "x") for kind in ("leaky", "elu", "selu", "gelu")),
          ("mx.nd.LeakyReLU(x)", "x"), ("mx.nd.LeakyReLU(x, act_type='elu', slope=0.5)", "x"),
          ("mx.nd.LeakyReLU(x, slope=0.5)", "x"), ("mx.nd.LeakyReLU(half(x), act_type='gelu')", ""),
          ("mx.nd.LeakyReLU(x, g5, act_type='prelu')", "x g5"), ("mx.nd.LeakyReLU(x, g1, act_type='prelu')", "x g1"),
          ("mx.nd.LeakyReLU(cube, g3, act_type='prelu')", "cube g3"), ("mx.nd.LeakyReLU(x, g3, act_type='prelu')", ""),
          ("mx.nd.LeakyReLU(x, act_type='prelu')", ""), ("mx.nd.LeakyReLU(x, g5)", ""), ("mx.nd.LeakyReLU(x, act_type='a')", ""),
          ("mx.nd.LeakyReLU(x.astype('int32'))", ""), ("mx.nd.Dropout(x)", ""), ("mx.nd.Dropout(x, p=0)", "x"),
          ("mx.nd.Dropout(x, p=-1)", ""), ("mx.nd.Dropout(x, p=1.5)", ""), ("mx.nd.Dropout(x, mode='never')", ""),
          ("mx.nd.Dropout(x.astype('int32'), mode='always')", ""), ("mx.nd.Dropout(x, axes=(9,), mode='always')", ""),
          ("mx.nd.Dropout(x, mode='always').shape", ""), ("mx.nd.Dropout(half(x), mode='always').dtype", "")]
SOFTMAX = [*((f"mx.nd.{name}({array}{extra})", array) for name in ("softmax", "log_softmax", "softmin")
             for array, extra in (("x", ""), ("x", ", axis=0"), ("x", ", temperature=2.0"),
                                  ("cube", ", axis=1, temperature=0.5"), ("cube", ", axis=-2"))),
           *((f"mx.nd.{name}({array})", "") for name in ("softmax", "log_softmax", "softmin")
             for array in ("half(x)", "x, axis=2", "x.astype('int32')", "x, dtype='float16'", "half(x), dtype='float32'",
                           "x, dtype='float64'", "mx.nd.zeros((3, 1))", "x * 100", "x, dtype='int32'")),
           ("mx.nd.softmax(x, ends[0], use_length=True)", "x"), ("mx.nd.softmax(x, ends[1], use_length=True, axis=0)", "x"),
           ("mx.nd.softmax(cube, inner, use_length=True, axis=1)", "cube"),
           ("mx.nd.softmax(x, mx.nd.array([1, 3, 2, 5]))", ""), ("mx.nd.softmax(x, use_length=True)", ""),
           ("mx.nd.softmax(x, mx.nd.array([1, 3], dtype='int32'), use_length=True)", ""),
           ("mx.nd.log_softmax(x, use_length=True)", ""), ("mx.nd.SoftmaxActivation(x)", "x"),
           ("mx.nd.SoftmaxActivation(cube)", "cube"), ("mx.nd.SoftmaxActivation(cube, mode='channel')", "cube"),
           ("mx.nd.SoftmaxActivation(x, mode='channel')", ""), ("mx.nd.SoftmaxActivation(x, mode='a')", ""),
           ("mx.nd.softmax_cross_entropy(x, label)", "x"), ("mx.nd.softmax_cross_entropy(x, label[:2])", ""),
           ("mx.nd.softmax_cross_entropy(cube, label[:2])", "")]
ATTRIBUTES = ["", "grad_scale=0.5", "use_ignore=True, ignore_label=4", "normalization='batch'", "normalization='valid'",
              "use_ignore=True, ignore_label=4, normalization='batch'", "use_ignore=True, ignore_label=4, normalization='valid'",
              "ignore_label=4, normalization='valid'", "smooth_alpha=0.1", "smooth_alpha=0.1, use_ignore=True, ignore_label=4"]
OUTPUTS = [
    *((f"mx.nd.SoftmaxOutput(x, label, {extra})", "x") for extra in ATTRIBUTES),
    ("mx.nd.Softmax(x, label)", "x label"), ("mx.nd.SoftmaxOutput(x, strange)", "x"),
    ("mx.nd.SoftmaxOutput(x, probability, grad_scale=2, normalization='batch')", "x"),
    ("mx.nd.SoftmaxOutput(x, label, out_grad=True)", "x"),
    *((f"mx.nd.SoftmaxOutput(cube, places, multi_output=True, {extra})", "cube") for extra in (
        "", "normalization='batch'", "normalization='valid', use_ignore=True, ignore_label=1",
        "normalization='valid', ignore_label=1", "smooth_alpha=0.1", "grad_scale=3")),
    ("mx.nd.SoftmaxOutput(cube, tall, multi_output=True)", "cube"),
    *((f"mx.nd.SoftmaxOutput(cube, thirds, preserve_shape=True, {extra})", "cube") for extra in (
        "", "normalization='batch'", "normalization='valid'", "smooth_alpha=0.1")),
    ("mx.nd.SoftmaxOutput(cube, double, preserve_shape=True)", "cube"), ("mx.nd.SoftmaxOutput(x, label[:2])", ""),
    ("mx.nd.SoftmaxOutput(cube, places.reshape((8,)), multi_output=True)", ""),
    ("mx.nd.SoftmaxOutput(half(x), half(label))", ""), ("mx.nd.SoftmaxOutput(x.astype('int32'), label.astype('int32'))", ""),
    ("mx.nd.SoftmaxOutput(x)", ""), ("mx.nd.SoftmaxOutput(x, label, normalization='a')", ""),
    ("mx.nd.SVMOutput(x, label)", "x"), ("mx.nd.SVMOutput(x, label, use_linear=True)", "x"),
    ("mx.nd.SVMOutput(x, label, margin=0.5, regularization_coefficient=0.25)", "x"),
    ("mx.nd.SVMOutput(x, label, margin=0.5, regularization_coefficient=0.25, use_linear=True)", "x"),
    ("mx.nd.SVMOutput(x, strange)", "x"), ("mx.nd.SVMOutput(x, label[:2])", ""),
    *(case for name in ("Linear", "Logistic", "MAE") for case in (
        (f"mx.nd.{name}RegressionOutput(x, other)", "x"), (f"mx.nd.{name}RegressionOutput(x, other, grad_scale=0.5)", "x"),
        (f"mx.nd.{name}RegressionOutput(cube, double)", "cube"), (f"mx.nd.{name}RegressionOutput(label, twice)", "label"),
        (f"mx.nd.{name}RegressionOutput(column, twice)", "column"),
        (f"mx.nd.{name}RegressionOutput(x, sparse)", "x"), (f"mx.nd.{name}RegressionOutput(x, label)", ""),
        (f"mx.nd.{name}RegressionOutput(half(x), half(other))", ""),
        (f"mx.nd.{name}RegressionOutput(x.astype('int32'), x.astype('int32'))", ""))),
    *((f"mx.nd.MakeLoss(x, {extra})", "x") for extra in (
        "", "grad_scale=2", "normalization='batch'", "normalization='valid'", "normalization='valid', valid_thresh=1",
        "normalization='valid', valid_thresh=100")),
    ("mx.nd.MakeLoss(x.astype('int32'))", ""), ("mx.nd.make_loss(x)", "x"), ("mx.nd.MakeLoss(x, normalization='a')", ""),
]
BATCH = "mx.nd.BatchNorm(x, g5, b5, mean5, var5"
NORMALIZATION = [*((f"{BATCH}{extra})", "x g5 b5", "mean5 var5")
                   for extra in ("", ", fix_gamma=False", ", momentum=0.5", ", use_global_stats=True, fix_gamma=False",
                                 ", eps=0.5, fix_gamma=False", ", output_mean_var=True, fix_gamma=False")), (f"{BATCH})", ""),
                 (f"{BATCH}, fix_gamma=False)", ""), (f"{BATCH}, output_mean_var=True)", ""),
                 ("mx.nd.BatchNorm(cube, g3, b3, mean3, var3, fix_gamma=False)", "cube g3 b3", "mean3 var3"),
                 ("mx.nd.BatchNorm(cube, g4, b4, mean4, var4, fix_gamma=False, axis=-1)", "cube g4 b4", "mean4 var4"),
                 ("mx.nd.BatchNorm(cube, g4, b4, mean4, var4, fix_gamma=False, axis=2)", "cube g4 b4", "mean4 var4"),
                 ("mx.nd.BatchNorm(x.astype('int32'), g5, b5, mean5, var5)", ""), (f"{BATCH}, axis=9)", ""),
                 ("mx.nd.BatchNorm(x, g5, b5, mean5)", ""), ("mx.nd.LayerNorm(x, g5, b5)", "x g5 b5"),
                 ("mx.nd.LayerNorm(x, g4, b4, axis=0)", "x g4 b4"), ("mx.nd.LayerNorm(x, g5, b5, eps=0.5)", "x g5 b5"),
                 ("mx.nd.LayerNorm(cube, g3, b3, axis=1)", "cube g3 b3"), ("mx.nd.LayerNorm(cube, g4, b4)", "cube g4 b4"),
                 ("mx.nd.LayerNorm(x, g5, b5, output_mean_var=True)", "x g5 b5"),
                 ("mx.nd.LayerNorm(x, g4, b4, axis=0, output_mean_var=True)", ""),
                 ("mx.nd.LayerNorm(half(x), half(g5), half(b5))", ""), ("mx.nd.LayerNorm(x, g4, b4)", ""),
                 ("mx.nd.LayerNorm(x.astype('int32'), g5, b5)", ""), ("mx.nd.LayerNorm(x, g5, b5, axis=3)", ""),
                 ("mx.nd.InstanceNorm(cube, g3, b3)", "cube g3 b3"),
                 ("mx.nd.InstanceNorm(image, mx.nd.ones(6), mx.nd.zeros(6))", "image"), ("mx.nd.InstanceNorm(x, g5, b5)", ""),
                 ("mx.nd.InstanceNorm(cube, g4, b4)", ""), ("mx.nd.GroupNorm(cube, g1, b1)", "cube g1 b1"),
                 ("mx.nd.GroupNorm(cube, g3, b3, num_groups=3)", "cube g3 b3"),
                 ("mx.nd.GroupNorm(channels, g2, b2, num_groups=2)", "channels g2 b2"),
                 ("mx.nd.GroupNorm(channels, g2, b2, num_groups=2, output_mean_var=True)", ""),
                 ("mx.nd.GroupNorm(cube, g3, b3, num_groups=2)", ""), ("mx.nd.GroupNorm(cube, g3, b3)", ""),
                 *((f"mx.nd.L2Normalization(cube, mode='{mode}')", "cube") for mode in ("instance", "channel", "spatial")),
                 ("mx.nd.L2Normalization(x)", "x"), ("mx.nd.L2Normalization(label)", ""),
                 ("mx.nd.L2Normalization(x, mode='channel')", ""), ("mx.nd.L2Normalization(x, mode='a')", ""),
                 ("mx.nd.L2Normalization(half(x))", ""), ("mx.nd.LRN(image, nsize=3)", "image"),
                 ("mx.nd.LRN(image, nsize=5, alpha=0.5, beta=0.6, knorm=1)", "image"), ("mx.nd.LRN(image)", "")]
TABLES = [*((f"mx.nd.Embedding({data}, w, input_dim=4, output_dim=3)", "w") for data in ("ids", "ids32", "ids64", "far")),
          ("mx.nd.Embedding(ids, half(w), input_dim=4, output_dim=3)", ""),
          ("mx.nd.Embedding(ids, w.astype('int32'), input_dim=4, output_dim=3, dtype='int32')", ""),
          ("mx.nd.Embedding(ids, w.tostype('row_sparse'), input_dim=4, output_dim=3)", ""),
          ("mx.nd.Embedding(ids, w, input_dim=5, output_dim=3)", ""), ("mx.nd.Embedding(ids, w, input_dim=4, output_dim=2)", ""),
          ("mx.nd.Embedding(ids, w)", ""), ("mx.nd.Embedding(mx.nd.array([np.nan]), w, input_dim=4, output_dim=3)", ""),
          ("mx.nd.contrib.SparseEmbedding(ids, w, input_dim=4, output_dim=3)", "")]
LENGTHS = "mx.nd.array([3, 5]), mx.nd.array([2, 1]), use_data_lengths=True, use_label_lengths=True"
SPEECH = [*((f"mx.nd.ctc_loss(speech, mx.nd.array({labels}){extra})", "speech")
            for labels, extra in (("[[1, 2], [3, 0]]", ""), ("[[1, 2], [0, -1]]", ", blank_label='last'"),
                                  ("[[1, 1, 2], [2, 2, 2]]", ""), ("[[0, 0], [1, 0]]", ""), ("[[1, 2], [3, 1]]", ", " + LENGTHS),
                                  ("[[1, 2], [3, 1]]", ", mx.nd.array([3, 5]), use_data_lengths=True"),
                                  ("[[1, 2], [3, 1]]", ", label_lengths=mx.nd.array([2, 1]), use_label_lengths=True"),
                                  ("[[1, 2], [3, 1]]", ", mx.nd.array([2, 1]), use_label_lengths=True"))),
          ("mx.nd.CTCLoss(speech, mx.nd.array([[1, 2], [3, 0]]))", ""),
          ("mx.nd.contrib.ctc_loss(speech, mx.nd.array([[1, 2], [3, 0]]))", ""),
          ("mx.nd.ctc_loss(speech, mx.nd.array([[1, 2]]))", ""), ("mx.nd.ctc_loss(speech, mx.nd.ones((2, 6)))", ""),
          ("mx.nd.ctc_loss(speech, mx.nd.array([[1, 2], [3, 0]]), blank_label='a')", "")]
DENSITIES = [*((f"mx.nd.random_pdf_{name}(sample, {', '.join(names.split())}{extra})", f"sample {names}")
               for name, names in (("uniform", "p q"), ("normal", "p q"), ("gamma", "p q"), ("exponential", "p"),
                                   ("poisson", "q"), ("negative_binomial", "q r"), ("generalized_negative_binomial", "p r"))
               for extra in ("", ", is_log=True")), ("mx.nd.random_pdf_dirichlet(shares, alphas)", "shares alphas"),
             ("mx.nd.random_pdf_dirichlet(shares, alphas, is_log=True)", "shares alphas"),
             ("mx.nd.random_pdf_dirichlet(shares.reshape((1, 2, 3)), alphas[:1])", ""),
             ("mx.nd.random_pdf_normal(sample, g3, g3)", ""), ("mx.nd.random_pdf_normal(sample, sample, sample)", "")]
SHAPES = [
    *((f"mx.nd.{call}.{what}", "") for what in ("shape", "dtype") for call in (
        "random.uniform()", "random.uniform(0, 1, (2, 3))", "random.uniform(0, 1, 4, dtype='float64')", "random.randn(2, 3)",
        "random.uniform(p, q)", "random.uniform(p, q, shape=3)", "random.normal(p, q, shape=(3, 2), dtype='float16')",
        "random.uniform(p.astype('float64'), q.astype('float64'))", "random.gamma(9, 0.5, (2,))", "random.exponential(2, (2,))",
        "random.exponential(p, shape=2)", "random.poisson(4, (2,))", "random.negative_binomial(3, 0.4, (2,))",
        "random.generalized_negative_binomial(2, 0.3, (2,))", "random.multinomial(shares[0])", "random.multinomial(shares[0], 4)",
        "random.multinomial(shares)", "random.multinomial(shares, (2, 2), dtype='uint8')", "random.randint(0, 5, (2, 3))",
        "random.randint(0, 5, (2,), dtype='int64')", "random.shuffle(x)", "random.uniform_like(half(x))",
        "random.normal_like(data=x, loc=1, scale=2)", "random.gamma_like(p, alpha=1, beta=2)", "random.poisson_like(p, lam=3)",
        "random_uniform(shape=(2,))", "random_exponential(lam=4, shape=(2,))", "uniform(shape=2)", "normal(shape=2)",
        "random_randint(0, 4, shape=2)", "sample_uniform(p, q)", "sample_gamma(p, q, shape=2, dtype='float64')",
        "sample_multinomial(shares, get_prob=True)[1]", "shuffle(label)", "random.uniform(out=mx.nd.zeros((2, 3)))",
        "contrib.rand_zipfian(q, 4, 5)[1]", "random.multinomial(shares.astype('float64'), get_prob=True)[1]")),
    *((f"mx.nd.{call}", "") for call in (
        "random.uniform(0, 1, dtype='int32')", "random.uniform(p, 2.0)", "random.uniform(p, g3)", "random.uniform('a', 1)",
        "random.poisson(4, (2,), dtype='int32')", "random.negative_binomial(2.5, 0.4, (2,))", "random.randint(0, 2.5, (2,))",
        "random.randint(0, 5, (2,), dtype='float32')", "random_uniform()", "random_randint(0, 4)",
        "random.uniform(0, 1, shape=(-1, 2))", "random.uniform(shape=(3, 3), out=mx.nd.zeros((2, 3)))",
        "random.randint(p, q)", "random_uniform(ctx='here', shape=2)")),
]
PATCHES = [*((f"mx.nd.Crop(picture, {rest})", "picture")
             for rest in ("h_w=(3, 4)", "h_w=(3, 4), offset=(1, 2)", "h_w=(3, 4), center_crop=True, offset=(1, 1)", "h_w=(6, 7)",
                          "mx.nd.zeros((1, 1, 2, 3)), offset=(1, 2), num_args=2", "mx.nd.zeros((1, 1, 2, 3)), center_crop=True")),
           *((f"mx.nd.Crop(picture, {rest})", "") for rest in ("h_w=(9, 4)", "h_w=(3, 4), offset=(4, 4)", "num_args=1")),
           ("mx.nd.Crop(cube, h_w=(1, 1))", ""),
           *((f"mx.nd.im2col(picture, {rest})", "picture")
             for rest in ("kernel=(2, 3)", "kernel=(2, 3), stride=(2, 1), dilate=(1, 2), pad=(1, 0)", "kernel=(6, 7)",
                          "kernel=(1, 1), stride=(5, 5)")), ("mx.nd.im2col(picture.astype('float64'), kernel=(2, 2))", ""),
           ("mx.nd.im2col(half(picture), kernel=(2, 2))", ""),
           *((f"mx.nd.im2col(picture, {rest})", "")
             for rest in ("kernel=(9, 3)", "kernel=(2, 3, 4)", "stride=(1, 1)", "kernel=(0, 1)")),
           ("mx.nd.im2col(picture.astype('int32'), kernel=(2, 3))", ""),
           ("mx.nd.col2im(blocks, output_size=(6, 7), kernel=(2, 3))", "blocks"),
           ("mx.nd.col2im(blocks, output_size=(5, 8), kernel=(2, 3), stride=(1, 2), pad=(0, 2), dilate=(1, 1))", ""),
           ("mx.nd.col2im(wider, output_size=(6, 7), kernel=(2, 3), stride=(2, 1), dilate=(1, 2), pad=(1, 0))", "wider"),
           *((f"mx.nd.col2im(blocks, {rest})", "")
             for rest in ("output_size=(6, 8), kernel=(2, 3)", "output_size=(6, 7), kernel=(2, 4)", "kernel=(2, 3)",
                          "output_size=(6, 7)")), ("mx.nd.col2im(blocks[0], output_size=(6, 7), kernel=(2, 3))", "")]
CASES = [*LAYERS, *SOFTMAX, *OUTPUTS, *NORMALIZATION, *TABLES, *SPEECH, *DENSITIES, *SHAPES, *PATCHES]


def record(expression, variables, states=""):
    """The value, or its error; with variables also gradients and the values of the states afterwards."""
    names = expressions.namespace(SETUP)
    case = {"expression": expression, "variables": variables.split(), "states": states.split()}

    def run():
        for name in case["variables"]:
            names[name].attach_grad()
        if not variables:
            return [eval(expression, names)]
        with mx.autograd.record():
            out = eval(expression, names)
        outs = out if isinstance(out, list) else [out]
        mx.autograd.backward(outs, [names["head"](array) for array in outs])
        return [out, *(names[name].grad for name in case["variables"]), *(names[name] for name in case["states"])]

    done = recording.attempt(run)
    if "error" in done:
        return {**case, "result": done}
    count = len(case["variables"])
    out, gradients, after = done["items"][0], done["items"][1 : count + 1], done["items"][count + 1 :]
    return {**case, "result": out, "gradients": gradients, "after": after}


#: Settings of IdentityAttachKLSparseReg, which MXNet runs in a symbol only.
REGULAR = [{}, {"penalty": 0.5}, {"penalty": 0.5, "sparseness_target": 0.3, "momentum": 0.5}]


def record_regular(settings):
    """The value, and the gradient and the moving averages after each of two steps."""
    data, head = np.array([[0.2, 0.5, 0.9], [0.4, 0.9, 0.1]], np.float32), np.array([[1, 2, 0], [-1, 0.5, 3]], np.float32)
    symbol = mx.sym.IdentityAttachKLSparseReg(mx.sym.var("data"), **settings)
    bound = symbol.bind(mx.cpu(), {"data": mx.nd.array(data)}, args_grad={"data": mx.nd.zeros((2, 3))},
                        aux_states=[mx.nd.full(3, 0.5)])
    steps = []
    for _ in range(2):
        value = bound.forward(is_train=True)[0]
        bound.backward(mx.nd.array(head))
        steps.append({name: recording.plain(array.asnumpy()) for name, array in (
            ("value", value), ("gradient", bound.grad_arrays[0]), ("average", bound.aux_arrays[0]))})
    return {"settings": settings, "data": recording.plain(data), "head": recording.plain(head), "steps": steps}


def main():
    records = recording.record_each(len(CASES), lambda number: record(*CASES[number]))
    for case, found in zip(CASES, records, strict=True):
        found.setdefault("expression", case[0])
    recording.save(sys.argv[1], {"setup": SETUP, "cases": records, "regular": [record_regular(each) for each in REGULAR]})


if __name__ == "__main__":
    main()
