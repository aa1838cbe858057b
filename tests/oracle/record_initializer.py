"""Record the initializers that give the same values each time, their JSON, what names get, and refusals."""

import logging
import warnings

import expressions

SETUP = """desc = mx.init.InitDesc
def filled(init, name, *shape, attrs=None, glob=None):
    array = mx.nd.ones(shape) * 7
    init(desc(name, attrs, glob), array)
    return array
def legacy(init, name, *shape):
    array = mx.nd.ones(shape) * 7
    init(name, array)
    return array
two = mx.init.Constant(2)
loaded = {'arg:a': mx.nd.array([1, 2]), 'aux:b': mx.nd.array([3, 4]), 'c': mx.nd.array([5, 6])}
@mx.init.register
class Halves(mx.init.Initializer):
    def __init__(self, by=2):
        super().__init__(by=by)
        self.by = by
    def _init_weight(self, name, arr):
        arr[:] = 1 / self.by
"""
ENDINGS = ("weight", "bias", "gamma", "beta", "min", "max", "running_mean", "moving_mean", "moving_var", "moving_inv_var",
           "moving_avg", "other")
EXPRESSIONS = [
    *(f"filled(two, 'fc_{ending}', 3)" for ending in ENDINGS), *(f"legacy(two, 'fc_{ending}', 3)" for ending in ENDINGS),
    "legacy(two, 'upsampling_weight', 1, 1, 4, 4)", "legacy(two, 'stn_loc_weight', 2, 2)", "legacy(two, 'stn_loc_bias', 6)",
    "legacy(two, 'stn_loc_bias', 5)", "two(3, mx.nd.ones(2))", "two('a_weight', np.ones(2))",
    "filled(mx.init.Zero(), 'a_weight', 2, 2)", "filled(mx.init.One(), 'a_weight', 2, 2)",
    "filled(mx.init.Constant(-0.5), 'a_weight', 2, 2)", "filled(mx.init.Constant(mx.nd.array([1, 2])), 'a_weight', 2)",
    "filled(mx.init.Constant(mx.nd.array([1, 2])), 'a_weight', 3)",
    "filled(mx.init.Bilinear(), 'a_weight', 2, 1, 4, 4)", "filled(mx.init.Bilinear(), 'a_weight', 1, 1, 3, 3)",
    "filled(mx.init.Bilinear(), 'a_weight', 1, 2, 5, 5)", "filled(mx.init.Bilinear(), 'a_weight', 4, 4)",
    "filled(mx.init.LSTMBias(), 'a_weight', 8)", "filled(mx.init.LSTMBias(2.5), 'a_weight', 12)",
    "filled(mx.init.LSTMBias(), 'a_bias', 8)", "filled(two, 'a', 8, attrs={'__init__': mx.init.LSTMBias(3).dumps()})",
    "filled(two, 'a_bias', 2, attrs={'__init__': 'one'})", "filled(two, 'a_bias', 2, attrs={'__init__': mx.init.One()})",
    "filled(two, 'a_bias', 2, attrs={'__init__': ''})", "filled(Halves(), 'a_weight', 2)",
    "filled(mx.init.Initializer(), 'a_weight', 2)",
    "filled(mx.init.Load(loaded), 'a', 2)", "filled(mx.init.Load(loaded), 'b', 2)", "filled(mx.init.Load(loaded), 'c', 2)",
    "filled(mx.init.Load(loaded), 'c', 3)", "filled(mx.init.Load(loaded), 'd_weight', 2)",
    "filled(mx.init.Load(loaded, two), 'd_weight', 2)", "filled(mx.init.Load(loaded, two), 'd_bias', 2)", "mx.init.Load([1])",
    "filled(mx.init.Mixed(['.*b', '.*'], [mx.init.One(), two]), 'ab_weight', 2)",
    "filled(mx.init.Mixed(['.*b', '.*'], [mx.init.One(), two]), 'ac_weight', 2)",
    "filled(mx.init.Mixed(['b'], [mx.init.One()]), 'ab_weight', 2)", "mx.init.Mixed(['b', 'c'], [two])",
    *(f"mx.init.{call}.dumps()" for call in (
        "Zero()", "One()", "Constant(2)", "Constant(mx.nd.array([1, 2]))", "Uniform()", "Uniform(0.5)", "Normal()", "Normal(2)",
        "Orthogonal()", "Orthogonal(1, 'normal')", "Xavier()", "Xavier('gaussian', 'in', 2)", "MSRAPrelu()",
        "MSRAPrelu('out', 0)",
        "Bilinear()", "LSTMBias()", "FusedRNN(mx.init.One(), 3, 2, 'gru')", "FusedRNN(None, 3, 2, 'lstm', True, 2.0)")),
    "Halves(3).dumps()",
    *(f"mx.init.create({call}).dumps()" for call in (
        "'zeros'", "'Zeros'", "'ones'", "'uniform'", "'uniform', 0.5", "'uniform', scale=0.5", "mx.init.Xavier().dumps()",
        "'{\"initializer\": \"normal\", \"sigma\": 3}'", "{'initializer': 'normal', 'sigma': 3}", "initializer='one'", "two",
        "'halves', by=4", "'msraprelu'", "'lstmbias'", "'nothing'", "two, 3", "3", "'[', 3", "'uniform', 1, 2",
        "'normal', scale=2")),
    "mx.init.Uniform(1) == mx.init.Uniform(1)", "mx.init.Uniform(1) == mx.init.Uniform(2)",
    "mx.init.Uniform(1) == mx.init.Normal(1)",
    "mx.init.Uniform(1) == 1", "mx.init.Uniform(1) != mx.init.Uniform(1)",
    "desc('a', {'b': 'c'}).attrs", "desc('a').attrs", "desc('a').global_init", "desc('a') + 'b'",
    "mx.init.Xavier(factor_type='all')(desc('a_weight'), mx.nd.ones((2, 2)))",
    "mx.init.Xavier(rnd_type='all')(desc('a_weight'), mx.nd.ones((2, 2)))",
    "mx.init.Xavier()(desc('a_weight'), mx.nd.ones(2))", "mx.init.register(dict)",
    "filled(mx.init.FusedRNN(two, 2, 1, 'lstm', forget_bias=3), 'p_weight', 4 * 2 * (3 + 2 + 2))",
    "filled(mx.init.FusedRNN(two, 2, 2, 'lstm', True), 'p_weight', 2 * 4 * 2 * (3 + 2 + 2) + 2 * 4 * 2 * (4 + 2 + 2))",
    "filled(mx.init.FusedRNN(two, 2, 1, 'gru'), 'p_weight', 3 * 2 * (3 + 2 + 2))",
    "filled(mx.init.FusedRNN(None, 2, 1, 'rnn_tanh'), 'p_weight', 2 * (3 + 2 + 2), glob=two)",
    "filled(two, 'p', 2 * (3 + 2 + 2), attrs={'__init__': mx.init.FusedRNN(None, 2, 1, 'rnn_relu').dumps()})",
    "filled(two, 'p', 2 * (3 + 2 + 2), attrs={'__init__': mx.init.FusedRNN(mx.init.One(), 2, 1, 'rnn_relu').dumps()})",
]

if __name__ == "__main__":
    warnings.simplefilter("ignore")
    logging.disable(logging.CRITICAL)
    expressions.save([SETUP], [(text,) for text in EXPRESSIONS])
