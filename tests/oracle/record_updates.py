"""Record again three steps of every optimizer, update operators as functions, and learning rate schedules of MXNet 1.9.1."""

import sys

import mxnet as mx
import recording


def arrays(known):
    made = {name: mx.nd.array(value) for name, value in {**known["arrays"], **known["vectors"]}.items()}
    return {**made, "h": made["w"].astype("float16"), "k": made["g"].astype("float16")}


def flat(state):
    if isinstance(state, (tuple, list)):
        return [array for part in state for array in flat(part)]
    return [] if state is None else [state]


def steps(known, optimizer, settings, storage, dtype):
    """The weight after each step, and the states after the last."""
    updater = mx.optimizer.get_updater(mx.optimizer.create(optimizer, **settings))
    weight = mx.nd.array(known["weight"], dtype=dtype).tostype(storage[0])
    weights = []
    for gradient in known["gradients"]:
        updater(0, mx.nd.array(gradient, dtype=dtype).tostype(storage[1]), weight)
        weights.append(recording.plain(weight.asnumpy()))
    states = [{"stype": state.stype, "value": recording.plain(state.asnumpy())} for state in flat(updater.states[0])]
    return {"weights": weights, "states": states}


def record_one(known, number):
    case = recording.given(known["cases"][number], "optimizer", "settings", "storage", "dtype")
    try:
        return {**case, **steps(known, **case)}
    except Exception as error:
        return {**case, "error": type(error).__name__, "reason": str(error).strip().splitlines()[-1][:150]}


def record_call(known, call, written):
    """What a call of operators gives; names are arrays, made anew for every call, and those that it writes are noted."""
    given = arrays(known)
    result = eval(call, {"nd": mx.nd, **given})
    listed = result if isinstance(result, list) else [result]
    return {"call": call, "results": [recording.encode(one) for one in listed],
            "written": {name: recording.plain(given[name].asnumpy()) for name in written}}


def record_schedule(text):
    schedule = eval("mx.lr_scheduler." + text, {"mx": mx})
    return {"schedule": text, "rates": [schedule(number) for number in range(16)]}


def main():
    known = recording.known()
    records = recording.record_each(len(known["cases"]), lambda number: record_one(known, number))
    recording.save(sys.argv[1], {
        **recording.given(known, "weight", "gradients", "arrays", "vectors"),
        "calls": [record_call(known, case["call"], case["written"]) for case in known["calls"]],
        "schedules": [record_schedule(case["schedule"]) for case in known["schedules"]], "cases": records,
    })


if __name__ == "__main__":
    main()
