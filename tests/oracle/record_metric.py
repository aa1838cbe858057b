"""Record metrics: the values after each of several batches and resets, configurations, words, and refusals."""

import json
import sys
import warnings

import mxnet as mx
import numpy as np
import recording

SETUP = """def wave(*shape, speed=1.0):
    return mx.nd.array((np.sin(np.arange(np.prod(shape)) * speed) / 2 + 0.5).reshape(shape).astype('float32'))
def shares(*shape, speed=1.0):
    scores = np.exp(2 * wave(*shape, speed=speed).asnumpy().astype('float64'))
    return mx.nd.array(scores / scores.sum(-1, keepdims=True))
def classes(*shape, count=2, speed=1.0):
    return mx.nd.array((np.arange(np.prod(shape)) * 7 * speed // 3 % count).reshape(shape))
def run(metric, *batches):
    seen = []
    metric = mx.metric.create(metric) if isinstance(metric, (str, list)) else metric
    for number, batch in enumerate(batches):
        if batch == 'local':
            metric.reset_local()
        elif batch == 'reset':
            metric.reset()
        else:
            metric.update(*batch)
        seen += [metric.get(), metric.get_global()]
    return seen
two = [([classes(8)], [shares(8, 2, speed=1.7)]), ([classes(6, speed=2)], [shares(6, 2, speed=0.9)]),
       ([classes(5, speed=3)], [shares(5, 2, speed=2.9)])]
many = [([classes(8, count=4)], [shares(8, 4, speed=1.7)]), ([classes(6, count=4, speed=2)], [shares(6, 4, speed=0.9)]),
        ([classes(5, count=4, speed=3)], [shares(5, 4, speed=2.9)])]
numbers = [([wave(8)], [wave(8, speed=1.3)]), ([wave(3, 2)], [wave(3, 2, speed=0.9)]), ([wave(6, speed=2)], [wave(6, 1)])]
alike = [([wave(8)], [wave(8, speed=1.3)]), ([wave(3, 2)], [wave(3, 2, speed=0.9)]), ([wave(6, speed=2)], [wave(6)])]
lists = [([classes(4), classes(3, speed=2)], [shares(4, 2, speed=1.7), shares(3, 2, speed=2.1)])]
flow = lambda batches: (batches[0], batches[1], 'local', batches[2], batches[0], 'reset', batches[1])
"""
CLASSES = ["Accuracy()", "F1()", "F1(average='micro')", "MCC()", "MCC(average='micro')", "PCC()", "Perplexity(None)",
           "CrossEntropy()", "NegativeLogLikelihood()", "CrossEntropy(eps=0.1)"]
MANY = ["Accuracy()", "TopKAccuracy(2)", "TopKAccuracy(top_k=3)", "PCC()", "Perplexity(None)", "Perplexity(1)", "CrossEntropy()",
        "NegativeLogLikelihood()"]
NUMBERS = ["MAE()", "MSE()", "RMSE()", "Loss()", "Torch()", "Caffe()", "np(lambda label, pred: float(abs(label - pred).max()))",
           "CustomMetric(lambda label, pred: (float(label.sum()), label.size), name='sum')"]
ALL = ["Accuracy(axis=2, name='a')", "TopKAccuracy(3)", "MAE()", "MSE(name='m')", "RMSE()", "Loss()", "Torch()", "Caffe()",
       "PCC()", "CrossEntropy(0.5, output_names=['o'], label_names=['l'])", "NegativeLogLikelihood()", "Perplexity(-1)",
       "CompositeEvalMetric(['acc', 'mae'])"]
EXPRESSIONS = [*(f"run(mx.metric.{one}, *flow(two))" for one in CLASSES), *(f"run(mx.metric.{one}, *flow(many))" for one in MANY),
               *(f"run(mx.metric.{one}, *flow(numbers))" for one in NUMBERS), "run(mx.metric.PearsonCorrelation(), *flow(alike))",
               "run(mx.metric.PearsonCorrelation(average='micro'), *alike)[::2]", "mx.metric.PearsonCorrelation().get()",
               *(f"run(mx.metric.{one}, *lists)" for one in CLASSES),
               *(f"run(mx.metric.{one}, (two[0][0][0], two[0][1][0]))" for one in CLASSES),
               *(f"mx.metric.{one}.get()" for one in (*CLASSES, *MANY, *NUMBERS[:-2], "PearsonCorrelation(average='micro')")),
               "run(mx.metric.Accuracy(), ([classes(6)], [classes(6, speed=2)]))",
               "run(mx.metric.Accuracy(), ([classes(2, 3, count=4)], [shares(2, 4, 3)]))",
               "run(mx.metric.Accuracy(axis=2), ([classes(2, 3, count=4)], [shares(2, 3, 4)]))",
               "run(mx.metric.Accuracy(), ([classes(6)], [shares(5, 2)]))",
               "run(mx.metric.Accuracy(), ([classes(6)], [shares(6, 2)] * 2))",
               "run(mx.metric.Accuracy(), ([classes(6, 1)], [shares(6, 2)]))",
               "run(mx.metric.Accuracy(axis=5), ([classes(6)], [shares(6, 2)]))",
               "run(mx.metric.TopKAccuracy(2), ([classes(6)], [wave(6)]))",
               "run(mx.metric.TopKAccuracy(2), ([classes(6)], [wave(6, 2, 2)]))",
               "run(mx.metric.TopKAccuracy(5), ([classes(6)], [shares(6, 3)]))",
               "run(mx.metric.TopKAccuracy(2), ([classes(5)], [shares(6, 3)]))", "mx.metric.TopKAccuracy(1)",
               "mx.metric.TopKAccuracy()", "mx.metric.Perplexity()",
               "run(mx.metric.F1(), ([classes(6, count=3)], [shares(6, 3)]))", "run(mx.metric.F1(), ([classes(6)], [wave(6)]))",
               "run(mx.metric.MCC(), ([classes(5)], [shares(6, 2)]))",
               "run(mx.metric.MCC(), ([classes(6) * 0], [shares(6, 2) * 0]))",
               "run(mx.metric.F1(), ([classes(6) * 0], [shares(6, 2) * 0]))",
               "run(mx.metric.PCC(), ([classes(6) * 0], [shares(6, 2) * 0]))",
               "run(mx.metric.PCC(), ([classes(6, count=5)], [classes(6, count=5, speed=2)]))",
               "run(mx.metric.Perplexity(None), ([classes(2, 3, count=4)], [shares(2, 3, 4)]))",
               "run(mx.metric.Perplexity(0), ([classes(6) * 0], [shares(6, 2)]))",
               "run(mx.metric.Perplexity(None), ([classes(5)], [shares(6, 2)]))",
               "run(mx.metric.Perplexity(-1), ([classes(6) * 2 - 1], [shares(6, 2)]))",
               "run(mx.metric.CrossEntropy(), ([classes(6)], [shares(5, 2)]))",
               "run(mx.metric.CrossEntropy(), ([classes(6) + 5], [shares(6, 2)]))",
               "run(mx.metric.CrossEntropy(), ([classes(6)], [shares(6, 2) * 0]))",
               "run(mx.metric.MAE(), ([wave(6)], [wave(6, 1)]))", "run(mx.metric.MAE(), ([wave(6)], [wave(5)]))",
               "run(mx.metric.MSE(), ([wave(6, 2)], [wave(6, 2)] * 2))", "run(mx.metric.MAE(), ([wave(6, 2)], [wave(6, 2, 1)]))",
               "run(mx.metric.PearsonCorrelation(), ([wave(6)], [wave(6, 1)]))",
               "run(mx.metric.PearsonCorrelation(), ([wave(6)], [wave(5)]))",
               "run(mx.metric.Loss(), (None, [wave(4), wave(2, 3)]))", "run(mx.metric.Loss(), (None, wave(4)))",
               "run(mx.metric.EvalMetric('mine'), two[0])", "run('acc', two[0])", "run(['acc', 'ce'], *flow(two))",
               "run(mx.metric.CompositeEvalMetric(['acc', mx.metric.MCC()]), *flow(two))",
               "run(mx.metric.create(['acc', ['ce', 'nll_loss']]), two[0])", "mx.metric.CompositeEvalMetric().get()",
               "mx.metric.CompositeEvalMetric(['acc']).get_metric(0).name",
               "run(mx.metric.np(lambda label, pred: 1.0, allow_extra_outputs=True), ([wave(3)], [wave(3)] * 2))",
               "run(mx.metric.np(lambda label, pred: 1.0), ([wave(3)], [wave(3)] * 2))",
               "mx.metric.np(lambda label, pred: 1.0).name", "mx.metric.np(max).name",
               "mx.metric.CustomMetric(max, 'other').name", "mx.metric.np(max).get_config()",
               *(f"json.dumps(mx.metric.{one}.get_config(), sort_keys=True)" for one in ALL),
               *(f"str(mx.metric.{one})" for one in ALL),
               *(f"mx.metric.create(mx.metric.{one}.get_config()).get()" for one in ALL if "TopK" not in one),
               *(f"mx.metric.create({one}).get()"
                 for one in ("'acc'", "'ACC'", "'accuracy'", "'top_k_acc', top_k=2", "'top_k_accuracy', 2", "'f1'", "'mcc'",
                             "'pcc'", "'mae'", "'mse'", "'rmse'", "'ce'", "'crossentropy'", "'nll_loss'",
                             "'negativeloglikelihood'", "'pearsonr'", "'perplexity', None", "'loss'", "'torch'", "'caffe'",
                             "'composite'", "['acc', 'f1']", "max", "'nothing'", "3", "mx.metric.MAE()", "mx.metric.MAE(), 3",
                             "'[\"acc\", {\"axis\": 2}]'", "'{\"metric\": \"acc\", \"name\": \"b\"}'", "'acc', wrong=1")),
               "mx.metric.check_label_shapes([1, 2], [3])", "mx.metric.check_label_shapes(wave(2), wave(2, 3), shape=True)",
               "mx.metric.check_label_shapes([1, 2], [3, 4])", "mx.metric.register(dict)"]
DICTS = """def by_name(metric, label=None, pred=None):
    pred = pred or {'o': shares(8, 2), 'p': shares(8, 2, speed=3)}
    metric.update_dict(label or {'l': classes(8), 'k': classes(8, speed=2)}, pred)
    return metric.get()
"""
EXPRESSIONS += [
    "by_name(mx.metric.Accuracy(output_names=['o'], label_names=['l']))",
    "by_name(mx.metric.Accuracy(output_names=['p'], label_names=['k']))",
    "by_name(mx.metric.Accuracy())", "by_name(mx.metric.Accuracy(output_names=['x'], label_names=['l']))",
    "by_name(mx.metric.Accuracy(output_names=['o']))",
    "by_name(mx.metric.CompositeEvalMetric([mx.metric.Accuracy(output_names=['o'], label_names=['l']), mx.metric.Loss()]))",
]

warnings.simplefilter("ignore")
names = {"mx": mx, "np": np, "json": json}
exec(SETUP + DICTS, names)
recording.save(sys.argv[1], {"setup": SETUP + DICTS, "cases": [
    {"expression": one, **recording.attempt(lambda one=one: eval(one, names))} for one in EXPRESSIONS]})
