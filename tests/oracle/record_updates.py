"""Record three steps of every optimizer, update operators called as functions, and learning rate schedules of MXNet 1.9.1."""

import sys

import mxnet as mx
import numpy as np
import recording

COMMON = {"learning_rate": 0.1, "rescale_grad": 0.5}
DECAY, CLIP = {"wd": 0.1}, {"clip_gradient": 0.3}
VARIANTS = [{}, DECAY, {**DECAY, **CLIP}]
#: Optimizer and its own settings; each in every variant.
OPTIMIZERS = [("sgd", {}), ("sgd", {"momentum": 0.9}), ("sgd", {"lazy_update": False}),
              ("sgd", {"momentum": 0.9, "lazy_update": False}), ("nag", {}), ("nag", {"momentum": 0.9}), ("signum", {}),
              ("signum", {"momentum": 0.0}), ("signum", {"wd_lh": 0.1}), ("ftml", {}),
              ("lars", {"momentum": 0.9, "eta": 0.5}), ("lars", {"eta": 0.5}),
              ("lbsgd", {"momentum": 0.9, "batch_scale": 2, "updates_per_epoch": 1}), ("lbsgd", {"warmup_strategy": "lars"}),
              ("lamb", {}), ("lamb", {"bias_correction": False, "lower_bound": 0.5, "upper_bound": 2.0}), ("dcasgd", {}),
              ("dcasgd", {"momentum": 0.9}), ("adam", {}), ("adam", {"lazy_update": False, "beta1": 0.8}), ("adagrad", {}),
              ("adagrad", {"eps": 0.01}), ("rmsprop", {}), ("rmsprop", {"centered": True}),
              ("rmsprop", {"clip_weights": 1.0}), ("adadelta", {}), ("ftrl", {}), ("ftrl", {"lamda1": 0.1, "beta": 0.5}),
              ("adamax", {}), ("nadam", {}), ("groupadagrad", {}), ("test", {})]
STORAGE = [("default", "default"), ("default", "row_sparse"), ("row_sparse", "row_sparse")]
#: Optimizers also recorded on float16 weights with a float32 copy.
PRECISE = [("sgd", {}), ("sgd", {"momentum": 0.9}), ("nag", {"momentum": 0.9}), ("adam", {}), ("lamb", {}), ("rmsprop", {})]

SCHEDULES = [
    "FactorScheduler(step=3, factor=0.5, base_lr=1.0)",
    "FactorScheduler(step=2, factor=0.1, stop_factor_lr=0.01, base_lr=1.0, warmup_steps=4, warmup_begin_lr=0.2)",
    "MultiFactorScheduler(step=[4, 9, 10], factor=0.5, base_lr=1.0)",
    "MultiFactorScheduler(step=[6], factor=0.1, base_lr=0.4, warmup_steps=3, warmup_begin_lr=0.1, warmup_mode='constant')",
    "PolyScheduler(max_update=12, base_lr=1.0, pwr=2)",
    "PolyScheduler(max_update=12, base_lr=1.0, pwr=1, final_lr=0.1, warmup_steps=5)",
    "CosineScheduler(max_update=10, base_lr=0.5)",
    "CosineScheduler(max_update=10, base_lr=0.5, final_lr=0.05, warmup_steps=2, warmup_begin_lr=0.1)",
]

#: Calls of operators: names are arrays, made anew for every call; the result and then each name of the second part is noted.
CALLS = [("nd.sgd_update(w, g, lr=0.1)", "w"), ("nd.sgd_update(w, g, lr=0.1, out=w)", "w"),
         ("nd.sgd_update(w, g, lr=0.1, out=o)", "w o"), ("nd.sgd_update(w, g, 0.1, 0.01, 0.5, 0.2)", ""),
         ("nd.sgd_update(w, g, lr=0.1, clip_gradient=0.0, wd=0.1)", ""),
         ("nd.sgd_mom_update(w, g, m, lr=0.1, momentum=0.9)", "w m"),
         ("nd.nag_mom_update(w, g, m, lr=0.1, momentum=0.9, wd=0.1)", "w m"), ("nd.signsgd_update(w, g, lr=0.1, wd=0.1)", "w"),
         ("nd.signum_update(w, g, m, lr=0.1, momentum=0.9, wd_lh=0.1)", "m"), ("nd.adam_update(w, g, m, v, lr=0.1)", "w m v"),
         ("nd.adam_update(w, g, m, v, 0.1, 0.8, 0.9, 0.01, 0.1, 0.5, 0.3)", "m v"),
         ("nd.ftml_update(w, g, d, v, m, lr=0.1, t=2, wd=0.1, clip_grad=0.3)", "d v m"),
         ("nd.ftrl_update(w, g, m, v, lr=0.1)", "m v"), ("nd.rmsprop_update(w, g, v, lr=0.1)", "v"),
         ("nd.rmsprop_update(w, g, v, lr=0.1, clip_weights=0.5)", "v"), ("nd.rmspropalex_update(w, g, d, m, z, lr=0.1)", "d m z"),
         ("nd.lamb_update_phase1(w, g, m, v, t=2, wd=0.1, clip_gradient=0.3)", "w m v"),
         ("nd.lamb_update_phase1(w, g, m, v, t=2, wd=0.1, bias_correction=False)", "w m v"),
         ("nd.lamb_update_phase2(w, g, one, two, lr=0.1)", "w"), ("nd.lamb_update_phase2(w, g, one, zero, lr=0.1)", "w"),
         ("nd.lamb_update_phase2(w, g, one, two, lr=0.1, lower_bound=3.0)", ""),
         ("nd.lamb_update_phase2(w, g, two, one, lr=0.1, upper_bound=1.5)", ""),
         ("nd.contrib.adamw_update(w, g, m, v, 0.5, lr=0.1, eta=0.5, wd=0.1)", "m v"),
         ("nd.contrib.adamw_update(w, g, m, v, one, lr=0.1, eta=0.5, wd=0.1, clip_gradient=0.3, out=w)", "w m v"),
         ("nd.contrib.adamw_update(w, g, m, v, 0.0, lr=0.1, eta=0.5, wd=0.1, out=w)", "w m v"),
         ("nd.contrib.adamw_update(w, g, m, v, float('nan'), lr=0.1, eta=0.5, wd=0.1, out=w)", "w m v"),
         ("nd.contrib.mp_adamw_update(h, k, m, v, w, 0.5, lr=0.1, eta=0.5, wd=0.1)", "h m v w"),
         ("nd.mp_sgd_update(h, k, w, lr=0.1)", "h w"), ("nd.mp_sgd_mom_update(h, k, m, w, lr=0.1, momentum=0.9)", "h m w"),
         ("nd.mp_nag_mom_update(h, k, m, w, lr=0.1, momentum=0.9, out=h)", "h m w"),
         ("nd.mp_lamb_update_phase1(h, k, m, v, w, t=2, wd=0.1)", "m v w"),
         ("nd.mp_lamb_update_phase2(h, g, one, two, w, lr=0.1)", "h w"),
         ("nd.multi_sgd_update(w, g, o, g, lrs=(0.1, 0.2), wds=(0.0, 0.1), num_weights=2, out=[w, o])", "w o"),
         ("nd.multi_sgd_mom_update(w, g, m, o, g, z, lrs=(0.1, 0.2), wds=(0.0, 0.1), momentum=0.9, num_weights=2, out=[w, o])",
          "m z"), ("nd.multi_mp_sgd_update(h, k, w, lrs=(0.1,), wds=(0.1,), num_weights=1, out=[h])", "h w"),
         ("nd.multi_mp_sgd_mom_update(h, k, m, w, lrs=(0.1,), wds=(0.1,), momentum=0.9, num_weights=1, out=[h])", "h m w"),
         ("nd.preloaded_multi_sgd_update(w, g, o, g, rates, decays, num_weights=2, out=[w, o])", "w o"),
         ("nd.preloaded_multi_sgd_mom_update(w, g, m, o, g, z, rates, decays, momentum=0.9, num_weights=2, out=[w, o])", "m z"),
         ("nd.preloaded_multi_mp_sgd_update(h, k, w, one, one, num_weights=1, out=[h])", "h w"),
         ("nd.preloaded_multi_mp_sgd_mom_update(h, k, m, w, one, one, momentum=0.9, num_weights=1, out=[h])", "h m w"),
         *((f"nd.contrib.multi_adamw_update([w, o], [g, g], [m, z], [v, d], {rest}, out=[w, o])", "w o m z v d")
           for rest in ("0.5, lrs=[0.1, 0.2], wds=[0.1, 0.0], etas=[0.5, 1.0]",
                        "float('nan'), lrs=[0.1, 0.2], wds=[0.1, 0.0], etas=[0.5, 1.0]",
                        "one, [0.1, 0.2], [0.1, 0.0], [0.5, 1.0], beta1=0.8, beta2=0.9, epsilon=0.01, clip_gradient=0.3")),
         ("nd.contrib.multi_adamw_update([w], [g], [m], [v], zero, [0.1], [0.1], [0.5], size=1, out=[w])", "w m v"),
         ("nd.contrib.multi_mp_adamw_update([h], [k], [m], [v], [w], 0.5, lrs=[0.1], wds=[0.1], etas=[0.5], out=[h])", "h m v w"),
         *((f"nd.contrib.multi_lamb_update([w, o], [g, g * 1], [m, z], [v, d], [1, 3], [0.1, 0.2], [0.0, 0.1]{rest}, out=[w, o])",
            "w o m z v d")
           for rest in ("", ", bias_correction=False, beta1=0.8, beta2=0.9, epsilon=0.01", ", lower_bound=5.0",
                        ", upper_bound=1.5, rescale_grad=0.5, clip_gradient=0.3", ", lower_bound=0.0, upper_bound=0.0")),
         ("nd.contrib.multi_mp_lamb_update([h], [k], [m], [v], [w], [2], [0.1], [0.1], out=[h])", "h m v w"),
         ("nd.multi_sum_sq(w, g, num_arrays=2)", ""), ("nd.multi_sum_sq(h, num_arrays=1)", ""),
         ("nd.multi_lars(rates, squares, squares * 2, decays, eta=0.01, eps=1e-8, rescale_grad=0.5)", ""),
         ("nd.all_finite(w)", ""), ("nd.all_finite(w / 0)", ""), ("nd.multi_all_finite(w, w / 0, num_arrays=2)", ""),
         ("nd.all_finite(w, init_output=False, out=zero)", "zero"), ("nd.reset_arrays(w, g, num_arrays=2)", "w g")]


def gradients(random):
    """Gradients with rows of zeros, other ones each step, none with a single zero elsewhere."""
    found = []
    for rows in ((0, 2, 5), (2, 3), (0, 1, 5)):
        values = np.zeros((6, 3), np.float32)
        values[list(rows)] = random.randint(1, 17, (len(rows), 3)) / 8 * random.choice([-1, 1], (len(rows), 3))
        found.append(values)
    return found


RANDOM = np.random.RandomState(3)
WEIGHT = ((RANDOM.randint(-16, 17, (6, 3)) + 0.5) / 8).astype(np.float32)
GRADIENTS = gradients(RANDOM)
ARRAYS = {name: RANDOM.randint(1, 17, (2, 3)).astype(np.float32) / 8 for name in "wgmvzdo"}
ARRAYS["g"] *= np.array([[1, -1, 0.25], [-1, 0, 1]], np.float32)
ARRAYS["m"] -= 1
ARRAYS["d"] += 8
VECTORS = {"one": [1.0], "two": [2.0], "zero": [0.0], "rates": [0.1, 0.2], "decays": [0.0, 0.1], "squares": [4.0, 0.0]}


def arrays():
    made = {name: mx.nd.array(value) for name, value in {**ARRAYS, **VECTORS}.items()}
    return {**made, "h": made["w"].astype("float16"), "k": made["g"].astype("float16")}


def flat(state):
    if isinstance(state, (tuple, list)):
        return [array for part in state for array in flat(part)]
    return [] if state is None else [state]


def steps(name, settings, storage, dtype):
    """The weight after each step, and the states after the last."""
    optimizer = mx.optimizer.create(name, **settings)
    updater = mx.optimizer.get_updater(optimizer)
    weight = mx.nd.array(WEIGHT, dtype=dtype).tostype(storage[0])
    weights = []
    for gradient in GRADIENTS:
        updater(0, mx.nd.array(gradient, dtype=dtype).tostype(storage[1]), weight)
        weights.append(recording.plain(weight.asnumpy()))
    states = [{"stype": state.stype, "value": recording.plain(state.asnumpy())} for state in flat(updater.states[0])]
    return {"weights": weights, "states": states}


def cases():
    for name, own in OPTIMIZERS:
        for variant in VARIANTS:
            for storage in STORAGE:
                yield name, {**COMMON, **own, **variant}, storage, "float32"
    for name, own in PRECISE:
        for storage in STORAGE[:2]:
            yield name, {**COMMON, **own, **DECAY, "multi_precision": True}, storage, "float16"


CASES = list(cases())


def record_one(number):
    name, settings, storage, dtype = CASES[number]
    try:
        result = steps(name, settings, storage, dtype)
    except Exception as error:
        result = {"error": type(error).__name__, "reason": str(error).strip().splitlines()[-1][:150]}
    return {"optimizer": name, "settings": settings, "storage": storage, "dtype": dtype, **result}


def record_call(call, names):
    given = arrays()
    result = eval(call, {"nd": mx.nd, **given})
    listed = result if isinstance(result, list) else [result]
    return {"call": call, "results": [recording.encode(one) for one in listed],
            "written": {name: recording.plain(given[name].asnumpy()) for name in names.split()}}


def main():
    records = recording.record_each(len(CASES), record_one)
    schedules = []
    for text in SCHEDULES:
        schedule = eval("mx.lr_scheduler." + text, {"mx": mx})
        schedules.append({"schedule": text, "rates": [schedule(number) for number in range(16)]})
    recording.save(sys.argv[1], {
        "weight": recording.plain(WEIGHT), "gradients": [recording.plain(gradient) for gradient in GRADIENTS],
        "arrays": {name: recording.plain(value) for name, value in ARRAYS.items()}, "vectors": VECTORS,
        "calls": [record_call(*call) for call in CALLS], "schedules": schedules, "cases": records,
    })


if __name__ == "__main__":
    main()
