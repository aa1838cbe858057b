"""A program: whatever users get hold of from a sparse array, nothing that they write changes its structure.

From each array it follows all that is public: attributes, methods without arguments, protocols, copies, conversions,
buffers, ``base`` of views.  It writes absurd numbers into every array of integers that it meets, changes shapes and
element types in place, and computes after each write that could have met the array.  A line is printed for every
answer that changed.
"""

from __future__ import annotations

import copy
import pickle
import sys
import types
import warnings
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import scipy.sparse

import sparsekit as mx

nd = mx.nd
ABSURD = 10**11
DEPTH = 2

#: Methods that end the program, or wait for something.
NOT_CALLED = {"breakpoint", "exit", "wait_to_read"}


def matrix(index_dtype):
    made = scipy.sparse.random(40, 30, 0.2, format="csr", dtype=np.float32, random_state=np.random.default_rng(3))
    made.indices, made.indptr = made.indices.astype(index_dtype), made.indptr.astype(index_dtype)
    return made


def rows(index_dtype):
    numbers = np.array([1, 5, 6, 30], index_dtype)
    return np.arange(1.0, 13, dtype=np.float32).reshape(4, 3), numbers


def constructed(index_dtype):
    """Ways to make arrays from memory that the user keeps: (name, array, what was kept)."""
    kept = matrix(index_dtype)
    parts = kept.data, kept.indices, kept.indptr
    places = kept.tocoo()
    values, numbers = rows(index_dtype)
    csr, sparse = nd.sparse.csr_matrix, nd.sparse.row_sparse_array
    yield "csr_matrix(scipy)", csr(kept, index_dtype=index_dtype), kept
    yield "nd.array(scipy)", nd.array(kept), kept
    yield "sparse.array(scipy)", nd.sparse.array(kept, index_dtype=index_dtype), kept
    yield "csr_matrix(components)", csr(parts, shape=kept.shape, index_dtype=index_dtype), parts
    yield "csr_matrix(places)", csr((places.data, (places.row, places.col)), shape=kept.shape), places
    arrays = nd.array(kept.data), nd.array(kept.indices, dtype=index_dtype), nd.array(kept.indptr, dtype=index_dtype)
    yield "csr_matrix(NDArrays)", csr(arrays, shape=kept.shape, index_dtype=index_dtype), arrays
    other = csr(kept)
    yield "csr_matrix(csr)", csr(other), other
    yield "from_binsparse", nd.sparse.from_binsparse(other), other
    yield "row_sparse_array(components)", sparse((values, numbers), shape=(40, 3), index_dtype=index_dtype), (values, numbers)
    same = sparse((values, numbers), shape=(40, 3))
    yield "row_sparse_array(row_sparse)", sparse(same), same
    for name, array in (("csr", other), ("row_sparse", same)):
        buffers = []
        text = pickle.dumps(array, 5, buffer_callback=buffers.append)
        memory = [bytearray(buffer.raw()) for buffer in buffers]
        yield f"unpickled {name} over buffers", pickle.loads(text, buffers=memory), memory
        yield f"unpickled {name} over its own buffers", pickle.loads(text, buffers=buffers), buffers
        nd.save("array.params", [array])
        place = bytearray(Path("array.params").read_bytes())
        yield f"{name} from a buffer", nd.load_frombuffer(place)[0], place
        yield f"copied {name}", copy.copy(array), array
        yield f"deeply copied {name}", copy.deepcopy(array), array


def made_inside():
    """Arrays that parts of the library keep: (name, array, the part)."""
    kept = matrix("int64")
    whole = nd.sparse.csr_matrix(kept)
    iterator = mx.io.NDArrayIter(whole, np.zeros(40), batch_size=10)
    batch = next(iterator)
    yield "the data of NDArrayIter", whole, [iterator, iterator.data, batch]
    yield "a batch of NDArrayIter", batch.data[0], [batch, iterator.getdata()]
    loader = mx.gluon.data.DataLoader(mx.gluon.data.ArrayDataset(whole, nd.zeros(40)), batch_size=10)
    yield "a batch of DataLoader", next(iter(loader))[0], [loader, loader._dataset]
    weight = mx.gluon.Parameter("weight", shape=(30, 2), stype="row_sparse", grad_stype="row_sparse")
    weight.initialize(mx.init.One())
    every = nd.arange(30, dtype="int64")
    with mx.autograd.record():
        total = nd.sparse.dot(batch.data[0], weight.row_sparse_data(every)).sum()
    total.backward()
    yield "a gradient", weight.grad(), [weight, total]
    yield "a parameter", weight.row_sparse_data(every), [weight]
    store = mx.kv.create("local")
    store.init("weight", nd.ones((30, 2)).tostype("row_sparse"))
    pulled = nd.zeros((30, 2), stype="row_sparse")
    store.row_sparse_pull("weight", out=pulled, row_ids=every)
    yield "what a store gives", pulled, [store]
    with mx.Profiler() as prof:
        profiled = nd.sparse.csr_matrix(kept)
        nd.dot(profiled, nd.ones((30, 2)))
    yield "an array that was profiled", profiled, [prof]


class Walk:
    """Follows what can be reached, and writes to it."""

    def __init__(self, array):
        self.array, self.seen, self.kept, self.alike, self.writes = array, set(), [], set(), 0
        self.answers = answers(array)

    def visit(self, thing, path, depth=0):
        if id(thing) in self.seen or isinstance(thing, (str, bytes, int, float, bool, type(None), type, np.dtype, np.generic)):
            return
        self.seen.add(id(thing))
        self.kept.append(thing)  # or another object would get its id
        if isinstance(thing, (np.ndarray, memoryview, bytearray)) or type(thing).__name__ == "PickleBuffer":
            self.follow_memory(thing, path, depth)
        elif isinstance(thing, nd.NDArray):
            self.follow_array(thing, path, depth)
        elif depth < DEPTH:
            for name, inner in parts_of(thing):
                self.visit(inner, f"{path}{name}", depth + (not isinstance(thing, (list, tuple, dict))))

    def follow_memory(self, thing, path, depth):
        thing = thing.raw() if type(thing).__name__ == "PickleBuffer" else thing
        for name in ("base", "obj"):
            inner = getattr(thing, name, None)
            if inner is not None:
                self.visit(inner, f"{path}.{name}", depth)
        if not self.near(thing, "data"):  # the values are the user's to change
            self.write(path, thing, lambda: overwrite(thing))
        if isinstance(thing, np.ndarray) and self.near(thing):
            for name, value in (("shape", (-1, 1)), ("dtype", "float64"), ("dtype", "int8"), ("strides", (1 << 40,))):
                self.write(f"{path}.{name} =", thing, lambda name=name, value=value: setattr(thing, name, value))

    def follow_array(self, thing, path, depth):
        if thing.stype == "default" and thing.dtype.kind in "iu":
            alike = thing._store.ctypes.data, thing._store.nbytes, thing._store.flags.writeable
            if alike not in self.alike:  # one of all that stand for the same memory
                self.alike.add(alike)
                for name, way in IN_PLACE.items() if self.near(thing._store) else ():
                    self.write(f"{path} {name}", thing._store, lambda way=way: way(thing))
        if depth >= DEPTH:
            return
        # A copy's doors are looked at where they lead to memory; there are thousands of ways to a copy of a copy.
        for name, way in {**MEMORY, **(COPIES if not depth else {})}.items():
            made = quietly(way, thing)
            if made is not None:
                self.visit(made, f"{path} {name}", depth + 1)
        for name, inner in parts_of(thing) if not depth else ():
            self.visit(inner, f"{path}{name}", depth + 1)

    def write(self, path, memory, way):
        print(path, file=sys.stderr, flush=True)
        near = self.near(memory)
        quietly(way)
        self.writes += 1
        if near:
            self.compare(path)

    def near(self, memory, *names):
        """Whether memory is in the range of a component's, which leaves out copies: computing takes much longer."""
        values = np.frombuffer(memory, np.uint8) if isinstance(memory, (memoryview, bytearray)) else memory
        store = self.array._store
        return any(np.may_share_memory(values, getattr(store, name)) for name in names or store.components)

    def compare(self, path):
        now = answers(self.array)
        if now != self.answers:
            print(f"{path}: the answer changed: {now!r:.300}")
            self.answers = now


def quietly(function, *arguments):
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return function(*arguments)
    except Exception:
        return None


def parts_of(thing):
    """All that is public about an object: (how it is spelt, what it is)."""
    if isinstance(thing, Mapping):
        yield from ((f"[{key!r}]", value) for key, value in list(thing.items()))
    if isinstance(thing, (list, tuple, set)):
        yield from ((f"[{place}]", value) for place, value in enumerate(list(thing)[:8]))
        return
    if isinstance(thing, (types.ModuleType, types.FunctionType, types.MethodType, types.BuiltinFunctionType)):
        return
    library = type(thing).__module__.partition(".")[0]
    if library == "scipy":  # whose own methods crash where its arrays were overwritten
        yield from ((f".{name}", value) for name, value in vars(thing).items() if isinstance(value, np.ndarray))
        return
    for name in dir(thing) if library == "sparsekit" else ():
        if name.startswith("_") or name in NOT_CALLED:
            continue
        value = quietly(getattr, thing, name)
        if callable(value):
            if isinstance(thing, nd.NDArray):
                yield f".{name}()", quietly(value)
        elif value is not None:
            yield f".{name}", value


def overwrite(thing):
    """Write an absurd number everywhere."""
    if isinstance(thing, bytearray):
        half = len(thing) // 16 * 8  # a pickled component, or a file, in whose second half the indices lie
        thing[half:] = np.full((len(thing) - half) // 8 + 1, ABSURD).tobytes()[:len(thing) - half]
        return
    values = np.asarray(thing)
    if not values.flags.writeable:
        values.flags.writeable = True
    if values.dtype.itemsize == 1:
        values.reshape(-1)[:values.size // 8 * 8].view(np.int64)[:] = ABSURD
    else:
        values[...] = ABSURD if values.dtype.kind == "f" else min(ABSURD, np.iinfo(values.dtype).max)


def raw(array):
    return array.__array__(copy=False)


def in_place(array):
    array += ABSURD


def buffers_of(array):
    found = []
    pickle.dumps(array, 5, buffer_callback=found.append)
    return found


IN_PLACE = {
    "[:] =": lambda a: a.__setitem__(slice(None), ABSURD),
    "[0] =": lambda a: a.__setitem__(0, ABSURD),
    "[[0]] =": lambda a: a.__setitem__([0], ABSURD),
    "+=": in_place,
    "out=": lambda a: nd.elemwise_add(a, a, out=a),
    "out= of ones": lambda a: nd.ones(a.shape, dtype=a.dtype).copyto(a),
    "sgd_update": lambda a: nd.sgd_update(a, a, lr=-1e9, out=a),
    "sgd_update without out": lambda a: nd.sgd_update(a, nd.ones(a.shape, dtype=a.dtype), lr=-1e9),
    "adam_update": lambda a: nd.adam_update(a, nd.ones(a.shape), a, a, lr=-1e9),
    "np.put": lambda a: np.put(a, [0], [ABSURD]),
    "np.copyto": lambda a: np.copyto(a, np.full(a.shape, ABSURD)),
    "ufunc out": lambda a: np.add(a, a, out=a),
    "initializer": lambda a: mx.init.Constant(ABSURD)("weight", a),
    "sampler": lambda a: nd.random.randint(10**10, ABSURD, out=a),
    "csr scatter": lambda a: nd.contrib.index_copy(a, nd.array([0]), nd.array([ABSURD], dtype="int64")),
    "backward": lambda a: (a.attach_grad(), a.grad.__setitem__(slice(None), ABSURD)),
    "kvstore pull": lambda a: pulled_into(a),
}

#: What leads to memory of an array, and parts of it.
MEMORY = {
    "indices": lambda a: a.indices,
    "indptr": lambda a: a.indptr,
    "data": lambda a: a.data,
    "__array__(copy=False)": raw,
    "asarray(copy=False)": lambda a: np.array(a, copy=False),
    "from_dlpack": np.from_dlpack,
    "nd.from_dlpack": nd.from_dlpack,
    "dlpack of version 1": lambda a: np.from_dlpack(Dlpack(a, max_version=(1, 0))),
    "to_dlpack_for_write": lambda a: nd.from_dlpack(a.to_dlpack_for_write()),
    "to_dlpack_for_read": lambda a: nd.from_dlpack(a.to_dlpack_for_read()),
    "__binsparse__": lambda a: a.__binsparse__(),
    "__reduce__": lambda a: a.__reduce__(),
    "__reduce_ex__(5)": lambda a: a.__reduce_ex__(5),
    "pickle buffers": buffers_of,
    "asscipy": lambda a: a.asscipy(),
    "[1:9]": lambda a: a[1:9],
    "reshape": lambda a: a.reshape((-1,)),
    "detach": lambda a: a.detach(),
    "as_in_context": lambda a: a.as_in_context(mx.cpu()),
    "astype": lambda a: a.astype(a.dtype, copy=False),
}

COPIES = {
    "pickle": lambda a: pickle.loads(pickle.dumps(a)),
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
    "csr": lambda a: a.tostype("csr"),
    "row_sparse": lambda a: a.tostype("row_sparse"),
    "default": lambda a: a.tostype("default"),
    "[:]": lambda a: a[:],
    "[0]": lambda a: a[0],
    "iter": lambda a: list(a)[:2],
    "abs": nd.abs,
    "inspect": lambda a: a.inspect(),
}


class Dlpack:
    """A taker that says which version of the protocol it knows."""

    def __init__(self, array, **keywords):
        self.array, self.keywords = array, keywords

    def __dlpack__(self, **_keywords):
        return self.array.__dlpack__(**self.keywords)

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


def pulled_into(array):
    store = mx.kv.create("local")
    store.init("a", nd.full(array.shape, ABSURD, dtype=array.dtype))
    store.pull("a", out=array)


def answers(array):
    """What is computed with an array, as bytes, or the name of an error of ours."""
    width = array.shape[1]
    weight, state = nd.ones((width, 2)), nd.ones(array.shape)
    ways = [
        lambda: nd.dot(array, weight), lambda: array[1:7].tostype("default"), lambda: array.tostype("default"),
        lambda: array.tostype("row_sparse").tostype("default"), lambda: array.tostype("csr").tostype("default"),
        lambda: nd.dot(array, nd.ones((array.shape[0], 2)), transpose_a=True).tostype("default"),
        lambda: nd.sum(array, axis=0), lambda: nd.array(array.asscipy().toarray()), lambda: stepped(array, state),
        lambda: nd.array([array.check_format() is None]),
    ]
    found = []
    for way in ways:
        try:
            found.append(way().asnumpy().tobytes())
        except mx.SparsekitError as error:
            found.append(type(error).__name__)
    return found


def stepped(array, weight):
    if array.stype == "row_sparse":
        nd.sgd_update(weight, array, lr=0.5, out=weight)
    return weight


def main():
    total = 0
    with mx.config.set(densify="allow"):
        narrow = [case for case in constructed("int32") if case[0].endswith("_array(components)") or "scipy" in case[0]]
        cases = [*constructed("int64"), *narrow, *made_inside()]
        for name, array, kept in cases:
            walk = Walk(array)
            walk.visit(kept, f"{name}: kept")
            walk.visit(array, f"{name}: array")
            walk.compare(name)
            total += walk.writes
    print(f"{total} writes", file=sys.stderr)
    if total < 1000:
        print(f"only {total} writes")
    print("done")


main()
