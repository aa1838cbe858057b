"""Equal terms for a program under MXNet and under sparsekit: the same data files, the same draws, nothing from the network.

``python equal_terms.py LIBRARY SCRIPT ARGUMENT…`` runs a script so; ``prepare(mx)`` does it for programs that call it, and
``write_data(name, folder)`` writes the small data sets.  The module works with either library, under Python 3.10 too.
"""

import builtins
import importlib
import os
import random
import runpy
import sys
import time
import zlib

import numpy as np


def seeded(name):
    """A generator that is the same in both libraries, and under every version of numpy."""
    return np.random.RandomState(zlib.crc32(str(name).encode()))


def prepare(mx):
    """Make what a library draws the same in both, and put back names that Python and numpy have dropped."""
    time.clock = time.perf_counter
    for name, kind in (("int", int), ("float", float), ("bool", bool)):
        if name not in vars(np):
            setattr(np, name, kind)
    mx.gpu = mx.context.gpu = mx.cpu  # no program here needs a GPU for its numbers
    builtins.hash = lambda value, own=hash: zlib.crc32(value.encode()) if isinstance(value, str) else own(value)
    _draw_alike(mx)
    _in_file_order(mx.io, mx.test_utils)
    mx.gluon.data.RandomSampler.__iter__ = lambda sampler: iter(range(len(sampler)))
    return mx


def _draw_alike(mx):
    drawn = seeded("draws")

    def filled(shape, values, out):
        made = mx.nd.array(values.reshape((shape,) if isinstance(shape, int) else shape), dtype="float32")
        if out is None:
            return made
        out[:] = made
        return out

    def uniform(low=0, high=1, shape=(1,), dtype=None, ctx=None, out=None, **_more):
        return filled(shape, drawn.uniform(low, high, int(np.prod(shape))), out)

    def normal(loc=0, scale=1, shape=(1,), dtype=None, ctx=None, out=None, **_more):
        return filled(shape, drawn.normal(loc, scale, int(np.prod(shape))), out)

    def randint(low, high, shape=(1,), dtype=None, ctx=None, out=None, **_more):
        return filled(shape, drawn.randint(low, high, int(np.prod(shape))), out).astype(dtype or "int32")

    for module in (mx.random, mx.nd.random):
        module.uniform, module.normal, module.randint = uniform, normal, randint
    mx.nd.random_uniform, mx.nd.random_normal = uniform, normal

    def weights(self, name, arr):
        kind = type(self).__name__
        random = seeded(name)
        if kind == "Normal":
            values = random.normal(0, self.sigma, arr.shape)
        elif kind == "Uniform":
            values = random.uniform(-self.scale, self.scale, arr.shape)
        else:
            fans = {"in": arr.shape[1], "out": arr.shape[0], "avg": (arr.shape[0] + arr.shape[1]) / 2}
            scale = np.sqrt(self.magnitude / fans[self.factor_type])
            values = random.uniform(-scale, scale, arr.shape)
        arr[:] = values.astype(np.float32)

    for kind in ("Normal", "Uniform", "Xavier"):
        getattr(mx.init, kind)._init_weight = weights

    def rand_ndarray(shape, stype="default", density=None, dtype=None, **_more):
        random = seeded(f"{shape} {stype} {density}")
        values = random.uniform(0, 1, shape) * (random.uniform(0, 1, shape) < (1 if density is None else density))
        return mx.nd.array(values.astype(np.float32)).tostype(stype)

    mx.test_utils.rand_ndarray = rand_ndarray


def _in_file_order(io, test_utils):
    """Iterators give rows in the order of the file."""
    whole = io.NDArrayIter

    class NDArrayIter(whole):
        def __init__(self, data, label=None, batch_size=1, shuffle=False, **more):
            super().__init__(data, label, batch_size, False, **more)

    io.NDArrayIter = NDArrayIter
    if hasattr(test_utils, "NDArrayIter"):
        test_utils.NDArrayIter = NDArrayIter
    if hasattr(io, "MNISTIter"):
        mnist = io.MNISTIter
        io.MNISTIter = lambda **settings: mnist(**{**settings, "shuffle": False})


# data sets

WORDS = ["the", "of", "a", "cat", "dog", "bird", "house", "tree", "sees", "finds", "likes", "big", "small", "old", "red", "then"]


def write_libsvm(path, rows, features, seed, stored=8):
    """Rows whose label follows from a few of their columns."""
    random = np.random.RandomState(seed)
    direction = np.random.RandomState(77).normal(0, 1, 512)
    with open(path, "w", encoding="utf-8") as file:
        for _ in range(rows):
            columns = np.sort(random.choice(512, stored, replace=False))
            values = np.round(random.uniform(0.25, 1, stored), 3)
            label = int(direction[columns] @ values > 0)
            places = columns * (features // 512)
            file.write(f"{label} " + " ".join(f"{place}:{value}" for place, value in zip(places, values, strict=True)) + "\n")


def write_ratings(path, rows, seed):
    """Lines of user::item::rating::time, as in MovieLens."""
    random = np.random.RandomState(seed)
    users, items = random.randint(1, 60, rows), random.randint(1, 40, rows)
    ratings = 1 + (users * 7 + items * 3) % 9 / 2
    with open(path, "w", encoding="utf-8") as file:
        file.writelines(f"{user}::{item}::{rating}::0\n" for user, item, rating in zip(users, items, ratings, strict=True))


def write_adult(path, rows, seed):
    """Lines as in the census data set ``adult``."""
    random = np.random.RandomState(seed)
    kinds = {"workclass": ["Private", "State-gov", "Self-emp-inc"], "education": ["Bachelors", "HS-grad", "Masters", "11th"],
             "marital": ["Never-married", "Divorced"], "occupation": ["Sales", "Tech-support", "Craft-repair"],
             "relationship": ["Husband", "Wife", "Unmarried"], "gender": ["Female", "Male"], "country": ["Cuba", "India", "Peru"]}
    with open(path, "w", encoding="utf-8") as file:
        for _ in range(rows):
            one = {name: values[random.randint(len(values))] for name, values in kinds.items()}
            age, years, hours = random.randint(18, 70), random.randint(1, 16), random.randint(10, 60)
            rich = (one["education"] in ("Bachelors", "Masters")) + (one["occupation"] == "Sales") + (age > 45) > 1
            fields = [age, one["workclass"], 0, one["education"], years, one["marital"], one["occupation"], one["relationship"],
                      "White", one["gender"], 0, 0, hours, one["country"], ">50K" if rich else "<=50K"]
            file.write(", ".join(map(str, fields)) + "\n")


def write_mnist(folder):
    """Files of images and labels, in which ten patterns are told apart by their bright rows."""
    for name, rows, seed in (("train", 1000, 1), ("t10k", 200, 2)):
        random = np.random.RandomState(seed)
        labels = random.randint(0, 10, rows).astype(np.uint8)
        images = random.randint(0, 80, (rows, 28, 28)).astype(np.uint8)
        for image, label in zip(images, labels, strict=True):
            image[2 * label + 3:2 * label + 6] += 150
        with open(os.path.join(folder, f"{name}-images-idx3-ubyte"), "wb") as file:
            file.write(np.array([2051, rows, 28, 28], ">i4").tobytes() + images.tobytes())
        with open(os.path.join(folder, f"{name}-labels-idx1-ubyte"), "wb") as file:
            file.write(np.array([2049, rows], ">i4").tobytes() + labels.tobytes())


def write_wikitext(folder):
    """Text in which a word says what comes next."""
    for name, lines, seed in (("train", 120, 1), ("valid", 40, 2), ("test", 40, 3)):
        random = np.random.RandomState(seed)
        with open(os.path.join(folder, f"wiki.{name}.tokens"), "w", encoding="utf-8") as file:
            for _ in range(lines):
                place, line = random.randint(len(WORDS)), []
                for _ in range(random.randint(4, 12)):
                    line.append(WORDS[place])
                    place = (place * 5 + 1 + random.randint(2)) % len(WORDS)
                file.write(" " + " ".join(line) + " \n")


def write_sick(folder):
    """Pairs of sentences with trees of parents and how similar they are, and vectors of the words."""
    random = np.random.RandomState(3)
    for part, count in (("train", 24), ("dev", 8), ("test", 8)):
        os.makedirs(os.path.join(folder, "sick", part), exist_ok=True)
        texts = {name: [] for name in ("a.toks", "b.toks", "a.parents", "b.parents", "sim.txt")}
        for _ in range(count):
            sides = [random.choice(WORDS, random.randint(2, 6)) for _ in "ab"]
            for side, chosen in zip("ab", sides, strict=True):
                root = random.randint(1, len(chosen) + 1)
                texts[f"{side}.toks"].append(" ".join(chosen))
                texts[f"{side}.parents"].append(" ".join("0" if place == root else str(root)
                                                         for place in range(1, len(chosen) + 1)))
            shared = len(set(sides[0]) & set(sides[1])) / len(set(sides[0]) | set(sides[1]))
            texts["sim.txt"].append(str(round(1 + 4 * shared, 1)))
        for name, lines in texts.items():
            with open(os.path.join(folder, "sick", part, name), "w", encoding="utf-8") as file:
                file.writelines(line + "\n" for line in lines)
    os.makedirs(os.path.join(folder, "glove"), exist_ok=True)
    with open(os.path.join(folder, "glove", "glove.840B.300d.txt"), "w", encoding="utf-8") as file:
        file.writelines(word + " " + " ".join(f"{value:.3f}" for value in random.normal(0, 0.3, 20)) + "\n" for word in WORDS)


def write_data(name, folder):
    """The data of a program, in ``folder/data``."""
    data = os.path.join(folder, "data")
    os.makedirs(data, exist_ok=True)
    if name == "linear_classification":
        write_libsvm(os.path.join(data, "avazu-app"), 640, 1_000_000, 1)
        write_libsvm(os.path.join(data, "avazu-app.t"), 128, 1_000_000, 2)
    elif name == "factorization_machine":
        write_libsvm(os.path.join(data, "train"), 640, 1_024, 1)
        write_libsvm(os.path.join(data, "test"), 128, 1_024, 2)
    elif name == "matrix_factorization":
        os.makedirs(os.path.join(data, "ml-10M100K"), exist_ok=True)
        write_ratings(os.path.join(data, "ml-10M100K", "r1.train"), 640, 1)
        write_ratings(os.path.join(data, "ml-10M100K", "r1.test"), 128, 2)
    elif name == "wide_deep":
        write_adult(os.path.join(data, "adult.data"), 600, 1)
        write_adult(os.path.join(data, "adult.test"), 200, 2)
    elif name == "tree_lstm":
        write_sick(data)
        with open(os.path.join(folder, "tqdm.py"), "w", encoding="utf-8") as file:  # a bar of progress that shows nothing
            file.write("def tqdm(steps, *args, **kwargs):\n    return steps\n")
    elif name == "word_language_model":
        write_wikitext(data)
    elif name == "numpy_ops":
        write_mnist(data)
    elif name == "sparse_end2end":
        write_libsvm(os.path.join(data, "avazu-app.t"), 640, 1_000_000, 1)


def main(library, script, *arguments):
    """Run a script on equal terms."""
    mx = prepare(importlib.import_module(library))
    importlib.import_module(f"{library}.gluon.contrib.data.text").check_sha1 = lambda *args: True  # the text is ours
    np.random.seed(0)
    random.seed(0)
    sys.argv = [script, *arguments]
    sys.path.insert(0, os.path.dirname(os.path.abspath(script)))
    found = runpy.run_path(script, run_name="__main__")
    mx.nd.waitall()
    for name in ("weight", "mean", "var"):  # which a script computes without printing them
        if isinstance(found.get(name), mx.nd.NDArray):
            print(f"sum of {name}: {float(found[name].asnumpy().sum())}")


if __name__ == "__main__":
    main(*sys.argv[1:])
