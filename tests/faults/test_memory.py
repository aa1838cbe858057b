"""Memory that the system does not give: a named error, whatever asked for it."""

from __future__ import annotations

import programs
import pytest

import sparsekit as mx

LONG_LINE = """
    import gzip, sys
    import sparsekit as mx

    with gzip.open("bomb.gz", "wb", 1) as file:
        for _ in range(300):
            file.write(b"0,1," * (1 << 18) if sys.argv[1] == "csv" else b" 1:1    " * (1 << 17))
    try:
        if sys.argv[1] == "csv":
            mx.io.CSVIter("bomb.gz", data_shape=(2,), batch_size=1)
        else:
            list(mx.io.LibSVMIter("bomb.gz", data_shape=(2,), batch_size=1))
    except mx.DataFileError as error:
        print(error.message)
"""


@pytest.mark.parametrize("kind", ["csv", "libsvm"])
def test_a_line_of_300_mib_in_a_small_file_is_refused_before_it_is_read(kind):
    done = programs.run(LONG_LINE, kind, timeout=400)
    assert done.check() == "bomb.gz, line 1 is longer than config.line_limit of 67,108,864 bytes.\n"
    assert done.peak < 700 * programs.MIB


@pytest.mark.parametrize("make", [
    lambda: list(mx.io.CSVIter(["1,2", "3,4", "5," + "6" * 100], (2,), 1)),
    lambda: list(mx.io.LibSVMIter(["1 0:1", "1 0:1", "1 0:1" + " " * 100], (2,), 1))])
def test_the_limit_of_a_line_is_configurable_and_names_the_line(make):
    with mx.config.set(line_limit=100), pytest.raises(mx.DataFileError, match=r"<lines>, line 3 is longer than config\."):
        make()
    with pytest.raises(mx.SparsekitError, match="line_limit must be a number of bytes"), mx.config.set(line_limit=-1):
        pass


def test_a_batch_of_absurd_size_is_refused_and_a_large_one_repeats_the_rows():
    for size in (10**10, 10**8):
        with pytest.raises(mx.ShapeError, match=r"above config\.batch_limit of 4,294,967,296"):
            next(mx.io.LibSVMIter(["1 0:1 1:2"], (2,), size))
    with pytest.raises(mx.ShapeError, match="batch_limit"):
        mx.io.CSVIter(["1,2"], (2,), 10**10)
    batch = next(mx.io.LibSVMIter(["1 0:1", "2 1:2"], (2,), 7))
    assert batch.data[0].asnumpy().tolist() == [[1, 0], [0, 2]] * 3 + [[1, 0]]
    assert (batch.label[0].asnumpy().tolist(), batch.pad, batch.index.tolist()) == ([1, 2] * 3 + [1], 5, [0, 1] * 3 + [0])


LIMITED = """
    import numpy as np
    import scipy.sparse
    import sparsekit as mx

    nd, rows, HALF = mx.nd, 5 * 10**8, 1 << 19  # of a MiB: the limit is 1,500 of them
    x, list_of = nd.ones((100 * HALF // 4,)), [0.0] * (20 * HALF)
    one = nd.sparse.row_sparse_array(([[1.0]], [3]), shape=(rows, 1))
    thin = scipy.sparse.coo_matrix(([1.0], ([0], [0])), shape=(rows, 1))
    calls = {
        "a sum": lambda: nd.zeros((700 * HALF // 4,)) + 1, "concat": lambda: nd.concat(*[x] * 11, dim=0),
        "random": lambda: nd.random.uniform(shape=(700 * HALF // 4,)), "of a list": lambda: nd.array(list_of * 3),
        "Dense": lambda: mx.gluon.nn.Dense(180 * HALF, in_units=1).initialize(),
        "Embedding": lambda: mx.gluon.nn.Embedding(180 * HALF, 1).initialize(),
        "a gradient": lambda: one.attach_grad(stype="default"), "numpy": lambda: nd.zeros((600 * HALF // 4,)).asnumpy(),
        "astype": lambda: nd.zeros((600 * HALF // 4,)).astype("float64"),
        "zeros": lambda: nd.sparse.zeros("csr", (rows, 3)), "empty": lambda: nd.sparse.empty("csr", (rows, 3)),
        "nd.zeros": lambda: nd.zeros((rows, 3), stype="csr"), "nd.empty": lambda: nd.empty((rows, 3), stype="csr"),
        "of a shape": lambda: nd.sparse.csr_matrix((rows, 3)),
        "of places": lambda: nd.sparse.csr_matrix(([1.0], ([0], [0])), shape=(rows, 1)),
        "of components": lambda: nd.sparse.csr_matrix(([], [], np.broadcast_to(np.int64(0), (rows + 1,))), shape=(rows, 1)),
        "of scipy": lambda: nd.sparse.csr_matrix(thin), "array": lambda: nd.sparse.array(thin),
        "rows of scipy": lambda: nd.sparse.row_sparse_array(thin), "csr of rows": lambda: nd.sparse.csr_matrix(one),
        "tostype": lambda: one.tostype("csr"), "cast_storage": lambda: nd.cast_storage(one, "csr"),
        "sparse.cast_storage": lambda: nd.sparse.cast_storage(one, "csr"), "asscipy": lambda: one.asscipy(),
        "asnumpy": lambda: one.asnumpy(), "slice": lambda: one[np.broadcast_to(np.int64(3), (rows,))],
        "retain": lambda: nd.sparse.retain(one, np.broadcast_to(np.int64(3), (rows,))),
        "simple_bind": lambda: mx.sym.Variable("x", stype="csr").simple_bind(mx.cpu(), x=(rows, 2)),
        "initialize": lambda: mx.gluon.Parameter("w", shape=(rows, 2), stype="csr").initialize(),
        "rand_ndarray": lambda: mx.test_utils.rand_ndarray((rows, 2), "csr"),
        "ArrayDataset": lambda: mx.gluon.data.ArrayDataset(thin),
    }
    for name, call in calls.items():
        try:
            call()
            print(name, "was made")
        except mx.InsufficientMemoryError as error:
            assert "Hint:" in str(error), error
        except BaseException as error:
            print(name, type(error).__name__, error)
    print("done")
"""


def test_what_the_system_gives_no_memory_for_is_a_named_error_whatever_makes_it():
    assert programs.run(LIMITED, memory=750 * programs.MIB).check().splitlines() == ["done"]


FRAME = """
    import numpy as np
    import pandas as pd
    import scipy.sparse
    import sparsekit as mx

    def peak():
        with open("/proc/self/status") as status:
            return next(int(line.split()[1]) >> 10 for line in status if line.startswith("VmHWM"))

    matrix = scipy.sparse.random(200_000, 200, 0.001, format="csc", random_state=np.random.default_rng(1))
    frame = pd.DataFrame.sparse.from_spmatrix(matrix)
    before = peak()
    x = mx.nd.sparse.csr_matrix(frame)
    print(x.nnz == matrix.nnz, peak() - before)
"""


def test_a_sparse_data_frame_of_160_mb_dense_takes_a_few():
    same, grown = programs.run(FRAME, timeout=400).check().split()
    assert same == "True"
    assert int(grown) < 40


TRACES = """
    import gzip, json, struct
    import sparsekit as mx

    document = {"traceEvents": [{"name": f"event {number}", "ph": "X", "ts": number, "dur": 1, "pid": 1, "tid": 1}
                                for number in range(60)]}
    text = json.dumps(document).encode()
    packed = gzip.compress(text)
    bomb = gzip.compress(b" " * (16 << 20)) * 25
    files = {"plain.json": text, "packed.json.gz": packed, "cut.json.gz": packed[:-9], "flag.json.gz": packed[:4],
             "sized.json.gz": packed[:-4] + struct.pack("<I", 1 << 31), "bomb.json.gz": bomb, "spaces.json": b" " * (5 << 20)}
    for name, content in files.items():
        with open(name, "wb") as file:
            file.write(content)
    ended = "Compressed file ended before the end-of-stream marker was reached"
    for name, most in [*dict.fromkeys(files, None).items(), ("bomb.json.gz", 350 << 20), ("spaces.json", 4 << 20)]:
        try:
            found = mx.profiler.load(name, **({} if most is None else {"max_bytes": most}))
            print(name, len(found.records))
        except mx.base.errors.SparsekitError as error:
            print(name, type(error).__name__, error.message.replace(ended, "it ended"))
"""


def test_a_trace_takes_memory_for_what_it_holds():
    """Under 300 MB, of which importing the library takes half."""
    said = programs.run(TRACES, memory=300 * programs.MIB, timeout=120).check().splitlines()
    assert said == ["plain.json 60", "packed.json.gz 60",
                    "cut.json.gz DataFileError 'cut.json.gz' is truncated or damaged: it ended.",
                    "flag.json.gz DataFileError 'flag.json.gz' is truncated or damaged: it ended.",
                    "sized.json.gz DataFileError 'sized.json.gz' is truncated or damaged: Incorrect length of data produced.",
                    "bomb.json.gz InsufficientMemoryError load failed with these arguments: MemoryError",
                    "spaces.json DataFileError 'spaces.json' is not valid JSON: Expecting value (line 1).",
                    "bomb.json.gz DataFileError 'bomb.json.gz' is larger than 367,001,600 bytes when unpacked.",
                    "spaces.json DataFileError 'spaces.json' is larger than 4,194,304 bytes when unpacked."]


SMALL_FILES = """
    import resource, struct
    import sparsekit as mx

    dense = mx.nd.ones((3, 3))
    mx.nd.save("arrays", {"dense": dense, "csr": dense.tostype("csr"), "row_sparse": dense.tostype("row_sparse")})
    open("rows.libsvm", "w").write("1 1:2 3:4\\n0 2:1\\n")
    open("rows.csv", "w").write("1,2\\n3,4\\n")
    net = mx.gluon.nn.Dense(2, in_units=2)
    net.initialize()
    trainer = mx.gluon.Trainer(net.collect_params(), "adam")
    with mx.autograd.record():
        loss = net(mx.nd.ones((1, 2))).sum()
    loss.backward()
    trainer.step(1)
    trainer.save_states("adam.states")
    symbol = mx.sym.SliceChannel(mx.sym.var("data"), num_outputs=2).tojson()

    reads = {
        "arrays": lambda: mx.nd.load("arrays"),
        "libsvm": lambda: list(mx.io.LibSVMIter("rows.libsvm", data_shape=(1 << 40,), batch_size=1)),
        "csv": lambda: list(mx.io.CSVIter("rows.csv", data_shape=(2,), batch_size=1)),
        "states": lambda: trainer.load_states("adam.states"),
        "symbol": lambda: mx.sym.load_json(symbol.replace('"num_outputs": "2"', '"num_outputs": "1000000000000"')),
    }
    for read in reads.values():  # loads the kernels
        read()
    with open("/proc/self/status") as status:
        size = next(int(line.split()[1]) << 10 for line in status if line.startswith("VmSize"))
    resource.setrlimit(resource.RLIMIT_AS, (size + (64 << 20),) * 2)
    for name, read in reads.items():
        read()

    whole = {name: open(name, "rb").read() for name in ("arrays", "adam.states")}
    for name, content in whole.items():
        for place in range(0, len(content) - 7, 8):
            for number in (1 << 31, (1 << 33) + 3, 1 << 40, 1 << 62):
                with open(name, "wb") as file:
                    file.write(content[:place] + struct.pack("<Q", number) + content[place + 8:])
                try:
                    reads["arrays" if name == "arrays" else "states"]()
                except mx.InsufficientMemoryError as error:
                    print(name, place, number, error)
                except mx.base.errors.SparsekitError:
                    pass
    print("done")
"""


def test_a_small_file_takes_little_memory_whatever_sizes_it_declares():
    """Under what the library has when it has read each once, and 64 MB."""
    assert programs.run(SMALL_FILES, timeout=200).check() == "done\n"


PROFILES = """
    import io, os, zipfile
    import numpy as np
    import sparsekit as mx

    with mx.Profiler() as prof:
        mx.nd.ones((3, 4)) + 1
    prof.save("small.npz")
    print("small.npz", os.path.getsize("small.npz") < 40_000, len(mx.profiler.load("small.npz").records))

    def changed(name, columns):
        with zipfile.ZipFile("small.npz") as old, zipfile.ZipFile(name, "w", zipfile.ZIP_DEFLATED) as new:
            new.comment = old.comment
            for info in old.infolist():
                held = np.load(io.BytesIO(old.read(info)))
                table = info.filename.split(".")[0]
                stream = io.BytesIO()
                np.lib.format.write_array(stream, columns(table, info.filename, held))
                new.writestr(info.filename, stream.getvalue())

    def many(rows):
        return lambda table, name, held: np.zeros(0 if "values" in name else rows, held.dtype) if table == "events" else held

    changed("long.npz", many(400_000))
    print("long.npz", os.path.getsize("long.npz") < 100_000)
"""

OPENED = """
    import sparsekit as mx

    print(len(mx.profiler.load("small.npz").records), len(mx.profiler.load("long.npz").tables.events))
"""


def test_a_profile_takes_memory_for_what_it_holds(tmp_path):
    """Opened under 300 MB, half of it for importing; a small file may hold zeros for a thousand times its size."""
    assert programs.run(PROFILES, timeout=120, cwd=tmp_path).check().splitlines() == ["small.npz True 2", "long.npz True"]
    assert programs.run(OPENED, memory=300 * programs.MIB, timeout=120, cwd=tmp_path).check() == "2 400000\n"
