"""Record what the functions of MXNet 1.9.1 that make arrays give, and what they refuse."""

import sys

import expressions
import recording

SETUP = ["import scipy.sparse", "lists = [[0, 1.5, 0], [0, 0, 0], [2, 0, -3]]", "numbers = np.array(lists)",
         "dense = mx.nd.array(lists, dtype='float64')",
         "c = mx.nd.sparse.csr_matrix(([1.0, 2, -3.5], [1, 3, 0], [0, 2, 2, 3]), shape=(3, 5))",
         "r = mx.nd.sparse.row_sparse_array(([[1.0, 2], [0, -3]], [1, 3]), shape=(5, 2))",
         "csr, row = mx.nd.sparse.csr_matrix, mx.nd.sparse.row_sparse_array", "compressed = scipy.sparse.csr_matrix(numbers)",
         "repeated = scipy.sparse.csr_matrix((np.array([1., 2, 4]), np.array([2, 0, 2]), np.array([0, 3])), shape=(1, 4))"]
TYPES = ("float16", "float32", "float64", "uint8", "int8", "int32", "int64", "bool")
# fmt: off
CSR = ["csr(lists)", "csr(numbers)", "csr(numbers.astype('float32'))", "csr(numbers.astype('int32'))", "csr(dense)",
       "csr(numbers, dtype='float32')", "csr(lists, dtype='int64')", "csr(dense, dtype='float16')", "csr(numbers.T)",
       "csr(lists, shape=(3, 3))", "csr(lists, shape=(3, 4))", "csr(c)", "csr(c, dtype='float64')", "csr(c, shape=(3, 5))",
       "csr(c, shape=(5, 3))", "csr(r)", "csr(compressed)", "csr(compressed, dtype='float32')", "csr(repeated)",
       "csr(compressed.tocoo())", "csr(compressed.tocsc())", "csr(compressed, shape=(3, 3))", "csr(compressed, shape=(4, 4))",
       "csr(compressed.astype('int32'))", "csr((3, 4))", "csr((3, 4), dtype='int32')", "csr((3, 4), shape=(3, 4))",
       "csr((3, 4), shape=(2, 2))", "csr((2,))", "csr((2, 3, 4))", "csr(())", "csr(5)", "csr('text')", "csr(None)",
       "csr(([1, 2], [1, 3], [0, 1, 2]))", "csr(([1, 2], [1, 3], [0, 1, 2]), shape=(2, 5))",
       "csr(([1, 2], [1, 3], [0, 1, 2]), shape=(2, 5), dtype='int32')",
       "csr((np.array([1, 2]), np.array([1, 3]), np.array([0, 1, 2])), shape=(2, 5))",
       "csr((np.array([1, 2], 'float32'), np.array([1, 3], 'int32'), np.array([0, 1, 2], 'int32')), shape=(2, 5))",
       "csr((mx.nd.array([1, 2]), mx.nd.array([1, 3]), mx.nd.array([0, 1, 2])), shape=(2, 5))",
       "csr((c.data, c.indices, c.indptr), shape=(3, 5))", "csr((c.data, c.indices, c.indptr))",
       "csr(([], [], [0, 0, 0]), shape=(2, 5))", "csr(([], [], [0]), shape=(0, 5))", "csr(([], [], [0, 0]))",
       "csr(([1, 2], [1, 3], [0, 1, 2]), shape=(2, 5, 1))", "csr(([[1, 2]], [1, 3], [0, 1, 2]), shape=(2, 5))",
       "csr(([1, 2], ([0, 1], [1, 3])))", "csr(([1, 2], ([0, 1], [1, 3])), shape=(4, 5))",
       "csr(([1, 2], ([1, 0], [1, 3])), shape=(2, 5))", "csr(([1, 2, 4], ([0, 1, 0], [1, 3, 1])), shape=(2, 5))",
       "csr((np.array([1, 2, 4]), (np.array([0, 1, 0]), np.array([3, 3, 1]))), shape=(2, 5))",
       "csr((np.array([1, 2], 'int32'), (np.array([0, 1]), np.array([3, 3]))), shape=(2, 5), dtype='float64')",
       "csr((mx.nd.array([1, 2]), (mx.nd.array([0, 1]), mx.nd.array([3, 3]))), shape=(2, 5))",
       "csr(([1, 2], ([0, 1], [1, 3])), shape=(1, 5))", "csr(([1, 2], ([0, 1], [1])), shape=(2, 5))",
       "csr(([1, 2], ([0, 1], [1, 3], [0, 0])), shape=(2, 5))", "csr(lists, ctx=mx.cpu(1)).context",
       "csr(lists).indices.dtype == np.int64", "csr(lists).indptr.dtype == np.int64", "csr(lists, dtype='no type')",
       *(f"csr(lists, dtype='{name}')" for name in TYPES)]
ROWS = ["row(lists)", "row(numbers)", "row(dense)", "row(dense, dtype='float32')", "row(r)", "row(r, dtype='float64')",
        "row(c)", "row(r, shape=(5, 2))", "row(r, shape=(2, 5))", "row(lists, shape=(3, 3))", "row(lists, shape=(4, 3))",
        "row((3, 4))", "row((3, 4, 2))", "row((3, 4), dtype='int32')", "row((3,))", "row(([[1, 2], [3, 4]], [1, 4]))",
        "row(([[1, 2], [3, 4]], [1, 4]), shape=(6, 2))", "row((np.ones((2, 3)), [1, 4]), shape=(6, 3))",
        "row((np.ones((2, 3)), [1, 4]), shape=(6, 3), dtype='float32')", "row((np.ones((2, 3, 2)), np.array([0, 2])))",
        "row((mx.nd.ones((2, 3)), mx.nd.array([1, 4])), shape=(6, 3))", "row((r.data, r.indices), shape=(5, 2))",
        "row((r.data, r.indices))", "row((np.ones((0, 3)), []), shape=(6, 3))", "row((np.ones((0, 3)), []))",
        "row(([1, 2], [1, 3]), shape=(6,))", "row(([[1, 2]], [0]), shape=(6, 2, 1))", "row(([[1, 2]], [[0]]), shape=(6, 2))",
        "row(lists, ctx=mx.cpu(1)).context", "row(5)", "row('text')", "row((1, 2, 'a'))", "row(mx.nd.ones((2, 2, 2)))",
        *(f"row(lists, dtype='{name}')" for name in TYPES if name != "bool")]
SPARSE = ["mx.nd.sparse.array(c)", "mx.nd.sparse.array(r)", "mx.nd.sparse.array(c, dtype='float16')",
          "mx.nd.sparse.array(compressed)", "mx.nd.sparse.array(compressed, dtype='float32')", "mx.nd.sparse.array(repeated)",
          "mx.nd.sparse.array(dense)", "mx.nd.sparse.array(numbers)", "mx.nd.sparse.array(lists)",
          "mx.nd.sparse.array(compressed.tocoo())", "mx.nd.sparse.zeros('csr', (2, 3))",
          "mx.nd.sparse.zeros('row_sparse', (2, 3))", "mx.nd.sparse.zeros('row_sparse', (2, 3, 4), dtype='int32')",
          "mx.nd.sparse.zeros('default', (2, 3))", "mx.nd.sparse.zeros('coo', (2, 3))", "mx.nd.sparse.zeros('csr', (2,))",
          "mx.nd.sparse.zeros('csr', (2, 3), mx.cpu(1)).context", "mx.nd.sparse.empty('csr', (2, 3))",
          "mx.nd.sparse.empty('row_sparse', (2, 3), dtype='float64')", "mx.nd.sparse.empty('coo', (2, 3))",
          "mx.nd.sparse.empty('row_sparse', 4)", "mx.nd.sparse.zeros('row_sparse', 4)",
          "mx.nd.sparse.empty('default', (2, 3)).shape"]
DENSE = ["mx.nd.array(lists)", "mx.nd.array(numbers)", "mx.nd.array(numbers.astype('int32'))", "mx.nd.array(dense)",
         "mx.nd.array(dense, dtype='float32')", "mx.nd.array(dense, mx.cpu(1)).context", "mx.nd.array(numbers.T)",
         "mx.nd.array(np.asfortranarray(numbers))", "mx.nd.array(numbers[::-1, ::2])", "mx.nd.array(numbers.astype('>f4'))",
         "mx.nd.array(c)", "mx.nd.array(r)", "mx.nd.array(c, dtype='float64')", "mx.nd.array(compressed)",
         "mx.nd.array(compressed, dtype='float32')", "mx.nd.array(repeated)", "mx.nd.array([])", "mx.nd.array([[], []])",
         "mx.nd.array(5)", "mx.nd.array(5, dtype='int32')", "mx.nd.array(np.float64(2.5))", "mx.nd.array((1, 2))",
         "mx.nd.array([True, False])", "mx.nd.array(np.array([True, False]))", "mx.nd.array(range(3))",
         "mx.nd.array([[1], [2, 3]])", "mx.nd.array('text')", "mx.nd.array(None)", "mx.nd.array([None])",
         "mx.nd.array([1 + 2j])", "mx.nd.array(np.array(['2020-01-01'], 'datetime64[D]'))",
         "mx.nd.array([mx.nd.ones((1,)), mx.nd.zeros((1,))])", "mx.nd.array(iter([1, 2]))",
         "mx.nd.array([1, 2], dtype='complex64')", "mx.nd.array([1, 2], dtype=np.float64)",
         "mx.nd.array([1, 2], dtype=float)", "mx.nd.array([1, 2], dtype=int)", "mx.nd.array([1.7, -2.5], dtype='int32')",
         "mx.nd.array([float('nan'), 1e300])", "mx.nd.array([1, 2], dtype='uint16')",
         *(f"mx.nd.array(lists, dtype='{name}')" for name in TYPES if name != "uint8"),
         "mx.nd.from_numpy(np.arange(6, dtype='float32').reshape(2, 3))", "mx.nd.from_numpy(np.arange(3))",
         "mx.nd.from_numpy(np.arange(3), zero_copy=False)", "mx.nd.from_numpy(np.arange(6).reshape(2, 3).T)",
         "mx.nd.from_numpy([1, 2])", "mx.nd.from_numpy(np.arange(6).reshape(2, 3).T, zero_copy=False)",
         "mx.nd.from_numpy(np.array(2.5))", "mx.nd.full((2, 3), 7)", "mx.nd.full((2,), 2.5, dtype='int32')",
         "mx.nd.full(3, -1, mx.cpu(1)).context", "mx.nd.full((2, 2), 3, dtype='float64')", "mx.nd.full((2,), float('nan'))",
         "mx.nd.full((2,), 3, out=mx.nd.zeros((2,)))", "mx.nd.zeros((2, 3))", "mx.nd.zeros(4)",
         "mx.nd.zeros((2, 3), mx.cpu(), 'int8')", "mx.nd.zeros((2, 3), dtype=np.float16)", "mx.nd.zeros((2, 3), stype='csr')",
         "mx.nd.zeros((2, 3), stype='row_sparse', dtype='float64')", "mx.nd.zeros((2, 3), stype='default')",
         "mx.nd.zeros((2, 3), stype='coo')", "mx.nd.zeros((-1, 3))", "mx.nd.zeros((2.5,))", "mx.nd.zeros('ab')",
         "mx.nd.zeros((2, 3), dtype='text')", "mx.nd.zeros(()).shape", "mx.nd.ones((2, 3))", "mx.nd.ones(4)",
         "mx.nd.ones((2, 3), dtype='int64')", "mx.nd.ones((2, 3), mx.cpu(1)).context", "mx.nd.ones((2,), dtype='bool')",
         "mx.nd.empty((2, 3)).shape", "mx.nd.empty(4).shape", "mx.nd.empty((2, 3), dtype='int32').dtype == np.int32",
         "mx.nd.empty((2, 3), stype='csr')", "mx.nd.empty((2, 3), stype='row_sparse')", "mx.nd.empty((2, 3), stype='coo')",
         "mx.nd.arange(5)", "mx.nd.arange(1, 4)", "mx.nd.arange(2, 6, 2)", "mx.nd.arange(2, 6, step=2, repeat=3)",
         "mx.nd.arange(0, 1, 0.3)", "mx.nd.arange(5, 1, -2)", "mx.nd.arange(3, dtype='int32')", "mx.nd.arange(5, 1)",
         "mx.nd.arange(3, ctx=mx.cpu(1)).context", "mx.nd.arange(2.5)", "mx.nd.arange(0)", "mx.nd.arange(1, 2, 0)",
         "mx.nd.linspace(0, 1, 5)", "mx.nd.linspace(0, 1, 5, endpoint=False)", "mx.nd.linspace(5, 1, 3, dtype='int32')",
         "mx.nd.linspace(0, 1, 1)", "mx.nd.linspace(0, 1, 0)", "mx.nd.linspace(0, 1, -1)",
         "mx.nd.linspace(0, 1, 3, ctx=mx.cpu(1)).context", "mx.nd.eye(3)", "mx.nd.eye(2, 3)", "mx.nd.eye(3, 4, 1)",
         "mx.nd.eye(3, k=-1, dtype='int32')", "mx.nd.eye(0)", "mx.nd.eye(2, ctx=mx.cpu(1)).context",
         "mx.nd.concatenate([dense, dense])", "mx.nd.concatenate([dense, dense], axis=1)", "mx.nd.concatenate([])",
         "mx.nd.moveaxis(mx.nd.zeros((2, 3, 4)), 0, 2).shape", "mx.nd.moveaxis(mx.nd.zeros((2, 3, 4)), (0, 1), (1, 2)).shape",
         "mx.nd.onehot_encode(mx.nd.array([0, 2]), mx.nd.zeros((2, 3)))", "mx.nd.ones_like(dense)", "mx.nd.zeros_like(dense)",
         "mx.nd.waitall()"]
COPIES = ["dense.copy()", "dense.astype('int32')", "dense.astype('float64', copy=False) is dense",
          "dense.astype('float64') is dense", "dense.astype('float32', copy=False) is dense", "c.astype('int32')",
          "c.astype('float32', copy=False) is c", "r.astype('float64')", "c.copy()", "r.copy()",
          "c.copyto(mx.nd.zeros((3, 5)))", "r.copyto(mx.nd.zeros((5, 2), dtype='float64'))",
          "c.copyto(mx.nd.sparse.zeros('csr', (3, 5)))", "c.copyto(mx.nd.sparse.zeros('csr', (3, 5), dtype='float64'))",
          "dense.copyto(mx.nd.zeros((3, 3), dtype='int32'))",
          "dense.copyto(mx.nd.sparse.zeros('csr', (3, 3), dtype='float64'))",
          "dense.copyto(mx.nd.sparse.zeros('row_sparse', (3, 3), dtype='float64'))", "c.copyto(mx.cpu(1)).context",
          "dense.copyto(mx.cpu(1)).context", "dense.copyto(mx.nd.zeros((2, 2)))", "dense.copyto(5)", "dense.copyto(dense)",
          "dense.as_in_context(mx.cpu()) is dense", "dense.as_in_context(mx.cpu(1)).context",
          "c.as_in_context(mx.cpu(1)).context", "c.as_in_context(mx.cpu(1))", "dense.as_nd_ndarray() is dense",
          "dense.as_np_ndarray().shape", "dense.asnumpy()", "c.asnumpy()", "r.asnumpy()", "c.asscipy().toarray()",
          "c.asscipy().dtype.name", "type(c.asscipy()).__name__", "r.asscipy().shape", "dense.asscalar()",
          "mx.nd.array([3]).asscalar()", "dense.tostype('csr')", "dense.tostype('row_sparse')",
          "dense.tostype('default') is dense", "c.tostype('csr') is c", "c.tostype('default')", "r.tostype('default')",
          "c.tostype('text')", "len(dense)", "len(c)", "dense.size", "c.size", "c.shape", "bool(mx.nd.array([0]))",
          "c.check_format()", "r.check_format(full_check=False)", "float(mx.nd.array([2.5]))", "int(mx.nd.array([2.5]))",
          "dense.astype('text')", "np.asarray(dense).dtype.name"]
# fmt: on


def main():
    cases = [(text,) for text in dict.fromkeys([*CSR, *ROWS, *SPARSE, *DENSE, *COPIES])]
    records = recording.record_each(len(cases), lambda number: expressions.record(SETUP, cases[number]))
    for case, record in zip(cases, records, strict=True):
        record.setdefault("expression", case[0])
    recording.save(sys.argv[1], {"setup": SETUP, "cases": records})


if __name__ == "__main__":
    main()
