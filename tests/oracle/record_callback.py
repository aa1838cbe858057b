"""Record what the callbacks log, with a clock that goes half a second each time it is read."""

import collections
import itertools
import logging
import sys
import tempfile
import time

import mxnet as mx
import recording

SETUP = """Param = collections.namedtuple('Param', 'epoch nbatch eval_metric locals')
def metric(kind='acc'):
    made = mx.metric.create(kind)
    made.update([mx.nd.array([0, 1])], [mx.nd.array([[1, 0], [1, 0]])])
    return made
def batches(callback, count, kind='acc', epochs=1):
    for epoch in range(epochs):
        for number in range(count):
            callback(Param(epoch, number, kind and metric(kind), None))
"""
EXPRESSIONS = ["batches(mx.callback.Speedometer(32, 2), 6)", "batches(mx.callback.Speedometer(32, 2, auto_reset=False), 6)",
               "batches(mx.callback.Speedometer(4, 3), 8, None)", "batches(mx.callback.Speedometer(4, 3), 4, ['acc', 'ce'], 2)",
               "batches(mx.callback.ProgressBar(5), 6)", "batches(mx.callback.ProgressBar(total=3, length=10), 4)",
               "batches(mx.callback.log_train_metric(2), 5)", "batches(mx.callback.log_train_metric(2, True), 5, ['acc', 'ce'])",
               "batches(mx.callback.log_train_metric(2), 5, None)",
               "batches(mx.callback.LogValidationMetricsCallback(), 2, ['acc', 'ce'])",
               "batches(mx.callback.LogValidationMetricsCallback(), 2, None)"]
logged = []


class Keeper(logging.Handler):
    def emit(self, record):
        logged.append(record.getMessage())


def lines(expression):
    ticks = itertools.count()
    time.time = lambda: next(ticks) / 2
    logged.clear()
    names = {"mx": mx, "collections": collections}
    exec(SETUP, names)
    eval(expression, names)
    return {"expression": expression, "lines": list(logged)}


logging.getLogger().setLevel(logging.INFO)
logging.logThreads = logging.logProcesses = False
logging.LogRecord.__init__.__globals__["time"] = type("clock", (), {"time": staticmethod(lambda: 0.0)})
logging.getLogger().addHandler(Keeper())
cases = [lines(expression) for expression in EXPRESSIONS]
with tempfile.TemporaryDirectory() as folder:
    logged.clear()
    callback = mx.callback.do_checkpoint(folder + "/model", 2)
    for epoch in range(4):
        callback(epoch, mx.sym.Variable("x") * 2, {"w": mx.nd.ones(2)}, {"v": mx.nd.zeros(3)})
    import os

    files = sorted(os.listdir(folder))
    names = sorted(mx.nd.load(folder + "/model-0002.params"))
recording.save(sys.argv[1], {"setup": SETUP, "files": files, "names": names,
                             "saved": [line.replace(folder + "/", "") for line in logged], "cases": cases})
