"""Record what estimators log, warn of, write and compute, with a clock that stands still."""

import logging
import os
import random
import sys
import tempfile
import time
import warnings

import mxnet as mx
import mxnet.gluon.contrib.estimator as estimator
import numpy as np
import recording

SETUP = """
X = (np.arange(72).reshape(12, 6) % 7 - 3).astype('float32') / 4
Y = (np.arange(12) * 5 % 3).astype('float32')

def loader(rows=12, size=4):
    return mx.gluon.data.DataLoader(mx.gluon.data.ArrayDataset(mx.nd.array(X[:rows]), mx.nd.array(Y[:rows])), size)

def made(optimizer='sgd', rate=0.5, hybrid=False, loss=None, **kwargs):
    net = mx.gluon.nn.Dense(3, in_units=6, prefix='net_')
    net.initialize(mx.init.Zero())
    net.weight.set_data(mx.nd.array(np.arange(18).reshape(3, 6) % 5 - 2) / 8)
    if hybrid:
        net.hybridize()
    trainer = mx.gluon.Trainer(net.collect_params(), optimizer, {'learning_rate': rate})
    found = E.Estimator(net, loss or mx.gluon.loss.SoftmaxCrossEntropyLoss(prefix='loss_'), trainer=trainer, **kwargs)
    found.logger.handlers = [Keeper()]
    return found

def state(found):
    return [found.net.weight.data(), found.net.bias.data(), [list(map(str, one.get())) for one in found.train_metrics],
            [one.get()[0] for one in found.val_metrics]]

class Events(E.TrainBegin, E.TrainEnd, E.EpochBegin, E.EpochEnd, E.BatchBegin, E.BatchEnd):
    def __init__(self, stop_batch=0, stop_epoch=0, priority=0):
        self.stop_batch, self.stop_epoch, self.priority, self.batches, self.epochs = stop_batch, stop_epoch, priority, 0, 0

    def train_begin(self, estimator, *args, **kwargs):
        say('train begin', self.priority)

    def train_end(self, estimator, *args, **kwargs):
        say('train end', self.priority)

    def epoch_begin(self, estimator, *args, **kwargs):
        say('epoch begin', self.priority)

    def epoch_end(self, estimator, *args, **kwargs):
        self.epochs += 1
        say('epoch end', self.priority)
        return self.epochs == self.stop_epoch

    def batch_begin(self, estimator, *args, **kwargs):
        say('batch begin', self.priority, sorted(kwargs))

    def batch_end(self, estimator, *args, **kwargs):
        self.batches += 1
        say('batch end', self.priority, sorted(kwargs), [len(kwargs['pred']), kwargs['loss'][0].shape])
        return self.batches == self.stop_batch
"""
#: Names and programs.
CASES = """
# fit
e = made()
e.fit(loader(), epochs=2)
out(state(e))
# fit with validation
e = made()
e.fit(loader(), loader(8), epochs=2)
out(state(e), *[m.get()[1] for m in e.val_metrics])
# fit batches
e = made()
e.fit(loader(), batches=5)
out(state(e))
# adam, a short last batch
e = made('adam', 0.1)
e.fit(loader(11), epochs=3)
out(state(e))
# another loss
e = made(loss=mx.gluon.loss.L1Loss(prefix='l1loss3_'))
out([m.name for m in e.train_metrics + e.val_metrics])
# metrics
e = made(train_metrics=[mx.metric.Accuracy(), mx.metric.TopKAccuracy(2)], val_metrics=mx.metric.CrossEntropy())
out([m.name for m in e.train_metrics + e.val_metrics])
# composite metrics
e = made(train_metrics=mx.metric.CompositeEvalMetric([mx.metric.Accuracy(), mx.metric.TopKAccuracy(2)]))
out([m.name for m in e.train_metrics + e.val_metrics])
# evaluate
e = made()
e.evaluate(loader())
out([m.get()[1] for m in e.val_metrics])
# every two batches
e = made()
e.fit(loader(), epochs=2, event_handlers=E.LoggingHandler(2, e.train_metrics))
# validation after batches
e = made()
e.fit(loader(), epochs=1,
      event_handlers=[E.ValidationHandler(loader(4), e.evaluate, epoch_period=None, batch_period=2)])
# events
e = made()
e.fit(loader(8), epochs=2,
      event_handlers=[Events(), Events(priority=-3000), E.LoggingHandler(metrics=e.train_metrics)])
# a batch stops
e = made()
e.fit(loader(), epochs=2, event_handlers=[Events(stop_batch=2)])
# an epoch stops
e = made()
e.fit(loader(), epochs=5, event_handlers=[Events(stop_epoch=2)])
out(state(e))
# early stopping
e = made(rate=0.0)
e.fit(loader(), epochs=9, event_handlers=[E.EarlyStoppingHandler(e.train_metrics[1], patience=2, mode='min')])
out(state(e))
# early stopping, baseline
e = made()
h = E.EarlyStoppingHandler(e.train_metrics[0], mode='max', baseline=2.0, min_delta=0.1)
e.fit(loader(), epochs=9, event_handlers=[h])
out(h.stopped_epoch, h.wait, h.best, h.min_delta)
# early stopping, unknown mode
e = made()
E.EarlyStoppingHandler(e.train_metrics[0], mode='large')
# early stopping without metric
E.EarlyStoppingHandler('accuracy')
# early stopping, composite
E.EarlyStoppingHandler(mx.metric.CompositeEvalMetric())
# checkpoints
e = made(hybrid=True)
e.fit(loader(), epochs=7, event_handlers=[E.CheckpointHandler(folder, verbose=1, max_checkpoints=3)])
files()
# checkpoints of a block
e = made()
e.fit(loader(), epochs=1, event_handlers=[E.CheckpointHandler(folder, 'mine')])
files()
# checkpoints after batches
e = made()
e.fit(loader(), epochs=2, event_handlers=[E.CheckpointHandler(folder, epoch_period=None, batch_period=2)])
files()
# the best checkpoint
e = made()
e.fit(loader(), epochs=3,
      event_handlers=[E.CheckpointHandler(folder, monitor=e.train_metrics[1], save_best=True, mode='min')])
files()
# resumed
e = made('adam', 0.1)
e.fit(loader(), epochs=2, event_handlers=[E.CheckpointHandler(folder)])
e = made('adam', 0.1)
e.fit(loader(), epochs=5, event_handlers=[E.CheckpointHandler(folder, resume_from_checkpoint=True)])
files()
out(state(e))
# resumed after batches
e = made('adam', 0.1)
e.fit(loader(), batches=6, event_handlers=[E.CheckpointHandler(folder, epoch_period=None, batch_period=2)])
e = made('adam', 0.1)
e.fit(loader(), batches=10,
      event_handlers=[E.CheckpointHandler(folder, epoch_period=None, batch_period=2,
      resume_from_checkpoint=True)])
files()
out(state(e))
# nothing to resume
e = made()
e.fit(loader(), epochs=1, event_handlers=[E.CheckpointHandler(folder, resume_from_checkpoint=True)])
files()
# resumed at the end
e = made()
e.fit(loader(), epochs=2, event_handlers=[E.CheckpointHandler(folder)])
e = made()
e.fit(loader(), epochs=2, event_handlers=[E.CheckpointHandler(folder, resume_from_checkpoint=True)])
# save_best without monitor
E.CheckpointHandler(folder, save_best=True)
# no trainer
n = mx.gluon.nn.Dense(3, in_units=6)
e = E.Estimator(n, mx.gluon.loss.L2Loss())
out(e.trainer.learning_rate, type(e.trainer.optimizer).__name__, str(e.context[0]))
# initialized before
n = mx.gluon.nn.Dense(3, in_units=6)
n.initialize()
t = mx.gluon.Trainer(n.collect_params(), 'sgd')
E.Estimator(n, mx.gluon.loss.L2Loss(), initializer=mx.init.One(), trainer=t)
# initializer
n = mx.gluon.nn.Dense(3, in_units=6)
e = E.Estimator(n, mx.gluon.loss.L2Loss(), initializer=mx.init.One(), context=mx.cpu(), trainer=None)
out(n.weight.data())
# no loss
E.Estimator(mx.gluon.nn.Dense(3), 'l2')
# no metric
made(train_metrics='acc')
# no context
made(context='cpu')
# no processor
made(batch_processor=3)
# no loader
made().fit([1, 2], epochs=1)
# no validation loader
made().evaluate([1, 2])
# epochs and batches
made().fit(loader(), epochs=1, batches=1)
# neither
made().fit(loader())
# no handler
made().fit(loader(), epochs=1, event_handlers=3)
# a foreign metric
made().fit(loader(), epochs=1, event_handlers=[E.MetricHandler(mx.metric.Accuracy())])
# log interval
E.LoggingHandler('batch')
# two contexts
n = mx.gluon.nn.Dense(3, in_units=6, prefix='net_')
n.initialize(mx.init.Constant(0.1), [mx.cpu(0), mx.cpu(1)])
t = mx.gluon.Trainer(n.collect_params(), 'sgd', {'learning_rate': 0.5})
e = E.Estimator(n, mx.gluon.loss.SoftmaxCrossEntropyLoss(prefix='loss_'), trainer=t,
    context=[mx.cpu(0), mx.cpu(1)])
e.logger.handlers = [Keeper()]
e.fit(loader(), epochs=2)
out(n.weight.data(mx.cpu(1)), [list(map(str, one.get())) for one in e.train_metrics])
"""


def run(source):
    lines, said, outputs = [], [], []

    class Keeper(logging.Handler):
        def emit(self, record):
            lines.append(record.getMessage().replace(folder + "/", "").replace(folder, "FOLDER"))

    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        names = {"mx": mx, "E": estimator, "np": np, "Keeper": Keeper, "folder": folder,
                 "say": lambda *words: said.append(" ".join(map(str, words))),
                 "out": lambda *values: outputs.extend(recording.encode(value) for value in values),
                 "files": lambda: outputs.append(sorted(os.listdir(folder)))}
        error = None
        try:
            exec(SETUP, names)
            exec(source, names)
        except Exception as found:
            error = type(found).__name__
    return {"source": source, "lines": lines, "said": said, "outputs": outputs, "error": error,
            "warned": sorted({type(one.message).__name__ for one in caught
                              if issubclass(one.category, (UserWarning, RuntimeWarning))})}


time.time = lambda: 0.0
random.seed(0)
recording.save(sys.argv[1], {"setup": SETUP, "cases": [
    {"name": name, **run(source)} for name, _, source in (case.partition("\n") for case in CASES.strip()[2:].split("\n# "))]})
