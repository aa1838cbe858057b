"""Steps of optimizers and calls of their operators, as ``golden/updates.json`` has them, of either library."""


def flat(state):
    if isinstance(state, (tuple, list)):
        return [array for part in state for array in flat(part)]
    return [] if state is None else [state]


def steps(mx, known, optimizer, settings, storage, dtype):
    """The weight after each step, and the states after the last."""
    updater = mx.optimizer.get_updater(mx.optimizer.create(optimizer, **settings))
    weight, weights = mx.nd.array(known["weight"], dtype=dtype).tostype(storage[0]), []
    for gradient in known["gradients"]:
        updater(0, mx.nd.array(gradient, dtype=dtype).tostype(storage[1]), weight)
        weights.append(weight.asnumpy())
    return weights, flat(updater.states[0])


def called(mx, known, call):
    """What a call of operators gives, as a list, and the arrays that it is given, by name, which are made anew for it."""
    given = {name: mx.nd.array(value) for name, value in {**known["arrays"], **known["vectors"]}.items()}
    given |= {"h": given["w"].astype("float16"), "k": given["g"].astype("float16")}
    result = eval(call, {"nd": mx.nd, **given})
    return result if isinstance(result, list) else [result], given
