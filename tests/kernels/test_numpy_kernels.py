"""Every kernel in numpy against its twin in numba, and the library where numba cannot be imported."""

import importlib
import json
import random
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from sparsekit.base import environment
from sparsekit.base.written import written
from sparsekit.io.libsvm_reader import LibSVMReader, _functions, _Scratch
from sparsekit.kernels import FILES, host_file, kernels_of
from sparsekit.kernels.cpu import libsvm_read as compiled_reader
from sparsekit.kernels.numpy import libsvm_read as numpy_reader
from tests.sampling import some

sys.path.insert(0, str(Path(__file__).parent))  # for the module beside this one, which is not a test

from kernel_arguments import Inputs, arguments


class Folder:
    """The kernels of one folder, by name."""

    def __init__(self, name):
        self._name = name

    def __getattr__(self, kernel):
        file = next(file for file in FILES if kernel in kernels_of(file))
        return getattr(importlib.import_module(f"sparsekit.kernels.{self._name}.{file}"), kernel)


CPU, IN_NUMPY = Folder("cpu"), Folder("numpy")
NAMES = sorted({name for file in FILES for name in kernels_of(file)})

#: By how many units in the last place of an array's largest element a kernel may differ from its twin, as numba fuses or
#: reorders sums or computes exponentials by polynomials.  Kernels that are not named give the same bits.
TOLERANCES = {
    "csr_dot_dense": 4, "csr_transposed_dot_rows": 4, "elman_forward": 2, "gelu": 1, "gelu_backward": 1, "gru_backward": 1,
    "gru_forward": 3, "layer_norm_backward_rows": 3, "layer_norm_rows": 3, "log_softmax_backward_rows": 4,
    "log_softmax_rows": 2, "lstm_backward": 2, "lstm_forward": 2, "sigmoid": 2, "softmax_backward_rows": 3, "softmax_rows": 1,
}

#: Kernels of float32 alone, whose polynomials are as exact as that.
SINGLE = {name for file in ("activation", "normalize") for name in FILES[file]} | {
    name for name in FILES["recurrent"] if name.endswith("forward")}

#: Kernels that take whole numbers too.
WHOLE = [name for file in ("csr", "convert", "csr_product", "csr_select", "dense", "embedding", "group", "row_sparse")
         for name in FILES[file] if name not in ("dense_occupied_rows", "csr_drop_absent")]


class Whole(Inputs):
    """Inputs whose values are whole numbers."""

    def dense(self, *shape):
        return self.rng.integers(0 if self.value.kind == "u" else -4, 5, shape).astype(self.value)


class Empty(Inputs):
    """Inputs whose csr matrices store nothing."""

    density = 0


class Large(Inputs):
    """Inputs that numba's kernels share among threads, and numpy's take in blocks."""

    rows, columns, width, density = 600, 501, 40, 0.1


def taken(kernels, given, arrange=np.copy):
    return [getattr(kernels, one) if isinstance(one, str) else [arrange(part) for part in one] if isinstance(one, list) else
            arrange(one) if isinstance(one, np.ndarray) else one for one in given]


def arrays(values):
    for value in values if isinstance(values, (list, tuple)) else [values]:
        if isinstance(value, (list, tuple)):
            yield from arrays(value)
        elif isinstance(value, np.ndarray):
            yield value
        elif isinstance(value, (int, np.integer)) and not isinstance(value, bool):
            yield np.full(1, value, np.int64)


def run_both(name, given, arrange=np.copy):
    """Pairs of what both twins return and write, from copies of the arguments; numpy's twin has them arranged."""
    first, second = taken(CPU, given), taken(IN_NUMPY, given, arrange)
    wanted = getattr(CPU, name)(*first)
    with np.errstate(all="ignore"):  # as operators are called
        found = getattr(IN_NUMPY, name)(*second)
    buffers = isinstance(wanted, (int, np.integer)) and name.startswith(("csr_", "row_sparse"))
    room = max((one.shape[0] for one in arrays(given)), default=0) if buffers else -1
    for left, right in zip([*arrays(first), *arrays(wanted)], [*arrays(second), *arrays(found)], strict=True):
        assert (left.dtype, left.shape) == (right.dtype, right.shape), name
        yield (left[:wanted], right[:wanted]) if left.shape[0] == room else (left, right)  # the rest of a buffer means nothing


def compare(name, given, arrange=np.copy):
    """Hold numpy's twin to the bits of numba's, or to the tolerance."""
    units = TOLERANCES.get(name, 0)
    for left, right in run_both(name, given, arrange):
        if units and left.dtype.kind == "f" and left.size:
            bound = units * np.finfo(left.dtype).eps * max(np.abs(left.astype(float)).max(), 1)
            np.testing.assert_allclose(right.astype(float), left.astype(float), rtol=0, atol=bound, err_msg=name)
        else:
            assert left.tobytes() == right.tobytes(), (name, left, right)


def test_every_kernel_has_a_twin_in_numpy():
    """What a new kernel needs: a function of its name here too, for which a step of an optimizer is one line."""
    lacking = [f"kernels/numpy/{file}.py: {name}" for file in FILES for name in kernels_of(file)
               if not hasattr(importlib.import_module(f"sparsekit.kernels.numpy.{file}"), name)]
    assert not lacking, f"no twin in numpy (an optimizer's step is NAME = over_rows(steps.NAME)): {', '.join(lacking)}"
    assert set(TOLERANCES) <= set(NAMES)
    assert sum(name.endswith("_step") for name in NAMES) > 15


@pytest.mark.compiled
@pytest.mark.parametrize("kind", [Inputs, Large])
@pytest.mark.parametrize("name", NAMES)
def test_a_kernel_gives_what_its_twin_in_numba_gives(name, kind):
    compare(name, arguments(name, kind(np.float32, np.int64)))


@pytest.mark.compiled
@pytest.mark.parametrize("name", some(NAMES, one_in=3, always=["csr_transposed_dot_rows"]))
def test_it_does_in_other_types(name):
    for value, index in ((np.float64, np.int32), (np.float16, np.int64)):
        if value is np.float16 or name not in SINGLE:
            compare(name, arguments(name, Inputs(value, index)))


@pytest.mark.compiled
@pytest.mark.parametrize(("name", "value"), [
    *((name, np.int64) for name in WHOLE), *some([(name, np.uint8) for name in WHOLE], one_in=4)])
def test_whole_numbers_are_the_same(name, value):
    compare(name, arguments(name, Whole(value, np.int64)))


@pytest.mark.compiled
def test_matrices_that_store_nothing():
    for name in NAMES:
        if name.startswith(("csr_", "dense_dot")) or name in FILES["group"]:
            compare(name, arguments(name, Empty(np.float32, np.int64)))


def spread(array):
    """The same values, with memory between them."""
    wide = np.zeros([2 * length for length in array.shape], array.dtype)
    wide[tuple(slice(None, None, 2) for _ in array.shape)] = array
    return wide[tuple(slice(None, None, 2) for _ in array.shape)]


def turned(array):
    """The same values from the last to the first, columns first."""
    return np.asfortranarray(array[::-1])[::-1]


@pytest.mark.compiled
@pytest.mark.parametrize("arrange", [spread, turned])
def test_odd_layouts(arrange):
    for name in NAMES:
        compare(name, arguments(name, Inputs(np.float32, np.int64)), arrange)


class OneRow(Inputs):
    """Inputs of which steps choose one row, as they do with dense weights."""

    rows = 2


@pytest.mark.compiled
@pytest.mark.parametrize("clip", [np.inf, 0.1])
def test_steps_of_one_row(clip):
    for name in NAMES:
        if name.endswith("_step"):
            given = arguments(name, OneRow(np.float32, np.int64))
            given[4][1] = clip
            compare(name, given)


class NumpyOf32Bits:
    """numpy as it is where a place has 32 bits, as far as kernels use it: what it counts is int32 unless a type is given."""

    counting = ("arange", "argsort", "bincount", "cumsum", "flatnonzero", "full", "lexsort", "nonzero", "searchsorted")

    def __getattr__(self, name):
        function = getattr(np, name)
        if name not in self.counting:
            return function

        def narrow(*arguments, **more):
            found = function(*arguments, **more)
            if more or len(arguments) > (2 if name in ("full", "searchsorted") else 1):
                return found
            return tuple(map(self.narrow, found)) if isinstance(found, tuple) else self.narrow(found)

        return narrow

    @staticmethod
    def narrow(found):
        return found.astype(np.int32) if found.dtype == np.int64 else found


@pytest.mark.compiled
def test_where_a_place_has_32_bits(monkeypatch):
    for file in (*FILES, "arrays"):
        monkeypatch.setattr(f"sparsekit.kernels.numpy.{file}.np", NumpyOf32Bits())
    for name in NAMES:
        compare(name, arguments(name, Inputs(np.float32, np.int64)))
    far = 1 << 33
    for name in ("csr_add_csr", "csr_multiply_csr", "csr_where", "csr_union"):
        given = arguments(name, Inputs(np.float32, np.int64))
        compare(name, [one * far if isinstance(one, np.ndarray) and place in (1, 4, 7) and one.any() else one
                       for place, one in enumerate(given)])


@pytest.mark.compiled
def test_zeros_infinities_and_nan_keep_their_meaning():
    for name in NAMES:
        if not name.startswith(("csr_", "row_sparse", "add_rows", "copy_rows", "sum_rows", "dense_")) or name in TOLERANCES:
            continue
        at = Inputs(np.float32, np.int64)
        dense = at.dense
        at.dense = lambda *shape, dense=dense, at=at: np.where(
            at.rng.random(shape) < 0.5, at.rng.choice(np.array([0, -0.0, np.inf, np.nan], np.float32), shape), dense(*shape))
        for left, right in run_both(name, [abs(one) if name == "csr_sum_rows" else one for one in arguments(name, at)]):
            np.testing.assert_array_equal(left, right, err_msg=name)


@pytest.mark.compiled
def test_narrow_indices_are_moved_beyond_their_type():
    far = 1 << 40
    for name, number in (("csr_copy_rows", 4), ("csr_put_rows", 3), ("csr_column_steps", 4)):
        given, written = arguments(name, Inputs(np.float32, np.int32)), -2 if name == "csr_column_steps" else -1
        given[number], given[written] = -far if name == "csr_column_steps" else far, given[written].astype(np.int64)
        compare(name, given)


@pytest.mark.compiled
def test_places_beyond_63_bits_are_told_apart():
    far, pointers = 1 << 61, np.array([0, 2, 2, 3, 5, 5, 5, 5, 6])
    left = np.ones(6, np.float32), np.array([3, far, far, 0, far + 1, 7]), pointers
    right = np.full(6, 2, np.float32), np.array([3, 4, far, 1, far + 1, far]), pointers
    for name in ("csr_add_csr", "csr_multiply_csr"):
        compare(name, [*left, *right, *([np.float32(1)] if name == "csr_add_csr" else []), np.zeros(12, np.float32),
                       np.zeros(12, np.int64), np.zeros(9, np.int64)])
    compare("csr_where", [*left, *right, *left, np.zeros(12, np.float32), np.zeros(12, np.int64), np.zeros(9, np.int64)])
    compare("csr_values_at", [*left, np.array([0, 0, 7, 3]), np.array([far, 4, 7, far + 1]), np.zeros(4, np.float32)])
    compare("group_columns", [left[1]])


@pytest.mark.compiled
def test_long_arrays_take_several_blocks():
    at = Inputs(np.float32, np.int64)
    given = [at.dense(1, 50_000), at.dense(1, 50_000), np.zeros(1, np.int64), 1, at.numbers(), at.dense(1, 50_000)]
    compare("momentum_step", given)
    rows = np.sort(at.rng.permutation(9000)[:5000])
    states = [abs(at.dense(9000, 7)) for _ in range(2)]
    compare("adam_step", [at.dense(9000, 7), at.dense(5000, 7), rows, 1, at.numbers(), *states])


@pytest.mark.parametrize("update", ["update_rows", "update_dense"])
def test_an_interrupt_at_any_line_of_an_update_leaves_all_arrays_moved_or_none(update):
    """And the mark that says whether they are is right."""

    def trace(frame, event, _):
        nonlocal left
        if "sparsekit" not in frame.f_code.co_filename:
            return None
        left -= event == "line"
        if not left and event == "line":
            sys.settrace(None)
            raise KeyboardInterrupt
        return trace

    outcomes, line, interrupted = set(), 0, True
    rows = np.arange(6) if update == "update_rows" else None
    gradient = np.full((1, 24) if rows is None else (6, 4), 2, np.float32)
    numbers = np.float32([1, np.inf, 0.1, 0, 1e-8, 0.9, 0.1, 0.9, 0.1])
    while interrupted:
        arrays = [np.ones(gradient.shape, np.float32) for _ in range(3)]
        line = left = line + 1
        written.forget()
        interrupted = False
        sys.settrace(trace)
        try:
            getattr(IN_NUMPY, update)(IN_NUMPY.adam_step, arrays[0], gradient, *[rows] * (rows is not None), numbers, arrays[1:])
        except KeyboardInterrupt:
            interrupted = True
        finally:
            sys.settrace(None)
        moved = {bool((array != 1).any()) for array in arrays}
        assert moved == {bool(written)}, line
        outcomes |= moved
    assert line > 20
    assert outcomes == {False, True}


NUMBERS = ("nan", "-inf", "INF", "infinity", "+nan", "1e400", "1e-400", "-0", "-.5", "5.", "+3", ".", "1e", "1e+", "--1", "1.2.3",
           "0x3", "1_0", "16777217", "33554435", "123456789012345678901", "9007199254740993", "-", "", "1,", "1:2",
           "8.5000000000000001", "1.00000005960464477539062500", "0.1", "1e-05", "3.4028235677973366e38", "1e-45")
FEATURES = ("qid:3", "qid:", "qid:x", "3:", "x:1", ":1", "-3:1", "007:1", "1234567890123456789:1", "12345678901234567:1", "5 :1",
            "q", "qid", "a", "5", "2:2 2:3", "9:1 4:2")


def text_of(generator, several):
    """Some lines of LibSVM text, most of them sound."""
    lines = []
    for _ in range(generator.randint(1, 6)):
        label = generator.choice(["1", "-1", "0.5", generator.choice(NUMBERS)])
        if several:
            label = generator.choice([label, "", "1,2,3", "1,,2", label + "," + label])
        features = [f"{index}:{generator.choice(['1', '-2.25', str(generator.random()), generator.choice(NUMBERS[-4:])])}"
                    for index in sorted(generator.sample(range(60), generator.randint(0, 5)))]
        if generator.random() < 0.1:
            features.append(generator.choice([*FEATURES, f"61:{generator.choice(NUMBERS)}"]))
        if generator.random() < 0.2:
            features.insert(0, "qid:7")
        end = generator.choice(["", "", "", " ", "\r", " # 1:x", "#"])
        lines.append(generator.choice(["", " ", "# no row"]) if generator.random() < 0.05 else
                     label + generator.choice([" ", "  ", "\t"]) + " ".join(features) + end)
    return "\n".join(lines).encode() + b"\n"


def read(module, text, several, need_query, mantissa_bits, base, width):
    """What a reader returns, and what it has written to the buffers."""
    room, to = np.frombuffer(text + b"?" * compiled_reader.SLACK, np.uint8).copy(), _Scratch(len(text) + 40)
    found = module.parse_rows(room, 0, len(text), base, width, several, need_query, compiled_reader.reading_powers(),
                              mantissa_bits, to.labels, to.label_indptr, to.indptr, to.indices, to.bits, to.queries, to.hard)
    rows, stored, labels, hard = found[:4]
    for which, place, *_ in to.hard[:hard]:
        (to.bits if which else to.labels)[place] = 0  # left to the caller
    return found, [to.labels[:labels], to.label_indptr[:rows + 1], to.indptr[:rows + 1], to.indices[:stored], to.bits[:stored],
                   to.queries[:rows]]


@pytest.mark.compiled
@pytest.mark.parametrize("mantissa_bits", [23, 52])
def test_text_is_read_and_refused_as_by_the_compiled_reader(mantissa_bits):
    generator, refused = random.Random(5), 0
    for _ in range(400):
        several = generator.random() < 0.4
        given = text_of(generator, several), several, generator.random() < 0.1, mantissa_bits, generator.choice([0, 0, 1]), \
            generator.choice([1 << 62, 50])
        (wanted, written), (found, same) = read(compiled_reader, *given), read(numpy_reader, *given)
        code = wanted[7]
        refused += code != compiled_reader.FINISHED
        if code != compiled_reader.FINISHED:
            assert (wanted[0], *wanted[7:]) == (found[0], *found[7:]), given
        elif mantissa_bits == 23 or not wanted[3]:  # numpy's reader leaves no float64 to its caller
            assert wanted[:8] == found[:8], given
            assert [one.tobytes() for one in written] == [one.tobytes() for one in same], given
    assert 50 < refused < 350


def test_numbers_of_many_digits_are_the_nearest_floats(tmp_path, monkeypatch):
    values = ["0.1000000000000000055511151231257827021181583404541015625", "16777217.0000000000000000000001",
              "123456789012345678901234",
              "3.4028235677973366163753939545814e38", "1.00000005960464477539062500000000001", "-7e-46"]
    file = tmp_path / "hard.libsvm"
    file.write_text("".join(f"{value} 0:{value}\n" for value in values))
    for dtype in ("float32", "float64"):
        monkeypatch.setattr("sparsekit.io.libsvm_reader._functions", lambda: numpy_reader)
        rows = LibSVMReader(str(file), dtype=dtype).read()
        monkeypatch.undo()
        wanted = LibSVMReader(str(file), dtype=dtype).read()
        assert rows.data.tobytes() == wanted.data.tobytes() == rows.labels.tobytes()


WITHOUT = '''
import sys, warnings, contextlib, io, os
warnings.simplefilter("error")
asked = os.environ.get("SPARSEKIT_KERNELS")
if asked is None:
    sys.modules["numba"] = sys.modules["llvmlite"] = None
import numpy as np
import sparsekit as mx
from sparsekit import doctor, kernels
from sparsekit.kernels import why_numpy

generator = np.random.default_rng(0)
values = np.where(generator.random((20, 30)) < 0.2, generator.random((20, 30)), 0).astype("float32")
with open(sys.argv[1], "w") as file:
    for row in values:
        file.write("1 " + " ".join(f"{place}:{row[place]}" for place in np.flatnonzero(row)) + " # a comment\\n")
reader = mx.io.LibSVMIter(data_libsvm=sys.argv[1], data_shape=(30,), batch_size=5)
net = mx.gluon.nn.HybridSequential()
net.add(mx.gluon.nn.Dense(4, activation="relu"), mx.gluon.nn.Dense(1))
net.initialize()
net.hybridize()
trainer = mx.gluon.Trainer(net.collect_params(), "adam")
step = mx.gluon.TrainStep(net, mx.gluon.loss.L2Loss(), trainer)
with mx.Profiler() as profile:
    for _ in range(4):
        reader.reset()
        for batch in reader:
            step(batch.data[0], batch.label[0])
assert {record["name"] for record in profile.records if record["lane"] == "compile"} <= {"import scipy.sparse._sparsetools"}
why = mx.gluon.hybrid.explain(net)
assert why_numpy() in str(why) and why_numpy() in str(step.explain()), (str(why), step.explain())
assert kernels.warm() == 0
try:
    mx.io.LibSVMIter(data_libsvm=sys.argv[1], data_shape=(3,), batch_size=5).next()
except mx.base.errors.LibSVMError as error:
    assert "outside the 3 declared features" in str(error)
with contextlib.redirect_stdout(io.StringIO()) as said:
    doctor.gpu_finding = doctor.chromium_finding = doctor.kernelspec_finding = lambda: doctor.Finding("-", "")
    assert doctor.main([]) == 0
assert "in numpy, since " + why_numpy() in said.getvalue() or asked is None, said.getvalue()
# The doctor asks a process of its own, which finds the numba that is hidden here.
assert "numba threading layer" not in said.getvalue() or asked is None, said.getvalue()
assert "1 for kernels in numpy" in said.getvalue() or asked is None, said.getvalue()
assert sys.modules.get("numba") is None and sys.modules.get("llvmlite") is None
print("trained,", why_numpy())
'''


@pytest.mark.parametrize(("kernels", "why"), [(None, "numba is not installed"), ("numpy", "SPARSEKIT_KERNELS is numpy")])
def test_the_library_trains_profiles_and_explains_without_numba(tmp_path, kernels, why, monkeypatch):
    monkeypatch.delenv("SPARSEKIT_KERNELS", raising=False)
    if kernels:
        monkeypatch.setenv("SPARSEKIT_KERNELS", kernels)
    done = subprocess.run([sys.executable, "-c", WITHOUT, str(tmp_path / "data.libsvm")],
                          capture_output=True, text=True, timeout=400)
    assert (done.stdout, done.stderr) == (f"trained, {why}\n", "")


@pytest.mark.parametrize(("given", "asked"), [(" NumPy ", "numpy"), ("NUMBA", "numba"), ("", "")])
def test_the_choice_of_kernels(monkeypatch, given, asked):
    monkeypatch.setenv("SPARSEKIT_KERNELS", given)
    assert environment.kernels_asked.__wrapped__() == asked


def test_an_unknown_choice_of_kernels_warns_and_counts_as_none(monkeypatch):
    monkeypatch.setenv("SPARSEKIT_KERNELS", "cython")
    with pytest.warns(RuntimeWarning, match="SPARSEKIT_KERNELS must be numba or numpy, got 'cython'"):
        assert environment.kernels_asked.__wrapped__() == ""


def test_the_reader_is_that_of_the_kernels_in_use():
    assert _functions() is host_file("libsvm_read")


def test_the_recorded_epoch_takes_at_most_twice_the_time_of_numba():
    """What ``sparsekit bench epoch`` measured in turns, by the median of its rounds."""
    record = json.loads((Path(__file__).parents[2] / "profiles" / "epoch.json").read_text(encoding="utf-8"))
    section = next(one for one in record["sections"] if one["heading"].endswith("by the kernels in use"))
    compiled, plain = (section["rows"][name]["median"] for name in ("kernels by numba", "kernels in numpy"))
    assert compiled < plain <= 2 * compiled
