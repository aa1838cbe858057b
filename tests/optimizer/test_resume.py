"""Training that goes on from saved states is training that went on, to the bit, with every optimizer, wherever it is saved."""

import itertools
import pickle
import subprocess
import sys

import numpy as np
import pytest

import sparsekit as mx
from sparsekit.optimizer.optimizer import registry
from sparsekit.optimizer.states import arrays_of
from tests.calls import differentiated

NAMES = sorted(name for name, cls in registry.items() if cls.__name__.lower() == name and cls.__module__.startswith("sparsekit."))
#: Settings under which an optimizer keeps as much as it can between two steps.
SETTINGS = {
    "sgd": {"momentum": 0.9, "wd": 0.1}, "nag": {"momentum": 0.9, "wd": 0.1}, "dcasgd": {"momentum": 0.9, "wd": 0.1},
    "rmsprop": {"centered": True, "wd": 0.1}, "groupadagrad": {}, "lars": {"momentum": 0.9, "eta": 0.5, "wd": 0.1},
    "lbsgd": {"momentum": 0.9, "batch_scale": 3, "wd": 0.1, "updates_per_epoch": 2, "warmup_epochs": 4},
}
STEPS = 10
#: Steps after which training is saved: whole and broken batches of ``lbsgd``, before and after each schedule changes.
SAVED = (0, 1, 3, 5)


def schedules():
    """None, and one schedule of each kind, all of which change within ten steps."""
    yield None
    kinds = mx.lr_scheduler
    yield kinds.FactorScheduler(step=2, factor=0.7, base_lr=0.1, warmup_steps=2)
    yield kinds.MultiFactorScheduler(step=[3, 6], factor=0.5, base_lr=0.1)
    yield kinds.PolyScheduler(max_update=8, base_lr=0.1, final_lr=0.01)
    yield kinds.CosineScheduler(max_update=9, base_lr=0.1, warmup_steps=3, warmup_mode="constant", warmup_begin_lr=0.05)


def create(name, number=0, **more):
    given = {"learning_rate": 0.1, **SETTINGS.get(name, {"wd": 0.1}), **more}
    schedule = next(itertools.islice(schedules(), number, None))
    return mx.optimizer.create(name, **given, **({} if schedule is None else {"lr_scheduler": schedule}))


def gradient(step, key, dtype, stype):
    random = np.random.default_rng([step, key])
    values = random.normal(size=(5, 3))
    values[random.permutation(5)[:2]] = 0
    return mx.nd.array(values, dtype=dtype).tostype(stype)


def weight(key, dtype, stype):
    return mx.nd.array(np.random.default_rng(key).uniform(0.5, 1.5, (5, 3)), dtype=dtype).tostype(stype)


def bits(arrays):
    return [array.asnumpy().tobytes() for array in arrays]


class ByUpdater:
    """Two weights, of which the second is updated at every other step alone."""

    def __init__(self, make, kind):
        self.make, self.kind = make, kind
        self.updater = mx.optimizer.get_updater(make())
        self.weights = [weight(key, *kind[:2]) for key in range(2)]

    def step(self, number):
        mx.random.seed(number)  # random numbers are no state of an optimizer
        for key, held in enumerate(self.weights):
            if not key or number % 2:
                self.updater(key, gradient(number, key, self.kind[0], self.kind[2]), held)

    def found(self):
        return bits([*self.weights, *arrays_of(tuple(self.updater.states.values()))])

    def again(self, dump):
        twin = ByUpdater(self.make, self.kind)
        twin.updater.set_states(self.updater.get_states(dump_optimizer=dump))
        twin.weights = [held.copy() for held in self.weights]
        return twin


KINDS = [("float32", "default", "default"), ("float32", "default", "row_sparse"), ("float32", "row_sparse", "row_sparse"),
         ("float16", "default", "row_sparse")]


@pytest.mark.parametrize("dump", [False, True], ids=["states alone", "with settings"])
@pytest.mark.parametrize("name", NAMES)
def test_an_updater_goes_on_from_where_it_was_saved(name, dump):
    """For each kind of weight and gradient, with another schedule each."""
    for number, kind in enumerate(KINDS):
        def make(number=number, kind=kind):
            return create(name, number, multi_precision=kind[0] == "float16")
        whole, begun = ByUpdater(make, kind), ByUpdater(make, kind)
        after = [whole.found() for step in range(STEPS) if whole.step(step) is None]
        for step in range(STEPS):
            begun.step(step)
            assert begun.found() == after[step]
            if step not in SAVED:
                continue
            twin = begun.again(dump)
            for later in range(step + 1, STEPS):
                twin.step(later)
                assert twin.found() == after[later], (kind, step, later)
            twin.again(dump)


class ByTrainer:
    """A net with a dense weight, an embedding, and a weight that is kept transposed."""

    def __init__(self, make, store=None):
        self.make, self.store = make, store
        mx.random.seed(1)
        self.net = mx.gluon.nn.HybridSequential(prefix="net_")
        with self.net.name_scope():
            self.net.add(mx.gluon.nn.Embedding(5, 3, sparse_grad=True), mx.gluon.nn.Flatten(),
                         mx.gluon.nn.Dense(4, in_units=6, weight_grad_stype="row_sparse", use_bias=False),
                         mx.gluon.nn.Dense(2, in_units=4, use_bias=False))
        self.net.initialize(mx.init.Normal(0.5))
        self.trainer = mx.gluon.Trainer(self.net.collect_params(), make(), kvstore=store,
                                        update_on_kvstore=None if store is None else True)

    def step(self, number):
        mx.random.seed(number)
        data = mx.nd.array(np.random.default_rng(number).integers(0, 5, (4, 2)))
        differentiated(lambda: (self.net(data) ** 2).sum())
        self.trainer.step(4)

    def states(self):
        updaters = [self.trainer._kvstore._updater] if self.store else self.trainer._updaters
        return tuple(updaters[0].states.values())

    def found(self):
        return bits([*[one.data() for one in self.net.collect_params().values()], *arrays_of(self.states())])

    def with_net_of(self, other):
        for mine, theirs in zip(self.net.collect_params().values(), other.net.collect_params().values(), strict=True):
            mine.set_data(theirs.data())
        return self


@pytest.mark.parametrize("way", ["file", "store", "pickle"])
@pytest.mark.parametrize("name", NAMES)
def test_a_trainer_goes_on_from_where_it_was_saved(name, way, tmp_path):
    def make():
        return create(name, 1 + NAMES.index(name) % 4)
    store = mx.kv.create("local") if way == "store" else None
    whole = ByTrainer(make, store)
    after = [whole.found() for step in range(STEPS) if whole.step(step) is None]
    begun = ByTrainer(make, None if store is None else mx.kv.create("local"))
    for step in SAVED if name == "lbsgd" else SAVED[2:]:
        while begun.trainer.optimizer.num_update < step + 1 and name != "test":
            begun.step(begun.trainer.optimizer.num_update)
        if name == "test":
            break
        assert begun.found() == after[step]
        if way == "pickle":
            net, trainer = pickle.loads(pickle.dumps((begun.net, begun.trainer)))
            twin = ByTrainer(make)
            twin.net, twin.trainer = net, trainer
        else:
            twin = ByTrainer(make, None if store is None else mx.kv.create("local")).with_net_of(begun)
            begun.trainer.save_states(tmp_path / "states")
            twin.trainer.load_states(tmp_path / "states")
        for later in range(step + 1, STEPS):
            twin.step(later)
            assert twin.found() == after[later], (step, later)


def module(make):
    data, label = mx.sym.Variable("data"), mx.sym.Variable("softmax_label")
    net = mx.sym.SoftmaxOutput(mx.sym.FullyConnected(data, num_hidden=3, name="fc"), label, name="softmax")
    made = mx.mod.Module(net, ["data"], ["softmax_label"])
    made.bind([("data", (4, 6))], [("softmax_label", (4,))])
    mx.random.seed(1)
    made.init_params(mx.init.Normal(0.5))
    made.init_optimizer(kvstore=None, optimizer=make())
    return made


def module_step(made, number):
    mx.random.seed(number)
    random = np.random.default_rng(number)
    made.forward_backward(mx.io.DataBatch([mx.nd.array(random.normal(size=(4, 6)))],
                                          [mx.nd.array(random.integers(0, 3, 4))]))
    made.update()
    return bits([value for _, value in sorted(made.get_params()[0].items())])


@pytest.mark.parametrize("name", [name for name in NAMES if name != "groupadagrad"])  # which takes no bias
def test_a_module_goes_on_from_its_files(name, tmp_path):
    def make():
        return create(name, 1, rescale_grad=0.25)
    whole, begun = module(make), module(make)
    after = [module_step(whole, step) for step in range(STEPS)]
    for step in range(STEPS):
        assert module_step(begun, step) == after[step]
        if step not in SAVED[2:]:
            continue
        begun.save_optimizer_states(tmp_path / "states")
        twin = module(make)
        twin.set_params(*begun.get_params())
        twin.load_optimizer_states(tmp_path / "states")
        for later in range(step + 1, STEPS):
            assert module_step(twin, later) == after[later], (step, later)


PROGRAM = """
import sys
sys.path.insert(0, {folder!r})
from test_resume import ByTrainer, create
twin = ByTrainer(lambda: create("lbsgd", 3))
twin.net.load_parameters("net")
twin.trainer.load_states("states")
for step in range(4, 10):
    twin.step(step)
twin.net.save_parameters("after")
"""


def test_another_process_goes_on(tmp_path):
    def make():
        return create("lbsgd", 3)
    whole = ByTrainer(make)
    for step in range(STEPS):
        if step == 4:
            whole.net.save_parameters(str(tmp_path / "net"))
            whole.trainer.save_states(tmp_path / "states")
        whole.step(step)
    program = PROGRAM.format(folder=str(__file__).rsplit("/", 1)[0])
    done = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    found = ByTrainer(make)
    found.net.load_parameters(str(tmp_path / "after"))
    assert bits([one.data() for one in found.net.collect_params().values()]) == bits(
        [one.data() for one in whole.net.collect_params().values()])


def test_each_device_has_sums_of_its_own():
    """Of an optimizer that updates the same weight on two devices, as a trainer without a store does."""
    def steps(devices):
        optimizer = create("lbsgd")
        updaters = [mx.optimizer.get_updater(optimizer) for _ in devices]
        weights = [weight(0, "float32", "default").as_in_context(mx.cpu(device)) for device in devices]
        for number in range(7):
            for device, updater, held in zip(devices, updaters, weights, strict=True):
                updater(0, gradient(number + 10 * device, 0, "float32", "default").as_in_context(mx.cpu(device)), held)
        return bits(weights)

    assert steps([0, 1]) == steps([0]) + steps([1])


def test_no_optimizer_keeps_arrays_that_are_not_saved():
    """What an optimizer of the library knows of a weight is in its states, or in what ``get_states`` saves beside them."""
    for name in NAMES:
        optimizer = create(name)
        updater = mx.optimizer.get_updater(optimizer)
        held = weight(0, "float32", "default")
        for number in range(4):
            updater(0, gradient(number, 0, "float32", "default"), held)
        kept = {attribute for attribute, value in vars(optimizer).items() if attribute not in ("_calls", "_recorded_calls")
                and any(isinstance(one, mx.nd.NDArray) for one in within(value))}
        assert kept <= {"_sums"}, name


def within(value):
    if isinstance(value, dict):
        for one in value.values():
            yield from within(one)
    elif isinstance(value, (list, tuple)):
        for one in value:
            yield from within(one)
    else:
        yield value
