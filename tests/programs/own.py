"""Programs of our own that use what MXNet's example scripts use, in the same way, and compute the same numbers.

``python own.py LIBRARY PROGRAM RUN`` runs one in the current folder, on the data and terms of ``equal_terms.py``, and prints its
numbers as JSON.  With ``mxnet`` as the library they are those of the scripts themselves.
"""

import importlib
import json
import os
import sys

import equal_terms
import numpy as np

#: Epochs of the tagger, of which the script has 300: they take a minute.
EPOCHS = 10


def epochs(mx, module, batches, metric, count, evaluate, row_ids=None, all_rows=None):
    """A loop over modules as the sparse examples have it; ``evaluate(epoch)`` gives a number after each epoch."""
    found = []
    for epoch in range(count):
        metric.reset()
        for number, batch in enumerate(batches):
            if row_ids is not None:
                module.prepare(batch, sparse_row_id_fn=row_ids)
            module.forward_backward(batch)
            module.update()
            module.update_metric(metric, batch.label)
            mx.callback.Speedometer(64, 100)(mx.model.BatchEndParam(epoch=epoch, nbatch=number, eval_metric=metric, locals=None))
        if all_rows is not None:
            module.prepare(None, all_rows)
        found.append(float(evaluate(epoch)))
        batches.reset()
    return found


def bound(mx, symbol, data, **names):
    """A module for the arrays that an iterator gives."""
    module = mx.mod.Module(symbol=symbol, **names)
    module.bind(data_shapes=data.provide_data, label_shapes=data.provide_label)
    return module


def linear_classification(mx, run):
    features = 1_000_001

    class Weighted(mx.operator.CustomOp):
        def __init__(self, factor):
            self.factor = float(factor)

        def forward(self, is_train, req, in_data, out_data, aux):
            self.assign(out_data[0], req[0], mx.nd.SoftmaxOutput(in_data[0], in_data[1]))

        def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
            wrong = out_data[0] - mx.nd.one_hot(in_data[1], 2)
            scale = (1 + in_data[1] * self.factor) / self.factor
            self.assign(in_grad[0], req[0], scale.reshape((wrong.shape[0], 1)) * wrong)

    @mx.operator.register("weighted_cross_entropy")
    class WeightedProp(mx.operator.CustomOpProp):
        def __init__(self, factor):
            super().__init__(True)
            self.factor = factor

        def list_arguments(self):
            return ["data", "label"]

        def infer_shape(self, in_shape):
            return in_shape, (in_shape[0],), ()

        def create_operator(self, ctx, shapes, dtypes):
            return Weighted(self.factor)

    x = mx.symbol.Variable("data", stype="csr")
    weight = mx.symbol.Variable("weight", shape=(features, 2), init=mx.initializer.Normal(sigma=0.01), stype="row_sparse")
    score = mx.symbol.broadcast_add(mx.symbol.sparse.dot(x, weight), mx.symbol.Variable("bias", shape=(2,)))
    loss = mx.sym.Custom(score, mx.symbol.Variable("softmax_label"), op_type="weighted_cross_entropy", factor=2, name="out")

    train, test = (mx.io.LibSVMIter(data_libsvm=os.path.join("data", name), data_shape=(features,), batch_size=64, num_parts=1,
                                    part_index=0) for name in ("avazu-app", "avazu-app.t"))
    module = bound(mx, mx.sym.MakeLoss(loss), train, data_names=["data"], label_names=["softmax_label"])
    module.init_params()
    module.init_optimizer(optimizer=mx.optimizer.create(("adam", "adagrad")[run], learning_rate=0.01, rescale_grad=1.0 / 64),
                          kvstore=mx.kvstore.create("local") if run else None)

    def evaluate(epoch):
        score = module.score(test, ["nll_loss"])[0][1]
        module.save_checkpoint("checkpoint", epoch)
        test.reset()
        return score

    return {"eval nll": epochs(mx, module, train, mx.metric.create(["nll_loss"]), 3, evaluate,
                               lambda batch: {"weight": batch.data[0].indices},
                               lambda batch: {"weight": mx.nd.arange(0, features, dtype="int64")})}


def factorization_machine(mx, run):
    class LogLoss(mx.metric.EvalMetric):
        def __init__(self):
            super().__init__("log-loss")

        def update(self, labels, preds):
            mx.metric.check_label_shapes(labels, preds)
            for label, pred in zip(labels, preds, strict=True):
                chance, right = pred.asnumpy().ravel(), label.asnumpy().ravel()
                self.sum_metric += -np.log(np.where(right == 1, chance, 1 - chance) + 1e-12).sum()
                self.num_inst += len(right)

    def variable(name, shape, sigma, rate, decay, stype="row_sparse"):
        return mx.symbol.Variable(name, shape=shape, stype=stype, init=mx.initializer.Normal(sigma), lr_mult=rate, wd_mult=decay)

    x = mx.symbol.Variable("data", stype="csr")
    v, w = variable("v", (1024, 16), 0.001, 0.01, 0.00001), variable("w", (1024, 1), 0.01, 0.01, 0.001)
    linear = mx.symbol.broadcast_add(mx.symbol.dot(x, w), variable("w0", (1,), 0.01, 0.1, 0.01, None))
    alone = mx.sym.dot(x.square(), mx.symbol._internal._square_sum(data=v, axis=1, keepdims=True))
    together = 0.5 * mx.symbol.square(data=mx.symbol.dot(x, v))
    score = mx.symbol.Concat(linear, together, dim=1).sum(axis=1, keepdims=True) - 0.5 * alone
    net = mx.symbol.LogisticRegressionOutput(data=score, label=mx.symbol.Variable("softmax_label"))

    train, test = (mx.io.LibSVMIter(data_libsvm=f"data/{name}", data_shape=(1024,), batch_size=64) for name in ("train", "test"))
    module = bound(mx, net, train)
    module.init_params()
    module.init_optimizer(optimizer="adam", kvstore=mx.kvstore.create("local"), optimizer_params=(
        ("learning_rate", 1), ("wd", 1), ("beta1", 0.9), ("beta2", 0.999), ("epsilon", 1e-8)))

    def evaluate(epoch):
        score = module.score(iter(test), LogLoss())[0][1]
        test.reset()
        return score

    return {"eval log loss": epochs(mx, module, train, LogLoss(), 3, evaluate,
                                    lambda batch: dict.fromkeys("wv", batch.data[0].indices),
                                    lambda batch: dict.fromkeys("wv", mx.nd.arange(0, 1024, dtype="int64")))}


def matrix_factorization(mx, run):
    sizes = {"user": 71569, "item": 65135}

    def looked_up(name):
        weight = mx.sym.Variable(f"{name}_weight", stype="default" if run else "row_sparse")
        return mx.sym.Embedding(data=mx.sym.Variable(name), weight=weight, sparse_grad=not run, input_dim=sizes[name],
                                output_dim=16)

    user, item = looked_up("user"), looked_up("item")
    user = mx.sym.FullyConnected(data=mx.sym.Activation(data=user, act_type="relu"), num_hidden=16)
    item = mx.sym.FullyConnected(data=mx.sym.Activation(data=item, act_type="relu"), num_hidden=16)
    score = mx.sym.Flatten(data=mx.sym.sum(data=user * item, axis=1))
    net = mx.sym.LinearRegressionOutput(data=score, label=mx.sym.Variable("score"))

    def ratings(name):
        with open(f"data/ml-10M100K/{name}", encoding="utf-8") as file:
            users, items, scores = zip(*(line.split("::")[:3] for line in file), strict=True)
        arrays = mx.nd.array(users, dtype="int32"), mx.nd.array(items), mx.nd.array(scores)
        return mx.io.PrefetchingIter(mx.io.NDArrayIter(data={"user": arrays[0], "item": arrays[1]}, label={"score": arrays[2]},
                                                       batch_size=64, shuffle=True))

    train, test = ratings("r1.train"), ratings("r1.test")
    module = bound(mx, net, train, context=[mx.cpu()], data_names=["user", "item"], label_names=["score"])
    module.init_params(initializer=mx.init.Xavier(factor_type="in", magnitude=2.34))
    module.init_optimizer(optimizer=mx.optimizer.create("sgd", learning_rate=0.1, rescale_grad=1.0 / 64), kvstore="device")

    def evaluate(epoch):
        score = module.score(test, ["MSE"])[0][1]
        test.reset()
        return score

    return {"eval MSE": epochs(
        mx, module, train, mx.metric.create(["MSE"]), 3, evaluate,
        lambda batch: {"item_weight": batch.data[0].astype(np.int64), "user_weight": batch.data[1].astype(np.int64)},
        lambda batch: {f"{name}_weight": mx.nd.arange(0, size, dtype="int64") for name, size in sizes.items()})}


def wide_deep(mx, run):
    columns = [("education", "occupation"), ("country", "occupation"), ("age", "education", "occupation")]
    names = ["age", "workclass", "weight", "education", "years", "marital", "occupation", "relationship", "race", "gender",
             "gain", "loss", "hours", "country", "income"]
    words = {"workclass": "Self-emp-not-inc,Private,State-gov,Federal-gov,Local-gov,?,Self-emp-inc,Without-pay,Never-worked",
             "education": "Bachelors,HS-grad,11th,Masters,9th,Some-college,Assoc-acdm,Assoc-voc,7th-8th,Doctorate,Prof-school,"
                          "5th-6th,10th,1st-4th,Preschool,12th", "gender": "Female,Male",
             "relationship": "Husband,Not-in-family,Wife,Own-child,Unmarried,Other-relative"}

    def read(path):
        places, dense, labels = [], [], []
        with open(path, encoding="utf-8") as file:
            for line in file:
                row = dict(zip(names, (field.strip() for field in line.split(",")), strict=True))
                row_age = str(np.digitize(float(row["age"]), [18, 25, 30, 35, 40, 45, 50, 55, 60, 65]))
                for number, crossed in enumerate(columns):
                    text = "_".join([row[name] for name in crossed if name != "age"] + ([row_age] if "age" in crossed else []))
                    places.append(number * 1000 + hash(text) % 1000)
                values = [hash(row["country"]) % 1000, hash(row["occupation"]) % 1000]
                for name in ("workclass", "education", "gender", "relationship"):
                    values += [float(word == row[name]) for word in words[name].split(",")]
                dense.append([*values, *(float(row[name]) for name in ("age", "years", "gain", "loss", "hours"))])
                labels.append(int(row["income"][0] == ">"))
        wide = mx.nd.sparse.csr_matrix(([1.0] * len(places), places, range(0, len(places) + 1, 3)), shape=(len(labels), 3000))
        return wide, np.array(dense), np.array(labels)

    def batches(path, size):
        wide, dense, label = read(path)
        return mx.io.NDArrayIter({"csr_data": wide, "dns_data": dense}, {"softmax_label": label}, size, shuffle=True,
                                 last_batch_handle="discard")

    def network():
        wide, dense = mx.symbol.Variable("csr_data", stype="csr"), mx.symbol.Variable("dns_data")
        weight = mx.symbol.Variable("linear_weight", shape=(3000, 2), init=mx.initializer.Normal(sigma=0.01), stype="row_sparse")
        linear = mx.symbol.broadcast_add(mx.symbol.sparse.dot(wide, weight), mx.symbol.Variable("linear_bias", shape=(2,)))
        ids = mx.symbol.split(data=mx.symbol.slice(data=dense, begin=(0, 0), end=(None, 2)), num_outputs=2, squeeze_axis=1)
        parts = [mx.symbol.slice(data=dense, begin=(0, 2), end=(None, 40))]
        for number, column in enumerate(ids):
            table = mx.symbol.Variable(f"embed_{number}_weight", stype="row_sparse")
            parts.append(mx.symbol.sparse.Embedding(data=column, weight=table, input_dim=1000, output_dim=8, sparse_grad=True))
        deep = mx.symbol.concat(*parts, dim=1)
        for size in (50, 100):
            deep = mx.symbol.Activation(data=mx.symbol.FullyConnected(data=deep, num_hidden=size), act_type="relu")
        deep = mx.symbol.FullyConnected(data=deep, num_hidden=2)
        return mx.symbol.SoftmaxOutput(linear + deep, mx.symbol.Variable("softmax_label"), name="model")

    inputs = {"context": mx.cpu(), "data_names": ["csr_data", "dns_data"], "label_names": ["softmax_label"]}
    if not run:
        train, test = batches("data/adult.data", 100), batches("data/adult.test", 100)
        module = bound(mx, network(), train, **inputs)
        module.init_params()
        module.init_optimizer(optimizer=mx.optimizer.create("adam", learning_rate=0.001, rescale_grad=1.0 / 100))

        def evaluate(epoch):
            score = module.score(test, ["acc"])[0][1]
            module.save_checkpoint("checkpoint", epoch, save_optimizer_states=True)
            return score

        return {"accuracy": epochs(mx, module, train, mx.metric.create(["acc"]), 4, evaluate)}
    wide_deep(mx, 0)
    symbol, arguments, states = mx.model.load_checkpoint("checkpoint", 3)
    test = batches("data/adult.test", 50)
    module = bound(mx, symbol, test, **inputs)
    module.set_params(arg_params=arguments, aux_params=states)
    metric, found = mx.metric.create(["acc"]), []
    for batch in test:
        metric.reset()
        module.forward(batch, is_train=False)
        module.update_metric(metric, batch.label)
        found.append(metric.get()[1][0])
    return {"batch": found, "average": [round(sum(found) / len(found), 5)]}


def lstm_crf(mx, run):
    nd, gluon = mx.nd, mx.gluon
    start, stop = 3, 4

    def total(scores):
        most = nd.max(scores).asscalar()
        return nd.log(nd.sum(nd.exp(scores - most))) + most

    class Tagger(gluon.Block):
        def __init__(self, words):
            super().__init__(prefix="bilstm_crf0_")
            with self.name_scope():
                self.embedding = gluon.nn.Embedding(words, 5)
                self.lstm = gluon.rnn.LSTM(2, num_layers=1, bidirectional=True)
                self.scores = gluon.nn.Dense(5)
                self.moves = self.params.get("crf_transition_matrix", shape=(5, 5))
                self.begin()

        def begin(self):
            return [nd.random.normal(shape=(2, 1, 2)), nd.random.normal(shape=(2, 1, 2))]

        def features(self, words):
            count = words.shape[0]
            out, _ = self.lstm(self.embedding(words).reshape((count, 1, -1)), self.begin())
            return nd.split(self.scores(out.reshape((count, 4))), num_outputs=count, axis=0, squeeze_axis=True)

        def loss(self, words, tags):
            features = self.features(words)
            alphas = nd.array([[0.0 if place == start else -10000.0 for place in range(5)]])
            for feature in features:
                alphas = nd.concat(*[total(alphas + self.moves.data()[tag].reshape((1, -1)) + feature[tag].reshape((1, -1)))
                                     for tag in range(5)], dim=0).reshape((1, -1))
            score, before = nd.array([0]), start
            for feature, tag in zip(features, tags, strict=True):
                tag = int(tag.asscalar())
                score, before = score + self.moves.data()[tag, before] + feature[tag], tag
            return total(alphas + self.moves.data()[stop]) - (score + self.moves.data()[stop, before])

        def forward(self, words):
            best, back = nd.full((1, 5), -10000.0), []
            best[0, start] = 0
            for feature in self.features(words):
                ways = [best + self.moves.data()[tag] for tag in range(5)]
                back.append([int(nd.argmax(way, axis=1).asscalar()) for way in ways])
                chosen = [way[0, place] for way, place in zip(ways, back[-1], strict=True)]
                best = (nd.concat(*chosen, dim=0) + feature).reshape((1, -1))
            tags = [int(nd.argmax(best + self.moves.data()[stop], axis=1).asscalar())]
            for places in reversed(back):
                tags.append(places[tags[-1]])
            return tags[-2::-1]

    texts = [("the wall street journal reported today that apple corporation made money", "0 1 1 1 2 2 2 0 1 2 2"),
             ("georgia tech is a university in georgia", "0 1 2 2 2 2 0")]
    numbers = {word: number for number, word in enumerate(dict.fromkeys(" ".join(text for text, _ in texts).split()))}
    data = [(nd.array([numbers[word] for word in text.split()]), nd.array([float(tag) for tag in tags.split()]))
            for text, tags in texts]
    model = Tagger(len(numbers))
    model.initialize(mx.init.Xavier(magnitude=2.24), ctx=mx.cpu())
    trainer = gluon.Trainer(model.collect_params(), "sgd", {"learning_rate": 0.01, "wd": 1e-4})
    found = {"likelihood": [], "tags": model(data[0][0])}
    for _ in range(EPOCHS):
        summed = 0.0
        for words, tags in data:
            with mx.autograd.record():
                loss = model.loss(words, tags)
                loss.backward()
            trainer.step(1)
            summed += loss.mean()
        found["likelihood"].append(round(float(f"{summed.asscalar() / 2:.4f}"), 4))
    found["tags"] = [float(tag) for tag in (*found["tags"], *(model(data[0][0]) if EPOCHS == 300 else []))]
    return found


def word_language_model(mx, run):
    gluon = mx.gluon
    text = gluon.contrib.data.text

    class Model(gluon.HybridBlock):
        def __init__(self, words):
            super().__init__(prefix="rnnmodel0_")
            with self.name_scope():
                self.drop = gluon.nn.Dropout(0.0)
                self.encoder = gluon.nn.Embedding(words, 12, weight_initializer=mx.init.Uniform(0.1))
                self.rnn = (gluon.rnn.GRU if run else gluon.rnn.LSTM)(12, 2, dropout=0.0, input_size=12)
                self.decoder = gluon.nn.Dense(words, in_units=12, **({"params": self.encoder.params} if run else {}))

        def hybrid_forward(self, F, inputs, hidden):
            output, hidden = self.rnn(self.drop(self.encoder(inputs)), hidden)
            return self.decoder(self.drop(output).reshape((-1, 12))), hidden

    first = text.WikiText2("./data", "train", seq_len=5)
    parts = [first, *(text.WikiText2("./data", part, vocab=first.vocabulary, seq_len=5) for part in ("validation", "test"))]
    train, valid, test = (gluon.data.DataLoader(
        part, batch_size=4, last_batch="discard",
        sampler=gluon.contrib.data.IntervalSampler(len(part), len(part) // 4)) for part in parts)
    model, loss_of = Model(len(first.vocabulary)), gluon.loss.SoftmaxCrossEntropyLoss()
    if run:
        model.hybridize()
        loss_of.hybridize()
    model.initialize(mx.init.Xavier(), ctx=mx.cpu())
    trainer = gluon.Trainer(model.collect_params(), "sgd", {"learning_rate": 5, "momentum": 0, "wd": 0})

    def steps(batches):
        for data, target in batches:
            yield data.as_in_context(mx.cpu()).T, target.as_in_context(mx.cpu()).T.reshape((-1, 1))

    def evaluated(batches):
        state, summed, count = model.rnn.begin_state(func=mx.nd.zeros, batch_size=4, ctx=mx.cpu()), 0.0, 0
        for data, target in steps(batches):
            output, state = model(data, state)
            loss = loss_of(output, target)
            summed, count = summed + mx.nd.sum(loss).asscalar(), count + loss.size
        return summed / count

    found, best, rate = {"train": [], "valid": [], "test": []}, float("inf"), 5
    for _ in range(2 if run else 3):
        summed, state = 0.0, model.rnn.begin_state(func=mx.nd.zeros, batch_size=4, ctx=mx.cpu())
        for number, (data, target) in enumerate(steps(train)):
            state = [one.detach() for one in state]
            with mx.autograd.record():
                output, state = model(data, state)
                loss = loss_of(output, target) / 20
                loss.backward()
            gluon.utils.clip_global_norm([one.grad(mx.cpu()) for one in model.collect_params().values()], 0.25)
            trainer.step(1)
            summed += mx.nd.sum(loss).asscalar()
            if number % 10 == 0 and number:
                found["train"].append(round(float(summed) / 10, 2))
                summed = 0.0
        score = evaluated(valid)
        found["valid"].append(round(float(score), 2))
        if score < best:
            best = score
            found["test"].append(round(float(evaluated(test)), 2))
            model.save_parameters("model.params")
        else:
            rate *= 0.25
            trainer.set_learning_rate(rate)
    model.load_parameters("model.params", mx.cpu())
    found["test"].append(round(float(evaluated(test)), 2))
    return found


if __name__ == "__main__":
    library, program, number = sys.argv[1:]
    equal_terms.write_data(program, ".")
    module = equal_terms.prepare(importlib.import_module(library))
    importlib.import_module(f"{library}.gluon.contrib.data.text").check_sha1 = lambda *args: True  # the text is ours
    print("\n" + json.dumps(globals()[program](module, int(number))))
