"""JAX's equivalents of the models of ``sparsekit bench models``, each step jitted with donated arrays; see ``protocol.py``.

A step gathers the rows that its batch needs and takes the gradient with respect to these, so that nothing of the size of a table
is computed.  Rows that come several times are added up before AdaGrad, as all others do it.
"""

from __future__ import annotations

import functools
import itertools
import json
import sys
import time

import jax
import jax.numpy as jnp
import numpy
from protocol import peak_memory, serve

RATE, EPSILON, NEVER = 0.002, 1e-6, -1e30


def binary(said, label):
    """Mean binary cross entropy on logits."""
    return jnp.mean(jax.nn.softplus(said) - said * label)


def linear(rows, dense, batch, states):
    """Logistic regression."""
    said = jnp.einsum("bk,bk->b", rows["weight"][..., 0], batch["values"]) + dense["bias"][0]
    return binary(said, batch["label"]), states


def machine(rows, dense, batch, states):
    """A factorization machine."""
    vectors = rows["vectors"] * batch["values"][..., None]
    pairs = jnp.square(vectors.sum(1)) - jnp.square(vectors).sum(1)
    said = jnp.einsum("bk,bk->b", rows["weight"][..., 0], batch["values"]) + dense["bias"][0] + 0.5 * pairs.sum(1)
    return binary(said, batch["label"]), states


def factorization(rows, dense, batch, states):
    """A matrix factorization."""
    said = (rows["users"] * rows["items"]).sum(1) + rows["user_biases"][:, 0] + rows["item_biases"][:, 0]
    return 0.5 * jnp.mean(jnp.square(said - batch["label"])), states


def wide_and_deep(rows, dense, batch, states):
    """A linear part beside three layers on the vectors of categories."""
    hidden = rows["table"].reshape(rows["table"].shape[0], -1)
    for number in range(3):
        hidden = hidden @ dense[f"weight{number}"].T + dense[f"bias{number}"]
        hidden = jax.nn.relu(hidden) if number < 2 else hidden
    said = jnp.einsum("bk,bk->b", rows["wide"][..., 0], batch["values"]) + hidden[:, 0]
    return binary(said, batch["label"]), states


def language(rows, dense, batch, states):
    """An LSTM, perhaps with a projection, and a sampled softmax."""
    def cell(carried, inner):
        hidden, memory = carried
        gates = inner + hidden @ dense["recurrent"].T + dense["recurrent_bias"]
        write, forget, new, read = jnp.split(gates, 4, axis=1)
        memory = jax.nn.sigmoid(forget) * memory + jax.nn.sigmoid(write) * jnp.tanh(new)
        hidden = jax.nn.sigmoid(read) * jnp.tanh(memory)
        hidden = hidden @ dense["projection"].T if "projection" in dense else hidden
        return (hidden, memory), hidden

    states, hidden = jax.lax.scan(cell, states, rows["embedding"] @ dense["input"].T + dense["input_bias"])
    hidden = hidden.reshape(-1, hidden.shape[-1])
    count = hidden.shape[0]
    shift = rows["bias"][:, 0] - batch["log_expected"]
    right = (hidden * rows["weight"][:count]).sum(1) + shift[:count]
    others = hidden @ rows["weight"][count:].T + shift[count:]
    others = others.at[batch["rows"], batch["columns_hit"]].set(NEVER, mode="drop")
    return jnp.mean(jax.nn.logsumexp(jnp.concatenate([right[:, None], others], 1), 1) - right), states


def parts_of(name, sizes):
    """The loss, the tables with the array that selects their rows, and the other parameters, in PyTorch's order."""
    if name == "linear":
        return linear, {"bias": (1,), "weight": (sizes["features"], 1)}, {"weight": "columns"}
    if name == "machine":
        shapes = {"bias": (1,), "weight": (sizes["features"], 1), "vectors": (sizes["features"], sizes["factors"])}
        return machine, shapes, {"weight": "columns", "vectors": "columns"}
    if name == "factorization":
        users, items, factors = sizes["users"], sizes["items"], sizes["factors"]
        shapes = {"users": (users, factors), "items": (items, factors), "user_biases": (users, 1), "item_biases": (items, 1)}
        return factorization, shapes, {"users": "user", "items": "item", "user_biases": "user", "item_biases": "item"}
    if name == "wide_and_deep":
        rows, width, hidden = sizes["rows"] // sizes["categories"] * sizes["categories"], sizes["width"], sizes["hidden"]
        shapes = {"wide": (sizes["columns"], 1), "table": (rows, width)}
        layers = [sizes["categories"] * width, hidden, hidden // 2, 1]
        for number, (given, made) in enumerate(itertools.pairwise(layers)):
            shapes |= {f"weight{number}": (made, given), f"bias{number}": (made,)}
        return wide_and_deep, shapes, {"wide": "columns", "table": "codes"}
    words, width, hidden, projection = (sizes[key] for key in ("words", "width", "hidden", "projection"))
    shapes = {"embedding": (words, width), "input": (4 * hidden, width), "recurrent": (4 * hidden, projection or hidden),
              "input_bias": (4 * hidden,), "recurrent_bias": (4 * hidden,)}
    if projection:
        shapes["projection"] = (projection, hidden)
    shapes |= {"weight": (words, projection or hidden), "bias": (words, 1)}
    return language, shapes, {"embedding": "data", "weight": "classes", "bias": "classes"}


def initial(shapes):
    """Initial values that every library draws alike: the largest first, small and normal; vectors are 0."""
    made = {}
    for number, name in enumerate(sorted(shapes, key=lambda one: -int(numpy.prod(shapes[one])))):
        shape = shapes[name]
        values = numpy.random.default_rng(number).standard_normal(shape, numpy.float32) if len(shape) > 1 else None
        made[name] = jnp.zeros(shape) if values is None else jnp.asarray(values * numpy.float32(0.05))
    return made


def updated(table, sums, places, gradient):
    """AdaGrad on the rows of a table, each place once."""
    places, gradient = places.reshape(-1), gradient.reshape(-1, table.shape[1])
    rows, inverse = jnp.unique(places, return_inverse=True, size=places.size, fill_value=table.shape[0])
    total = jax.ops.segment_sum(gradient, inverse.reshape(-1), num_segments=places.size)
    sums = sums.at[rows].add(jnp.square(total), mode="drop")
    divisor = jnp.sqrt(sums.at[rows].get(mode="fill", fill_value=1.0))
    return table.at[rows].add(-RATE * total / divisor, mode="drop"), sums


@functools.partial(jax.jit, static_argnames=("loss", "selected"), donate_argnums=(0, 1))
def step(parameters, sums, states, batch, loss, selected):
    """One step; ``selected`` has the tables, and what selects their rows."""
    places = {table: batch[by] for table, by in selected}
    rows = {table: parameters[table][where] for table, where in places.items()}
    dense = {name: value for name, value in parameters.items() if name not in places}
    (found, states), (of_rows, of_dense) = jax.value_and_grad(loss, argnums=(0, 1), has_aux=True)(rows, dense, batch, states)
    parameters, sums = dict(parameters), dict(sums)
    for table, where in places.items():
        parameters[table], sums[table] = updated(parameters[table], sums[table], where, of_rows[table])
    for name, gradient in of_dense.items():
        sums[name] = sums[name] + jnp.square(gradient)
        parameters[name] = parameters[name] - RATE * gradient / jnp.sqrt(sums[name])
    return parameters, sums, jax.lax.stop_gradient(states), found


class Worker:
    """A model and its batches."""

    def info(self):
        return {"name": "jax", "version": jax.__version__, "python": sys.version.split()[0]}

    def load(self, path, name):
        with numpy.load(path) as stored:
            sizes = json.loads(str(stored["sizes"]))
            arrays = {key: stored[key] for key in stored.files if key != "sizes"}
        self.loss, shapes, selected = parts_of(name, sizes)
        self.selected = tuple(selected.items())
        self.parameters = initial(shapes)
        self.sums = {key: jnp.full(shape, EPSILON) for key, shape in shapes.items()}
        self.states = ()
        if "length" in sizes:
            self.states = tuple(jnp.zeros((sizes["batch"], width))
                                for width in (sizes["projection"] or sizes["hidden"], sizes["hidden"]))
            arrays |= self._hits(arrays, sizes)
        self.batches = [{key: jnp.asarray(value[one].astype(numpy.int32) if value.dtype == numpy.int64 else value[one])
                         for key, value in arrays.items()} for one in range(len(next(iter(arrays.values()))))]
        return {"forms": {name: {"": [float(self._step(batch)) for batch in self.batches]}}, "failed": {}}

    @staticmethod
    def _hits(arrays, sizes):
        """Places where a sample is the right class, filled up to one length by places that are nowhere."""
        count = arrays["data"][0].size
        found = [numpy.nonzero(classes[:count, None] == classes[None, count:]) for classes in arrays["classes"]]
        most = max(len(rows) for rows, _ in found)
        return {name: numpy.stack([numpy.pad(one[axis], (0, most - len(one[axis])), constant_values=count + sizes["samples"])
                                   for one in found]) for axis, name in enumerate(("rows", "columns_hit"))}

    def _step(self, batch):
        self.parameters, self.sums, self.states, loss = step(
            self.parameters, self.sums, self.states, batch, self.loss, self.selected)
        return loss

    def time(self, operation):
        start = time.perf_counter()
        for batch in self.batches:
            loss = self._step(batch)
        loss.block_until_ready()
        jax.block_until_ready(self.parameters)
        return (time.perf_counter() - start) / len(self.batches) * 1e3

    def peak(self):
        return peak_memory()


if __name__ == "__main__":
    serve(Worker())
