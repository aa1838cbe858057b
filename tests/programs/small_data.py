"""Small data in the formats of public programs: the same files each time, made of seeds."""

import gzip
import os
import pickle

import numpy as np
from equal_terms import WORDS
from scipy.sparse import csr_matrix


def _write(path, lines):
    os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        file.writelines(line + "\n" for line in lines)


def _sentences(count, seed, words=tuple(WORDS), longest=14):
    """Sentences in which a word says what may come next."""
    random = np.random.RandomState(seed)
    for _ in range(count):
        place, line = random.randint(len(words)), []
        for _ in range(random.randint(4, longest)):
            line.append(words[place])
            place = (place * 5 + 1 + random.randint(3)) % len(words)
        yield " ".join(line)


def vocabulary(size):
    """Words that differ in their letters alone, for vocabularies larger than a batch."""
    return tuple("".join(chr(97 + number // 26 ** place % 26) for place in range(3)) for number in range(size))


def text8(folder):
    """One line of words, as in the file ``text8``."""
    _write(os.path.join(folder, "data", "text8"), [" ".join(_sentences(900, 1, vocabulary(300)))])


def ratings_and_negatives(folder, name="ml", users=60, items=80):
    """The files of neural collaborative filtering: ratings to train and test with, and items that a user has not rated."""
    random = np.random.RandomState(3)
    train, test, negatives = [], [], []
    for user in range(users):
        liked = [item for item in range(items) if (user * 3 + item * 5) % 7 == 0]
        train.extend(f"{user}\t{item}\t5\t{item}" for item in liked[1:])
        test.append(f"{user}\t{liked[0]}\t5\t0")
        others = np.setdiff1d(np.arange(items), liked)
        negatives.append("\t".join(str(item) for item in random.choice(others, 30, replace=False)))
    train.append(f"{users - 1}\t{items - 1}\t5\t0")
    for file, lines in (("train-ratings", train), ("test-ratings", test), ("test-negative", negatives)):
        _write(os.path.join(folder, name, f"{file}.csv"), lines)


def clicks_of_sessions(folder, items=4000, sessions=300):
    """Clicks of sessions with their times, to train and to test with, as in RecSys's challenge of 2015."""
    random = np.random.RandomState(5)
    for name, count in (("train", sessions), ("valid", sessions // 4)):
        lines = ["SessionID,ItemID,Time"]
        for session in range(count):
            place = random.randint(items)
            for click in range(random.randint(3, 9)):
                lines.append(f"{session},{place},{1000 * session + click}.0")
                place = (place * 5 + random.randint(3)) % items
        lines += [f"{count},{item},{1000 * count + item}.0" for item in range(items)] * (name == "train")
        _write(os.path.join(folder, "clicks", f"{name}.txt"), lines)


def movielens_csv(folder, path="ratings.csv", models=".", rows=1500):
    """The file ``ratings.csv`` of MovieLens, and a folder for models."""
    os.makedirs(os.path.join(folder, models), exist_ok=True)
    random = np.random.RandomState(4)
    users, items = random.randint(1, 120, rows), random.randint(1, 200, rows)
    ratings = 1 + (users * 7 + items * 3) % 9 / 2
    lines = [f"{user},{item},{rating},{1000 + row}"
             for row, (user, item, rating) in enumerate(zip(users, items, ratings, strict=True))]
    _write(os.path.join(folder, path), ["userId,movieId,rating,timestamp", *lines])


def wordnet_triples(folder, name="WN18", entities=120, relations=4):
    """Triples of a head, a relation and a tail, with the numbers of both."""
    random = np.random.RandomState(5)
    triples = sorted({(int(head), int(kind), int(head * (kind + 2) + 7 * kind) % entities)
                      for head, kind in zip(random.randint(0, entities, 700), random.randint(0, relations, 700), strict=True)})
    random.shuffle(triples)
    data = os.path.join(folder, "data", name)
    for file, part in (("train", triples[:320]), ("valid", triples[320:360]), ("test", triples[360:])):
        _write(os.path.join(data, f"{file}.txt"), [f"e{head}\tr{kind}\te{tail}" for head, kind, tail in part])
    _write(os.path.join(data, "entity_map.db"), [repr({f"e{number}": number for number in range(entities)})])
    _write(os.path.join(data, "relation_map.db"), [repr({f"r{number}": number for number in range(relations)})])
    for empty in ("param", "log"):
        os.makedirs(os.path.join(folder, empty), exist_ok=True)


def documents(folder, path="docs", count=160):
    """A folder of documents, each about one of four topics."""
    random = np.random.RandomState(6)
    words = vocabulary(400)
    for number in range(count):
        topic = words[number % 4 * 100:number % 4 * 100 + 100]
        chosen = [topic[min(99, int(place))] for place in random.exponential(15, 60)]
        _write(os.path.join(folder, path, f"doc{number:03}.txt"), [" ".join(chosen)])


def penn_treebank(folder, path="data/ptb"):
    """Texts to train, validate and test a language model with."""
    for name, count, seed in (("train", 400, 1), ("valid", 80, 2), ("test", 80, 3)):
        _write(os.path.join(folder, path, f"{name}.txt"), list(_sentences(count, seed)))


def labelled_sentences(folder, path="demo/data/umich-sentiment-train.txt", rows=400):
    """Lines of a label and a sentence whose words follow from it."""
    random = np.random.RandomState(7)
    words = vocabulary(240)
    lines = []
    for _ in range(rows):
        label = random.randint(2)
        chosen = random.choice(120, random.randint(4, 9)) + 120 * label * (random.rand() < 0.9)
        lines.append(f"{label}\t" + " ".join(words[place] for place in chosen))
    _write(os.path.join(folder, path), lines)
    os.makedirs(os.path.join(folder, "demo", "models"), exist_ok=True)


def mnist_gz(folder):
    """The four compressed files of MNIST."""
    for name, rows, seed in (("train", 1024, 1), ("t10k", 256, 2)):
        random = np.random.RandomState(seed)
        labels = random.randint(0, 10, rows).astype(np.uint8)
        images = random.randint(0, 80, (rows, 28, 28)).astype(np.uint8) * (random.rand(rows, 28, 28) < 0.1).astype(np.uint8)
        for image, label in zip(images, labels, strict=True):
            image[2 * label + 3:2 * label + 5] += 150
        with gzip.open(os.path.join(folder, f"{name}-images-idx3-ubyte.gz"), "wb") as file:
            file.write(np.array([2051, rows, 28, 28], ">i4").tobytes() + images.tobytes())
        with gzip.open(os.path.join(folder, f"{name}-labels-idx1-ubyte.gz"), "wb") as file:
            file.write(np.array([2049, rows], ">i4").tobytes() + labels.tobytes())


# data of PyTorch programs: many rows, of which a batch touches few

def user_item_lines(folder, path="data/tiny.txt", users=300, items=2000):
    """Lines of a user and an item, in the order of time."""
    random = np.random.RandomState(8)
    _write(os.path.join(folder, path), [f"{user} {item}" for user in range(1, users + 1)
                                        for item in random.choice(np.arange(1, items + 1), 12, replace=False)])


def items_of_users(folder, path="data", users=300, items=2000, held=2):
    """Lines of a user and its items, some of them in a file of their own to test with."""
    random = np.random.RandomState(9)
    train, test = [], []
    for user in range(users):
        chosen = [str(item) for item in random.choice(items, 12, replace=False)]
        train.append(" ".join([str(user), *chosen[held:]]))
        test.append(" ".join([str(user), *chosen[:held]]))
    train[-1] += f" {items - 1}"
    _write(os.path.join(folder, path, "train.txt"), train)
    _write(os.path.join(folder, path, "test.txt"), test)


def criteo_numbers(folder, rows=10000, size=400):
    """Criteo's columns as numbers, with the number of values of each."""
    random = np.random.RandomState(10)
    numbers = np.concatenate([random.randint(0, 20, (rows, 13)), random.randint(0, size, (rows, 26))], axis=1)
    labels = (numbers[:, 13] + numbers[:, 0] > size // 2).astype(int)
    names = ",".join(f"c{column}" for column in range(39))
    _write(os.path.join(folder, "data", "train.txt"),
           [f"{names},label", *(",".join(map(str, [*row, label])) for row, label in zip(numbers, labels, strict=True))])
    _write(os.path.join(folder, "data", "feature_sizes.txt"), [",".join(["1"] * 13 + [str(size)] * 26)])


def skip_grams(folder, words=5000, pairs=6000):
    """Pickles of a vocabulary and of words with their neighbours."""
    random = np.random.RandomState(11)
    names = list(vocabulary(words))
    chosen = np.minimum(random.zipf(1.3, (pairs, 11)) - 1, words - 1)
    counts = np.bincount(chosen.ravel(), minlength=words) + 1
    data = os.path.join(folder, "data")
    os.makedirs(data, exist_ok=True)
    for name, value in (("idx2word", names), ("wc", dict(zip(names, counts.tolist(), strict=True))),
                        ("train", [(int(row[0]), [int(word) for word in row[1:]]) for row in chosen])):
        with open(os.path.join(data, f"{name}.dat"), "wb") as file:
            pickle.dump(value, file)


def movielens_lines(folder, path="ratings.dat", separator="::", users=1000, items=1500, rows=6000):
    """Lines of a user, an item, a rating and a time, as in MovieLens; every user and every item is there."""
    random = np.random.RandomState(12)
    who = np.concatenate([np.arange(1, users + 1), random.randint(1, users + 1, rows)])
    what = np.concatenate([np.arange(1, users + 1) % items + 1, np.arange(rows) % items + 1])
    ratings = 1 + (who * 7 + what * 3) % 5
    _write(os.path.join(folder, path), [separator.join(map(str, row)) for row in zip(who, what, ratings, what, strict=True)])


def movielens_100k(folder):
    """The file ``u.data``, where the program looks for it."""
    movielens_lines(folder, "data/ml-100k/u.data", "\t")
    _write(os.path.join(folder, "data", "ml-100k.zip"), [])


def triples_of_names(folder, path, entities=3000, relations=8, triples=4000):
    """Triples of a head, a relation and a tail, to train, validate and test with, and the numbers of their names."""
    random = np.random.RandomState(13)
    heads, kinds = random.randint(0, entities, triples), random.randint(0, relations, triples)
    lines = [f"e{head}\tr{kind}\te{(head * (kind + 2) + 7 * kind) % entities}"
             for head, kind in zip(heads, kinds, strict=True)]
    for name, part in (("train", lines[:-80]), ("valid", lines[-80:-40]), ("test", lines[-40:])):
        _write(os.path.join(folder, path, f"{name}.txt"), part)
    for name, letter, count in (("entities", "e", entities), ("relations", "r", relations)):
        _write(os.path.join(folder, path, f"{name}.dict"), [f"{number}\t{letter}{number}" for number in range(count)])


def movielens_1m(folder):
    """The file ``ratings.dat``, eight ratings of each user, and the folder for models."""
    lines = [f"{user}::{(user * 37 + 131 * rated) % 1200 + 1}::{1 + (user + rated) % 5}::{rated}"
             for user in range(1, 401) for rated in range(8)]
    _write(os.path.join(folder, "src", "data", "ml-1m", "ratings.dat"), lines)
    os.makedirs(os.path.join(folder, "src", "checkpoints"), exist_ok=True)


def cora(folder, path="data/cora", cited=False, nodes=1600, words=300, edges=4000):
    """The files of Cora: words and topic of each paper, and which papers cite which; ``cited`` has each cite another."""
    random = np.random.RandomState(14)
    topics = random.randint(0, 7, nodes)
    stored = random.rand(nodes, words) < np.where(np.arange(words) % 7 == topics[:, None], 0.06, 0.01)
    lines = ["\t".join([str(number), *map(str, row.astype(int)), f"topic{topic}"])
             for number, (row, topic) in enumerate(zip(stored, topics, strict=True))]
    _write(os.path.join(folder, path, "cora.content"), lines)
    ends = random.randint(0, nodes, (edges, 2)).tolist() + [(node, (node + 1) % nodes) for node in range(nodes)] * cited
    _write(os.path.join(folder, path, "cora.cites"), [f"{one}\t{other}" for one, other in ends])


def planetoid(folder, path, nodes=1600, words=300, edges=4000, tested=200):
    """The pickles of Planetoid: words of the papers, in scipy's matrices, and the neighbours of each, with those to test with."""
    random = np.random.RandomState(23)
    place = os.path.join(folder, path)
    os.makedirs(place, exist_ok=True)
    stored = csr_matrix((random.rand(nodes, words) < 0.015).astype("float32"))
    ends = random.randint(0, nodes, (edges, 2)).tolist() + [(node, (node + 1) % nodes) for node in range(nodes)]
    near = {node: [] for node in range(nodes)}
    for one, other in ends:
        near[one].append(other)
        near[other].append(one)
    rest = nodes - tested
    for name, value in (("x", stored[:rest]), ("allx", stored[:rest]), ("tx", stored[rest:]), ("graph", near)):
        with open(os.path.join(place, f"ind.cora.{name}"), "wb") as file:
            pickle.dump(value, file)
    _write(os.path.join(place, "ind.cora.test.index"), [str(number) for number in random.permutation(np.arange(rest, nodes))])


def users_and_items(folder, users=1500, items=4000):
    """The files that a variational autoencoder for recommendations makes of MovieLens."""
    random = np.random.RandomState(15)
    place = os.path.join(folder, "ml-20m", "pro_sg")
    _write(os.path.join(place, "unique_sid.txt"), list(map(str, range(items))))
    rows = [f"{user},{(user * 31 + 7 * int(item)) % items}" for user in range(users) for item in random.randint(0, 200, 20)]
    _write(os.path.join(place, "train.csv"), ["uid,sid", *rows])
    for number, name in enumerate(("validation", "test")):
        for part in "re":  # what is known of a user, and what is held out
            rows = [f"{users + 100 * number + user},{item}" for user in range(100) for item in random.randint(0, items, 10)]
            _write(os.path.join(place, f"{name}_t{part}.csv"), ["uid,sid", *rows])


def titles_by_topic(folder, path="THUCNews", rows=4000):
    """Titles with the number of their topic, which their characters tell."""
    random = np.random.RandomState(16)
    data = os.path.join(folder, path, "data")
    for name, count in (("train", rows), ("dev", 256), ("test", 256)):
        topics = random.randint(0, 4, count)
        lines = ["".join(chr(0x4e00 + 600 * topic + int(place)) for place in random.randint(0, 800, 12)) + f"\t{topic}"
                 for topic in topics]
        _write(os.path.join(data, f"{name}.txt"), lines)
    _write(os.path.join(data, "class.txt"), [f"topic{number}" for number in range(4)])
    os.makedirs(os.path.join(folder, path, "saved_dict"), exist_ok=True)


def running_text(folder, path="input.txt", lines=3000, words=2500):
    """Lines of words, each word many times."""
    _write(os.path.join(folder, path), list(_sentences(lines, 17, vocabulary(words), 30)))


def ratings_of_users(folder, users=600, items=3000):
    """Lines of a user, an item and a rating, in the order of time, to train and to test with."""
    random = np.random.RandomState(18)
    for name, first, count in (("train", 0, 14), ("test", 14, 4)):
        lines = [f"{user} {(user * 13 + 11 * (first + place) + int(random.randint(3))) % items} 1.0"
                 for user in range(users) for place in range(count)]
        _write(os.path.join(folder, "datasets", "ml1m", "test", f"{name}.txt"), lines)


def numbers_of_tokens(folder, path="data/tiny", tokens=60000, words=5000):
    """Texts as numbers of 16 bits, to train and to validate with."""
    random = np.random.RandomState(19)
    os.makedirs(os.path.join(folder, path), exist_ok=True)
    for name, count in (("train", tokens), ("val", tokens // 10)):
        chosen = np.minimum(random.zipf(1.3, count) - 1, words - 1).astype(np.uint16)
        chosen.tofile(os.path.join(folder, path, f"{name}.bin"))


def nothing(folder):
    """No files: the program makes its data, or has them."""


def sequences_of_sessions(folder, name="sample", items=309, sessions=600):
    """Pickles of sessions up to a click, and of that click, to train and to test with."""
    random = np.random.RandomState(20)
    os.makedirs(os.path.join(folder, "datasets", name), exist_ok=True)
    for file, count in (("train", sessions), ("test", sessions // 6)):
        starts, lengths = random.randint(0, items, count), random.randint(2, 7, count)
        clicks = [[int(start * 7 + 3 * place) % items + 1 for place in range(length)]
                  for start, length in zip(starts, lengths, strict=True)]
        with open(os.path.join(folder, "datasets", name, f"{file}.txt"), "wb") as opened:
            pickle.dump(([one[:-1] for one in clicks], [one[-1] for one in clicks]), opened)


def triples_of_numbers(folder, path, entities=3000, relations=8, triples=3000):
    """Pickles of triples of numbers, to train, validate and test with, and of the answers that a ranking leaves out."""
    random = np.random.RandomState(21)
    place = os.path.join(folder, path)
    os.makedirs(place, exist_ok=True)
    heads, kinds = random.randint(0, entities, triples), random.randint(0, relations, triples)
    found = np.stack([heads, kinds, (heads * (kinds + 2) + 7 * kinds) % entities], 1).astype("uint64")
    found[0] = entities - 1, relations - 1, entities - 1
    parts = {"train": found[:-80], "valid": found[-80:-40], "test": found[-40:]}
    left = {side: {(int(head), int(kind)): [int(tail)] for head, kind, tail in found} for side in ("lhs", "rhs")}
    left["lhs"] = {(int(tail), int(kind) + relations): [int(head)] for head, kind, tail in found}
    for name, value in (*parts.items(), ("to_skip", left)):
        with open(os.path.join(place, f"{name}.pickle"), "wb") as file:
            pickle.dump(value, file)


def ratings_and_others(folder, path="NCF-Data", users=900, items=3000):
    """The files of a ranking: ratings to train with, and for each user an item and 99 others to test with."""
    random = np.random.RandomState(22)
    rated = [f"{user}\t{(user * 13 + 11 * place) % items}\t5\t{place}" for user in range(users) for place in range(5)]
    _write(os.path.join(folder, path, "ml-1m.train.rating"), [*rated, f"{users - 1}\t{items - 1}\t5\t0"])
    lines = ["\t".join([f"({user},{(user * 13 + 55) % items})", *map(str, random.choice(items, 99, replace=False))])
             for user in range(0, users, 30)]
    _write(os.path.join(folder, path, "ml-1m.test.negative"), lines)
