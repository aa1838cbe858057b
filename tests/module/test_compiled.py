"""``fit`` whose steps run as tables: parameters, gradients, outputs, states and metrics of the same training in Python."""

import copy
import functools
import io
import logging

import numpy as np
import pytest

import sparsekit as mx
from sparsekit.core import hooks
from sparsekit.core.table import machine
from sparsekit.optimizer.optimizer import registry

pytestmark = pytest.mark.skipif(bool(machine.reason_against_tables()), reason=machine.reason_against_tables() or "-")

ROWS, FEATURES = 64, 30


def bits(array):
    store = array._store
    parts = [getattr(store, name) for name in store.components] if array.stype != "default" else [store]
    return array.stype, array.shape, [(part.dtype.str, part.tobytes()) for part in parts]


def dense_net(bias=True):
    net = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=8, no_bias=not bias, name="first")
    net = mx.sym.FullyConnected(mx.sym.Activation(net, act_type="tanh"), num_hidden=3, no_bias=not bias, name="second")
    return mx.sym.SoftmaxOutput(net, mx.sym.Variable("label"), name="softmax")


def sparse_net(weight="row_sparse", bias=True):
    data = mx.sym.Variable("data", stype="csr")
    made = mx.sym.sparse.dot(data, mx.sym.Variable("weight", stype=weight, shape=(FEATURES, 1)))
    if bias:
        made = mx.sym.broadcast_add(made, mx.sym.Variable("bias", shape=(1,)))
    return mx.sym.LinearRegressionOutput(made, mx.sym.Variable("label"), name="out")


def normalized_net():
    net = mx.sym.Dropout(mx.sym.BatchNorm(mx.sym.Variable("data"), name="norm"), p=0.3)
    return mx.sym.SoftmaxOutput(mx.sym.FullyConnected(net, num_hidden=3, name="last"), mx.sym.Variable("label"), name="softmax")


def made_dense():
    moved = mx.sym.elemwise_add(mx.sym.Variable("data", stype="csr"), mx.sym.Variable("shift_weight", shape=(8, FEATURES)))
    made = mx.sym.FullyConnected(moved, num_hidden=1, name="last")
    return mx.sym.LinearRegressionOutput(made, mx.sym.Variable("label"), name="out")


def two_outputs():
    label = mx.sym.Variable("label")
    hidden = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=5, name="hidden")
    first = mx.sym.SoftmaxOutput(mx.sym.FullyConnected(hidden, num_hidden=3, name="one"), label, name="first")
    return mx.sym.Group([first, mx.sym.MakeLoss(mx.sym.square(hidden), name="second"), mx.sym.BlockGrad(hidden, name="third")])


def batches(sparse, seed=0, sizes=(8,) * 7):
    """Arrays of some batches, of these numbers of rows."""
    chance, found = np.random.default_rng(seed), []
    for size in sizes:
        values = chance.standard_normal((size, FEATURES)).astype(np.float32)
        if sparse:
            values *= chance.random(values.shape) < 0.1
        data = mx.nd.array(values).tostype("csr") if sparse else mx.nd.array(values)
        label = chance.standard_normal((size, 1)).astype(np.float32) if sparse else chance.integers(0, 3, size)
        found.append(mx.io.DataBatch([data], [mx.nd.array(label)]))
    return found


class Given:
    """An iterator over batches that are given."""

    def __init__(self, found):
        self.found = found
        self.provide_data = [mx.io.DataDesc("data", found[0].data[0].shape, found[0].data[0].dtype)]
        self.provide_label = [mx.io.DataDesc("label", found[0].label[0].shape, found[0].label[0].dtype)]

    def __iter__(self):
        return iter(self.found)

    def reset(self):
        pass


def trained(tables, make, found, optimizer="sgd", options=None, metric="acc", each=None, epochs=2, **more):
    """Everything that a training leaves, and what a callback sees after each batch."""
    seen, log = [], io.StringIO()
    hooks.ledger.clear()
    mx.random.seed(5)
    logger = logging.Logger("fit")
    logger.addHandler(logging.StreamHandler(log))
    module = mx.mod.Module(make(), label_names=["label"], logger=logger, **more.pop("module", {}))

    def look(param):
        group = module._exec_group
        seen.append([bits(one) for one in module.get_outputs()])
        seen.append([bits(block[0]) for block in (*group.grad_arrays, *group.param_arrays, *group.aux_arrays)
                     if block[0] is not None])
        seen.append(param.eval_metric.get())
        if each is not None:
            each(module, param.epoch, param.nbatch)

    with mx.config.set(tables=tables):
        module.fit(Given(found), eval_metric=metric, optimizer=optimizer, batch_end_callback=look,
                   optimizer_params=options or {"learning_rate": 0.1}, initializer=mx.init.Uniform(0.1), num_epoch=epochs, **more)
    updater = module._steps.updater
    states = {} if updater is None else updater.states
    seen.append([bits(one) for number in sorted(states) for one in flat(states[number])])
    seen.append((module._optimizer.num_update, dict(module._optimizer._index_update_count)))
    seen.append([record._replace(line="") for record in hooks.ledger])
    seen.append([line for line in log.getvalue().splitlines() if "Time" not in line])
    return module, seen


def flat(state):
    return [] if state is None else [one for part in state for one in flat(part)] if isinstance(state, (tuple, list)) else [state]


def compiled(module):
    training = [one.training for one in module._exec_group.execs]
    return all(one is not None and one.step is not None for one in training)


def check(*arguments, made=True, **more):
    module, found = trained(True, *arguments, **more)
    plain, expected = trained(False, *arguments, **more)
    assert found == expected
    assert arguments[0] is not made_dense or hooks.ledger
    assert compiled(module) == made
    assert not compiled(plain)
    return module


NETS = {"dense": (dense_net, False, "acc"), "csr": (sparse_net, True, "mse"),
        "normalized": (normalized_net, False, ["acc", "ce"]), "csr made dense": (made_dense, True, "mse"),
        "csr and a dense weight": (functools.partial(sparse_net, "default"), True, "mse"),
        "two outputs": (two_outputs, False, mx.metric.Loss())}

#: Each optimizer with one of the nets, of which some have several.
PAIRS = [(name, list(NETS)[number % len(NETS)]) for number, name in enumerate(sorted(set(registry) - {"groupadagrad"}))]


@pytest.mark.parametrize(("optimizer", "net"), [*PAIRS, ("sgd", "csr"), ("sgd", "csr made dense"), ("adam", "csr")])
def test_fit_gives_the_same_bits(optimizer, net):
    make, sparse, metric = NETS[net]
    options = {"wd": 0.01, **({"momentum": 0.9} if optimizer in {"sgd", "nag"} else {})}
    check(make, batches(sparse), optimizer, options, metric, made=optimizer not in {"lars", "lbsgd", "test"})


@pytest.mark.parametrize(("optimizer", "net"), [("sgd", "csr"), ("adam", "csr and a dense weight"), ("lamb", "dense")])
def test_float32_copies_of_float16_weights(optimizer, net):
    make, sparse, _ = NETS[net]
    found = batches(sparse)
    for batch in found:
        batch.data = [one.astype("float16") for one in batch.data]
        batch.label = [one.astype("float16") for one in batch.label]  # the gradients' element type is that of both
    module = check(make, found, optimizer, {"multi_precision": True, "learning_rate": 0.05}, epochs=1)
    assert {block[0].dtype.name for block in module._exec_group.param_arrays} == {"float16"}


@pytest.mark.parametrize("sparse", [False, True])
def test_short_last_batches_have_a_table_of_their_own(sparse):
    module = check(sparse_net if sparse else dense_net, batches(sparse, sizes=(8, 8, 8, 8, 5)), "adam", epochs=5,
                   metric="mse" if sparse else "acc")
    assert len(module._exec_group._kept) == 1


def test_padded_and_discarded_batches_of_an_iterator():
    values = np.random.default_rng(0).standard_normal((30, FEATURES)).astype(np.float32)
    for handling in ("pad", "discard", "roll_over"):
        seen = []
        for tables in (True, False):
            mx.random.seed(2)
            source = mx.io.NDArrayIter(values, values[:, 0] > 0, batch_size=8, last_batch_handle=handling, label_name="label")
            module = mx.mod.Module(dense_net(), label_names=["label"])
            with mx.config.set(tables=tables):
                module.fit(source, optimizer="adam", num_epoch=3, initializer=mx.init.Uniform(0.1))
            seen.append([bits(one) for one in module.get_params()[0].values()])
            assert compiled(module) == tables
        assert seen[0] == seen[1]


def set_rate(module, epoch, number):
    module._optimizer.lr = 0.1 / (number + 1)


def set_weights(module, epoch, number):
    if number == 4:
        arguments, states = module.get_params()
        module.set_params({name: array * 0.5 for name, array in arguments.items()}, states)


def set_states(module, epoch, number):
    if number == 4:
        states = module._steps.updater.states
        for index, state in states.items():
            states[index] = state * 0.5


def send_back_again(module, epoch, number):
    if number == 4:
        module.forward_backward(batches(False)[0])
        module.update()
        module.forward(batches(False)[1], is_train=False)


def clear_gradients(module, epoch, number):
    if number % 3 == 1:
        for block in module._exec_group.grad_arrays:
            block[0][:] = 0


@pytest.mark.parametrize("each", [set_rate, set_weights, set_states, send_back_again, clear_gradients])
def test_changes_in_between(each):
    check(dense_net, batches(False), "sgd", {"learning_rate": 0.1, "momentum": 0.9}, each=each)


class Raises(mx.lr_scheduler.LRScheduler):
    """A schedule that fails."""

    def __call__(self, num_update):
        raise ValueError("no rate for this step")


def spoil_schedule(optimizer, states):
    optimizer.lr_scheduler = Raises()


def spoil_state(optimizer, states):
    states[2] = None


@pytest.mark.parametrize("at", [2, 4])
@pytest.mark.parametrize("spoil", [spoil_schedule, spoil_state])
def test_a_step_that_fails_at_its_updates(spoil, at):
    """Outputs, gradients, parameters and counts are those of the steps in Python."""
    def train(tables):
        mx.random.seed(5)
        module = mx.mod.Module(dense_net(), label_names=["label"])

        def spoiled(param):
            if param.nbatch == at - 1:
                module.get_params()
                spoil(module._optimizer, module._steps.updater.states)

        errors = (ValueError, mx.base.errors.DTypeError)
        with mx.config.set(tables=tables), pytest.raises(errors, match=r"no rate|NoneType") as raised:
            module.fit(Given(batches(False)), optimizer="adam", batch_end_callback=spoiled, num_epoch=1,
                       initializer=mx.init.Uniform(0.1))
        arrays = [*module.get_outputs(), *[block[0] for block in module._exec_group.grad_arrays if block[0] is not None],
                  *module.get_params()[0].values()]
        return str(raised.value), [bits(one) for one in arrays], dict(module._optimizer._index_update_count)

    assert train(True) == train(False)


def test_schedules_and_saved_states(tmp_path):
    def save(module, epoch, number):
        if number == 4:
            module.save_optimizer_states(tmp_path / "states")
            module.load_optimizer_states(tmp_path / "states")

    options = {"learning_rate": 0.1, "lr_scheduler": mx.lr_scheduler.FactorScheduler(3, 0.5, base_lr=0.1)}
    module, found = trained(True, dense_net, batches(False), "adam", copy.deepcopy(options), each=save)
    _, expected = trained(False, dense_net, batches(False), "adam", copy.deepcopy(options), each=save)
    assert found == expected
    assert compiled(module)


def test_gradients_after_a_table():
    """A second backward pass after a step is computed anew; that of another batch too."""
    module, _ = trained(True, dense_net, batches(False))
    assert compiled(module)
    before = bits(module._exec_group.grad_arrays[0][0])
    module.backward()
    again = bits(module._exec_group.grad_arrays[0][0])
    module.forward(batches(False)[-1], is_train=True)
    module.backward()
    assert bits(module._exec_group.grad_arrays[0][0]) == again != before


class Counting(mx.mod.Module):
    """Counts its forward passes."""

    def forward(self, data_batch, is_train=None):
        self.count = getattr(self, "count", 0) + 1
        super().forward(data_batch, is_train)


def test_what_others_do_is_not_left_out(monkeypatch):
    """A subclass's passes, a monitor, a store, several contexts, added gradients and LARS stay in Python."""
    found = batches(False)
    module = Counting(dense_net(), label_names=["label"])
    module.fit(Given(found), num_epoch=1)
    assert module.count == len(found)
    assert not compiled(module)
    monitor = mx.mon.Monitor(1, pattern=".*first.*")
    shown = []
    monkeypatch.setattr(monitor, "toc_print", lambda: shown.append(len(monitor.toc())))
    module, _ = trained(True, dense_net, found, monitor=monitor, epochs=1)
    assert not compiled(module)
    assert min(shown) > 0
    check(dense_net, found, module={"context": [mx.cpu(0), mx.cpu(1)]}, made=False, kvstore=None)
    check(dense_net, found, made=False, kvstore=mx.kv.create("local"))
    check(dense_net, found, "lars", made=False)


def described(arrays):
    """Arrays without what they serve as, which follows from the memory that they lie in: a table has less of it."""
    return [{name: part for name, part in array.items() if name not in ("role", "owner")} for array in arrays]


def test_a_profile_has_every_operator():
    """Whether a table runs it or Python."""
    profiles = []
    for tables in (True, False):
        with mx.Profiler() as profile:
            module, _ = trained(tables, dense_net, batches(False), epochs=2)
        assert compiled(module) == tables
        profiles.append([(record["name"], record["lane"], record["layer"].rstrip("0123456789"), record["line"],
                          described(record["inputs"]), described(record["outputs"]))
                         for record in profile.records if record["lane"] not in ("compile", "io")])
    assert profiles[0] == profiles[1]
    assert sum(name == "SoftmaxOutput" for name, *_ in profiles[0]) == 2 * len(batches(False))


def test_operators_that_are_not_lowered_run_in_python():
    """A table has exits."""
    def sorting():
        net = mx.sym.FullyConnected(mx.sym.sort(mx.sym.Variable("data"), axis=1), num_hidden=3, name="last")
        return mx.sym.SoftmaxOutput(net, mx.sym.Variable("label"), name="softmax")

    module = check(sorting, batches(False), "adam")
    reasons = [reason for _, _, reason in module._exec_group.execs[0].training.step.step_program.reasons]
    assert any(reasons)
