"""Record the operators of neural networks: values, types, gradients under given heads, moving averages, and refusals."""

import mxnet as mx
import record_expressions
import recording


def record_regular(settings, data, head):
    """IdentityAttachKLSparseReg, which MXNet runs in a symbol only: value, gradient and moving averages of two steps."""
    symbol = mx.sym.IdentityAttachKLSparseReg(mx.sym.var("data"), **settings)
    bound = symbol.bind(mx.cpu(), {"data": mx.nd.array(data)}, args_grad={"data": mx.nd.zeros((2, 3))},
                        aux_states=[mx.nd.full(3, 0.5)])
    steps = []
    for _ in range(2):
        value = bound.forward(is_train=True)[0]
        bound.backward(mx.nd.array(head))
        steps.append({name: recording.plain(array.asnumpy()) for name, array in (
            ("value", value), ("gradient", bound.grad_arrays[0]), ("average", bound.aux_arrays[0]))})
    return {"settings": settings, "data": data, "head": head, "steps": steps}


if __name__ == "__main__":
    known = recording.known()
    regular = [record_regular(**recording.given(case, "settings", "data", "head")) for case in known["regular"]]
    record_expressions.save(known, regular=regular)
