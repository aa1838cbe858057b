"""Record the batches that MXNet 1.9.1's samplers, data sets and DataLoader give."""

import sys

import mxnet as mx
import numpy as np
import recording

data = mx.gluon.data
SAMPLERS = {"data.SequentialSampler(5)": 1, "data.SequentialSampler(3, 4)": 1, "data.SequentialSampler(0)": 1,
            "data.FilterSampler(lambda x: x % 2 == 1, list(range(7)))": 1, "IntervalSampler(13, 3)": 1,
            "IntervalSampler(7, 7)": 1, "IntervalSampler(5, 2)": 1,
            **{f"data.BatchSampler(data.SequentialSampler({count}), {size}, {last!r})": 3
               for last in ("keep", "discard", "rollover") for count, size in ((10, 3), (9, 3), (2, 5), (0, 2))}}
DATASETS = ("data.SimpleDataset([3, 1, 4])", "data.SimpleDataset([3, 1, 4]).transform(lambda x: x * 2)",
            "data.SimpleDataset([3, 1, 4]).transform(lambda x: (x, -x), lazy=False)", "data.ArrayDataset([3, 1, 4], [5, 6, 7])",
            "data.ArrayDataset([3, 1, 4], [5, 6, 7]).transform_first(lambda x: x + 0.5)",
            "data.ArrayDataset([3, 1, 4], [5, 6, 7]).transform(lambda x, y: x + y)",
            "data.SimpleDataset([3, 1, 4]).transform_first(lambda x: x + 1)",
            "data.SimpleDataset(list(range(10))).filter(lambda x: x % 3 == 0)",
            *(f"data.SimpleDataset(list(range(10))).shard(4, {part})" for part in range(4)),
            "data.SimpleDataset(list(range(10))).take(4)", "data.SimpleDataset(list(range(3))).take(None)",
            "data.SimpleDataset(list(range(10))).sample(data.SequentialSampler(3, 5))",
            "data.SimpleDataset(list(range(10))).shard(3, 1).filter(lambda x: x != 5).take(2)")
BATCHES = (("[1, 2, 3, 4, 5]", {"batch_size": 2}), ("[1.5, 2.5, 3.5]", {"batch_size": 2, "last_batch": "discard"}),
           ("[(1, 2.5), (3, 4.5), (5, 6.5)]", {"batch_size": 2}), ("[[1, 2], [3, 4], [5, 6]]", {"batch_size": 2}),
           ("[True, False, True]", {"batch_size": 3}), ("np.arange(6, dtype=np.float64).reshape(3, 2)", {"batch_size": 2}),
           ("np.arange(6, dtype=np.int32).reshape(3, 2)", {"batch_size": 2, "last_batch": "rollover"}),
           ("mx.nd.arange(6).reshape((3, 2))", {"batch_size": 2}), ("mx.nd.arange(3)", {"batch_size": 2}),
           ("data.ArrayDataset(mx.nd.arange(6).reshape((3, 2)), mx.nd.arange(3))", {"batch_size": 2}),
           ("data.ArrayDataset(np.arange(6).reshape(3, 2), [7, 8, 9])", {"batch_size": 2}),
           ("data.ArrayDataset(mx.nd.arange(6).reshape((3, 2)))", {"batch_size": 4}),
           ("data.ArrayDataset(mx.nd.arange(6, dtype='int32').reshape((3, 2)), mx.nd.arange(3)).shard(2, 0)", {"batch_size": 4}),
           ("data.ArrayDataset([1, 2], [3, 4]).transform(lambda x, y: (x, y, x + y))", {"batch_size": 2}))

if __name__ == "__main__":
    from mxnet.gluon.contrib.data import IntervalSampler

    names = {"data": data, "mx": mx, "np": np, "IntervalSampler": IntervalSampler}
    cases = []
    for text, epochs in SAMPLERS.items():
        sampler = eval(text, names)
        cases.append({"sampler": text, "epochs": [[len(sampler), recording.plain(list(sampler))] for _ in range(epochs)]})
    for text in DATASETS:
        dataset = eval(text, names)
        cases.append({"dataset": text, "items": [recording.encode(dataset[place]) for place in range(len(dataset))]})
    for text, options in BATCHES:
        loader = data.DataLoader(eval(text, names), **options)
        cases.append({"loader": text, "options": options, "length": len(loader),
                      "epochs": [[recording.encode(batch) for batch in loader] for _ in range(2)]})
    recording.save(sys.argv[1], {"cases": cases})
