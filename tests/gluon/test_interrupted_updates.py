"""Steps that an interrupt, or an error of a signal's handler, ends at any line: weight, states and count of a parameter agree."""

import itertools
import os
import sys

import numpy as np
import pytest

import sparsekit as mx
from tests.calls import differentiated

ROOT = os.path.dirname(mx.__file__)
WORDS = mx.nd.array(np.arange(24).reshape(8, 3) % 20)


class Handler(Exception):
    """What a signal's handler of a program raises."""


class Program:
    """Some steps of a small net, the last of which is to be interrupted."""

    def __init__(self, optimizer, sparse, way, before, **options):
        mx.random.seed(0)
        self.net = mx.gluon.nn.HybridSequential()
        self.net.add(mx.gluon.nn.Embedding(20, 4, sparse_grad=sparse), mx.gluon.nn.Dense(1, in_units=12))
        self.net.initialize(mx.init.Normal(0.1))
        self.loss = mx.gluon.loss.L2Loss()
        self.trainer = mx.gluon.Trainer(self.net.collect_params(), optimizer, {"learning_rate": 0.1, **options})
        if way != "eager":
            self.net.hybridize()
            self.loss.hybridize()
        self.compiled = mx.gluon.TrainStep(self.net, self.loss, self.trainer) if way == "TrainStep" else None
        for _ in range(before):
            self.forward()
            self.update()

    def forward(self):
        if self.compiled is None:
            differentiated(lambda: self.loss(self.net(WORDS), mx.nd.ones((8, 1))))

    def update(self):
        if self.compiled is None:
            self.trainer.step(8)
        else:
            self.compiled(WORDS, mx.nd.ones((8, 1)))

    def parameters(self):
        """For each parameter how often it was updated, and its weight and states."""
        updaters, found = self.trainer._updaters, []
        for index, parameter in enumerate(self.trainer._params):
            state = updaters[0].states.get(index) if updaters else None
            arrays = [parameter.data(), *(state if isinstance(state, tuple) else () if state is None else (state,))]
            found.append((self.trainer.optimizer._index_update_count.get(index, 0),
                          [one.tostype("default").asnumpy().copy() for one in arrays]))
        return found


def interrupted(program, at, error):
    """Run an update whose line of this number raises; the number of lines that ran, and what was raised."""
    ran = 0

    def trace(frame, event, _):
        nonlocal ran
        if not frame.f_code.co_filename.startswith(ROOT):
            return None
        if event == "line":
            ran += 1
            if ran == at:
                sys.settrace(None)
                raise error
        return trace

    raised = None
    sys.settrace(trace)
    try:
        program.update()
    except BaseException as caught:
        raised = caught
    finally:
        sys.settrace(None)
    return ran, raised


def moved(before, after):
    """Which arrays have changed; states that there were not are zero."""
    return [bool((after[place] != (before[place] if place < len(before) else 0)).any()) for place in range(len(after))]


@pytest.mark.filterwarnings("ignore::sparsekit.LazyUpdateWarning")
@pytest.mark.parametrize("error", [KeyboardInterrupt(), Handler()], ids=["interrupt", "handler"])
@pytest.mark.parametrize(("optimizer", "sparse", "way", "before", "every"), [
    ("adam", False, "eager", 0, 97), ("adam", True, "eager", 1, 13), ("sgd", True, "eager", 4, 9),
    ("adam", True, "hybrid", 4, 17), ("ftrl", True, "TrainStep", 1, 97), ("adam", True, "TrainStep", 4, 13),
    ("adagrad", False, "TrainStep", 4, 13),
])
def test_weight_states_and_count_agree_whatever_line_is_hit(optimizer, sparse, way, before, every, error):
    """Every so many lines of a step are hit, each in a program of its own."""
    hit = 0
    for at in itertools.count(1, every):
        program = Program(optimizer, sparse, way, before)
        program.forward()
        held = program.parameters()
        ran, raised = interrupted(program, at, error)
        if ran < at:
            break
        assert raised is error, at
        mx.autograd.set_recording(False)  # this can hit the very line that sets them back, and a signal cannot
        mx.autograd.set_training(False)
        for (count, arrays), (counted, now) in zip(held, program.parameters(), strict=True):
            assert set(moved(arrays, now)) == {counted > count}, at
        program.forward()
        program.update()
        hit += 1
    assert hit > 10
