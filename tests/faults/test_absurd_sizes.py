"""Sizes that no machine has, in symbols, optimizers and files: each is a named error or an answer, in little memory."""

from __future__ import annotations

import programs

PRELUDE = """
import io, itertools, json, pickle, random, struct, sys, traceback, warnings
import numpy as np
import sparsekit as mx

warnings.simplefilter("ignore")
nd, sym = mx.nd, mx.sym
calls = refused = 0

def tried(what, call):
    "Run a call, named before on stderr, so that one that never ends is known; an error without a name is printed."
    global calls, refused
    calls += 1
    print(what, file=sys.stderr, flush=True)
    try:
        call()
    except mx.SparsekitError as error:
        refused += 1
    except BaseException as error:
        frame = traceback.extract_tb(error.__traceback__)[-1]
        print(f"{what}: {type(error).__name__}: {error!s:.100} at {frame.filename}:{frame.lineno}")
"""

SYMBOLS = PRELUDE + """
SHAPES = [(1 << 40, 1 << 40), (1 << 62, 1 << 62), (1 << 70, 2), (10**400, 2), (1 << 31, 1 << 31), (1 << 40, 2), (2, 1 << 40),
          (-(1 << 62), 2), (1 << 33,) * 2, (1,) * 70, (0, 1 << 62)]
x, ids = sym.Variable("x"), sym.Variable("x")
graphs = {
    "elementwise": sym.sqrt(x + 1), "dense": sym.FullyConnected(x, num_hidden=3),
    "wide": sym.FullyConnected(x, num_hidden=1 << 40),
    "dot": sym.dot(x, x, transpose_b=True),
    "tile": sym.tile(x, reps=(1 << 40, 1 << 40)), "repeat": sym.repeat(x, repeats=1 << 62),
    "broadcast": sym.broadcast_to(x, shape=(1 << 40, 1 << 40)), "concat": sym.concat(*[x] * 50, dim=0),
    "embedding": sym.Embedding(ids, input_dim=1 << 40, output_dim=1 << 40), "one_hot": sym.one_hot(x, depth=1 << 62),
    "reshape": sym.reshape(x, shape=(-1, 1 << 40)), "zeros": sym.zeros((1 << 40, 1 << 40)) + sym.ones((1 << 40, 1 << 40)),
    "random": sym.random.uniform(shape=(1 << 40, 1 << 40)), "arange": sym.arange(0, 1 << 62), "eye": sym.eye(1 << 40),
    "linspace": sym.linspace(0, 1, 1 << 62), "pad": sym.pad(x.reshape((1, 1, -1, 1)), mode="constant",
                                                              pad_width=(0,) * 4 + (1 << 40,) * 4),
    "batch norm": sym.BatchNorm(x), "softmax": sym.SoftmaxOutput(x), "sum": sym.sum(x), "transpose": sym.transpose(x),
    "sparse": sym.cast_storage(x, stype="csr"), "slice": sym.slice_axis(x, axis=0, begin=0, end=1),
}
for (name, graph), shape in itertools.product(graphs.items(), SHAPES):
    every = lambda array: dict.fromkeys(graph.list_arguments(), array)
    given = {"x": shape} if "x" in graph.list_arguments() else {}
    tried(f"{name}.infer_shape {shape!s:.40}", lambda: graph.infer_shape(**given))
    tried(f"{name}.infer_shape_partial {shape!s:.40}", lambda: graph.infer_shape_partial(**given))
    tried(f"{name}.simple_bind {shape!s:.40}", lambda: graph.simple_bind(mx.cpu(), **given))
    tried(f"{name} simple_bind csr {shape!s:.40}", lambda: graph.simple_bind(mx.cpu(), stype_dict={"x": "csr"}, **given))
    tried(f"{name} variable {shape!s:.40}", lambda: sym.sqrt(sym.Variable("y", shape=shape)).simple_bind(mx.cpu()))
    tried(f"{name} module {shape!s:.40}", lambda: mx.mod.Module(graph, list(given), None).bind(list(given.items())))
    if not given:
        tried(f"{name}.eval", lambda: graph.eval())
        tried(f"{name}.bind", lambda: graph.bind(mx.cpu(), {}).forward())
    else:
        tried(f"{name}.bind", lambda: graph.bind(mx.cpu(), every(nd.ones((2, 2)))).forward())
        thin = nd.sparse.row_sparse_array(([[1.0]], [3]), shape=(1 << 31, 1))
        tried(f"{name}.bind row_sparse", lambda: graph.bind(mx.cpu(), every(thin)).forward())
print(calls > 1000 and refused > 300, "done")
"""

OPTIMIZERS = PRELUDE + """
wide = nd.sparse.row_sparse_array((np.ones((1, 4), "float32"), [3]), shape=(1 << 40, 4))
tall = nd.sparse.csr_matrix(([1.0], [3], [0, 1]), shape=(1, 1 << 40))
half = nd.sparse.row_sparse_array((np.ones((1, 4), "float16"), [3]), shape=(1 << 40, 4), dtype="float16")
kinds = [kind for kind in vars(mx.optimizer).values() if isinstance(kind, type) and issubclass(kind, mx.optimizer.Optimizer)]
names = sorted({kind.__name__ for kind in kinds} - {"Optimizer"})
for name, weight, options in itertools.product(names, (wide, tall, half), ({}, {"momentum": 0.5}, {"multi_precision": True})):
    try:
        made = getattr(mx.optimizer, name)(**options)
    except mx.SparsekitError:
        continue
    what = f"{name} {weight.stype} {options}"
    tried(f"{what} create_state", lambda: made.create_state(0, weight))
    tried(f"{what} create_state_multi_precision", lambda: made.create_state_multi_precision(0, weight))
    tried(f"{what} updater", lambda: mx.optimizer.get_updater(made)(0, weight, weight.copy()))
store = mx.kv.create("local")
tried("push", lambda: (store.init("a", wide), store.push("a", [wide, wide])))
tried("pull", lambda: store.pull("a", out=nd.ones((2, 2)), ignore_sparse=False))
net = mx.gluon.nn.Dense(1 << 40, in_units=1 << 40)
tried("initialize", net.initialize)
tried("trainer", lambda: mx.gluon.Trainer(net.collect_params(), "adam").step(1))

updater = mx.optimizer.get_updater(mx.optimizer.Adam())
updater(0, nd.ones((3, 2)), nd.ones((3, 2)))
updater(1, nd.ones((3, 2)).tostype("row_sparse"), nd.ones((3, 2)).tostype("row_sparse"))
draw = random.Random(1)
for whole in (updater.get_states(), updater.get_states(dump_optimizer=True)):
    for number in range(120):
        kind, content = number % 4, bytearray(whole)
        place = draw.randrange(len(content))
        if kind == 0:
            del content[place:]
        elif kind == 1:
            content[place] ^= 1 << draw.randrange(8)
        elif kind == 2:
            content[place:place + 8] = draw.choice([b"\\xff" * 8, struct.pack("<q", 1 << 62),
                                                     b"\\x8e" + struct.pack("<Q", 1 << 60)[:7]])
        else:
            content[place:place] = draw.randbytes(20)
        tried(f"set_states {number}", lambda: mx.optimizer.get_updater(mx.optimizer.Adam()).set_states(bytes(content)))
for content in (b"", b"\\x80\\x05\\x8e" + struct.pack("<Q", 1 << 60), b"\\x80\\x04\\x95" + struct.pack("<Q", 1 << 62) + b"}.",
                pickle.dumps({0: 3}), pickle.dumps([1]), pickle.dumps({0: np.zeros(3)}),
                b"r\\xff\\xff\\xff\\xff.", b"I" + b"9" * 10**6 + b"\\n."):
    tried(f"set_states {content[:20]}", lambda: mx.optimizer.get_updater(mx.optimizer.Adam()).set_states(content))
print(calls > 500 and refused > 200, "done")
"""

FILES = PRELUDE + """
def npz(header):
    import zipfile
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w") as archive:
        text = header.encode() + b" " * (118 - len(header)) + b"\\n"
        archive.writestr("a.npy", b"\\x93NUMPY\\x01\\x00" + struct.pack("<H", len(text)) + text + b"1234")
    return held.getvalue()

for shape in (1 << 62, 1 << 40, 10**30, -1):
    header = f"{{'descr': '<f4', 'fortran_order': False, 'shape': ({shape}, 4), }}"
    with open("claims.npz", "wb") as file:
        file.write(npz(header))
    with open("claims.npy", "wb") as file:
        text = header.encode() + b" " * (118 - len(header)) + b"\\n"
        file.write(b"\\x93NUMPY\\x01\\x00" + struct.pack("<H", len(text)) + text + b"1234")
    for name in ("claims.npz", "claims.npy"):
        tried(f"{name} {shape}", lambda: nd.load(name))
        tried(f"load_frombuffer {name} {shape}", lambda: nd.load_frombuffer(open(name, "rb").read()))

x = sym.FullyConnected(sym.Variable("x", shape=(2, 3)), num_hidden=4, name="fc")
document = json.loads(x.tojson())

def places(value, path=()):
    if isinstance(value, (dict, list)):
        for key, inner in (value.items() if isinstance(value, dict) else enumerate(value)):
            yield from places(inner, (*path, key))
    else:
        yield path

for path in list(places(document)):
    for number in (1 << 62, -1, 10**400, "9" * 5000, str(1 << 62), f"({1 << 62}, {1 << 62})", 1e308, [0] * 1000, None):
        changed = json.loads(x.tojson())
        inner = changed
        for key in path[:-1]:
            inner = inner[key]
        inner[path[-1]] = number
        text = json.dumps(changed)
        def use():
            made = sym.load_json(text)
            made.infer_shape(x=(2, 3))
            made.simple_bind(mx.cpu(), x=(2, 3))
        tried(f"json {path} {number!s:.30}", use)
for text in ("[" * 10**6, '{"nodes":' * 10**5, '{"nodes": ' + "[" * 10**6, "9" * 10**6,
             '"' + "x" * 10**7, '{"a": ' + "9" * 10**5 + "}"):
    tried(f"json {text[:20]}", lambda: sym.load_json(text))
    with open("deep.json", "w") as file:
        file.write(text)
    tried(f"load {text[:20]}", lambda: sym.load("deep.json"))
    tried(f"trace {text[:20]}", lambda: mx.profiler.load("deep.json"))
print(calls > 300 and refused > 100, "done")
"""


def test_symbols_of_absurd_shapes():
    assert programs.run(SYMBOLS, memory=1500 * programs.MIB, timeout=400).check().splitlines() == ["True done"]


def test_optimizers_of_absurd_weights_and_damaged_states():
    assert programs.run(OPTIMIZERS, memory=1500 * programs.MIB, timeout=400).check().splitlines() == ["True done"]


def test_files_that_claim_absurd_sizes():
    assert programs.run(FILES, memory=1500 * programs.MIB, timeout=400).check().splitlines() == ["True done"]
