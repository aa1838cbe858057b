"""Threads that compute at once: results stay what one thread computes.  Forks and interrupts are in ``tests/faults``."""

import functools
import threading
import time

import numpy as np

import sparsekit as mx
from sparsekit.kernels.cpu import jit
from tests.calls import refused, variable

SIZES = {"rows": 2000, "columns": 1200}


def matrix(seed, rows=SIZES["rows"], columns=SIZES["columns"], each=40):
    """A csr matrix large enough that its kernels are shared out."""
    random = np.random.default_rng(seed)
    places = np.sort(random.random((rows, columns)).argpartition(each, axis=1)[:, :each], axis=1)
    return mx.nd.sparse.csr_matrix(
        (random.random(rows * each, np.float32), places.reshape(-1), np.arange(0, rows * each + 1, each)), shape=(rows, columns))


def product(seed):
    return mx.nd.dot(matrix(seed), dense(seed, SIZES["columns"])).asnumpy()


def vector_product(seed):
    return mx.nd.dot(matrix(seed), dense(seed, SIZES["columns"], 1)).asnumpy()


def dense(seed, rows, columns=32):
    return mx.nd.array(np.random.default_rng(seed).random((rows, columns), np.float32))


def transposed_product(seed):
    return mx.nd.dot(matrix(seed), dense(seed, SIZES["rows"]), transpose_a=True).asnumpy()


def square(seed):
    return mx.nd.dot(matrix(seed, 600, 600, 20), matrix(seed + 1, 600, 600, 20)).asnumpy()


def taken(seed):
    rows = np.random.default_rng(seed).integers(0, SIZES["rows"], 500)
    return mx.nd.take(matrix(seed), mx.nd.array(rows)).asnumpy()


def updated(seed):
    weight, gradient = dense(seed, SIZES["columns"], 64), dense(seed + 1, SIZES["columns"], 64)
    rows = mx.nd.array(np.random.default_rng(seed).permutation(SIZES["columns"])[:500])
    mx.nd.sgd_update(weight, mx.nd.sparse.retain(gradient.tostype("row_sparse"), rows),
                     lr=0.1, wd=0.01, lazy_update=True, out=weight)
    return weight.asnumpy()


def converted(seed):
    return matrix(seed).tostype("default").tostype("row_sparse").tostype("csr").data.asnumpy()


def parsed(seed, folder):
    path = folder / f"{seed}.libsvm"
    if not path.exists():
        random = np.random.default_rng(seed)
        lines = (f"{row % 3} " + " ".join(f"{column}:{random.random():.4f}" for column in range(row % 7, 400, 13))
                 for row in range(600))
        path.write_text("\n".join(lines) + "\n")
    batches = mx.io.LibSVMIter(data_libsvm=str(path), data_shape=(400,), batch_size=50)
    return np.concatenate([batch.data[0].asnumpy() for batch in batches])


def learned(seed):
    x, weight = matrix(seed), dense(seed, SIZES["columns"], 4)
    weight.attach_grad(stype="row_sparse")
    assert not mx.autograd.is_recording()
    with mx.autograd.record():
        time.sleep(0.001)  # so that threads meet inside
        loss = mx.nd.square(mx.nd.dot(x, weight)).mean()
    assert not mx.autograd.is_recording()
    loss.backward()
    return weight.grad.asnumpy()


WORK = [product, vector_product, transposed_product, square, taken, updated, converted, learned]


def in_threads(jobs, limit=120):
    """Run the jobs at once, each in a thread of its own; their results, or what they raised."""
    found = [None] * len(jobs)
    start = threading.Barrier(len(jobs))

    def run(place):
        start.wait()
        try:
            found[place] = jobs[place]()
        except BaseException as error:
            found[place] = error

    threads = [threading.Thread(target=run, args=(place,), daemon=True) for place in range(len(jobs))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(limit)
        assert not thread.is_alive(), "a thread waits for ever"
    for result in found:
        if isinstance(result, BaseException):
            raise result
    return found


def test_four_threads_compute_what_one_does(tmp_path):
    jobs = [lambda act=act, seed=seed: act(seed) for act in WORK for seed in (1, 2)]
    jobs += [lambda seed=seed: parsed(seed, tmp_path) for seed in (1, 2)]
    expected = [job() for job in jobs]
    shifts = [range(4 * thread, 4 * thread + len(jobs)) for thread in range(4)]  # each thread begins with other work
    four = [lambda places=places: [jobs[place % len(jobs)]() for place in places] for places in shifts]
    for places, results in zip(shifts, in_threads(four), strict=True):
        for place, result in zip(places, results, strict=True):
            np.testing.assert_array_equal(result, expected[place % len(jobs)])


def test_a_graph_of_one_thread_is_walked_by_another():
    x = variable(dense(0, 20))
    with mx.autograd.record():
        y = (x * x).sum()
    in_threads([y.backward])
    np.testing.assert_allclose(x.grad.asnumpy(), 2 * x.asnumpy())


def add_one(row, low, high):
    row[low:high] += 1


def test_work_shared_out_within_shared_work_and_by_many_threads(monkeypatch):
    monkeypatch.setattr(jit, "worker_count", lambda: 3)
    marks = np.zeros((16, 64, 32), np.int64)

    def outer(own):
        def rows(start, stop):
            for row in range(start, stop):
                jit.in_threads(functools.partial(add_one, own[row]), own.shape[1], 1)

        jit.in_threads(rows, own.shape[0], 1)

    in_threads([lambda own=own: outer(own) for own in marks], 30)
    assert (marks == 1).all()


def test_an_error_in_one_piece_is_raised_when_all_have_ended(monkeypatch):
    monkeypatch.setattr(jit, "worker_count", lambda: 4)
    running = []

    def work(start, stop):
        if start == 0:
            raise ValueError("the first piece")
        running.append(start)
        time.sleep(0.05)
        running.remove(start)

    refused(ValueError, "the first piece", jit.in_threads, work, 4, 1)
    assert not running


def test_a_loop_whose_pieces_are_dropped_is_done_by_who_waits(monkeypatch):
    """As at the end of a program, which drops what has not begun."""
    done = []
    monkeypatch.setattr(jit, "worker_count", lambda: 4)
    pool = jit._pool()
    monkeypatch.setattr(pool, "put", lambda future, *task: future.cancel())
    jit.in_threads(lambda start, stop: done.append((start, stop)), 8, 1)
    assert sorted(done) == [(0, 2), (2, 4), (4, 6), (6, 8)]
