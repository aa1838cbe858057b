"""PyTorch's sparse and EmbeddingBag paths on the workloads of ``sparsekit bench gpu``; see ``gpu_protocol.py``.

``python torch_gpu.py cpu`` runs on the processor, timed by its clock: to try the script where there is no GPU.
"""

from __future__ import annotations

import sys
import time
import warnings

import torch
from gpu_protocol import Device, serve
from torch_update import BY_HAND, OPTIMIZERS
from torch_worker import Network

warnings.simplefilter("ignore")  # CSR tensors are in beta, it says
bag = torch.nn.functional.embedding_bag


class Moment:
    """An event of the processor's clock."""

    def record(self):
        self.seconds = time.perf_counter()

    def synchronize(self):
        pass


class Worker(Device):
    """Operations by operation and form, on one device."""

    def __init__(self, device="cuda"):
        self.device = torch.device(device)
        self.on_gpu = self.device.type == "cuda"

    def info(self):
        more = {"CUDA": str(torch.version.cuda), "device": torch.cuda.get_device_name(0)} if self.on_gpu else {"device": "cpu"}
        return {"name": "torch", "version": torch.__version__, "python": sys.version.split()[0], "more": more}

    def event(self):
        return torch.cuda.Event(enable_timing=True) if self.on_gpu else Moment()

    def elapsed(self, before, after):
        return before.elapsed_time(after) if self.on_gpu else (after.seconds - before.seconds) * 1e3

    def wait(self):
        if self.on_gpu:
            torch.cuda.synchronize()

    def total(self, result):
        if isinstance(result, float):
            return result, result
        values = result[-1] if isinstance(result, tuple) else result
        values = values.detach()
        values = (values if values.layout == torch.strided else values.values()).double()
        return values.sum(), values.abs().sum()

    def _put(self, array):
        return torch.from_numpy(array).to(self.device)

    def products(self, parts):
        shape = tuple(int(size) for size in parts["shape"])
        data, indices, indptr, right, turned = (
            self._put(parts[name]) for name in ("data", "indices", "indptr", "right", "turned"))
        left = torch.sparse_csr_tensor(indptr, indices, data, size=shape)
        weight, looked = right.clone().requires_grad_(), right.clone().requires_grad_()
        slopes = turned.repeat_interleave(len(indices) // len(turned), 0)
        recorded = bag(indices, weight, indptr, mode="sum", per_sample_weights=data, include_last_offset=True, sparse=True)
        words = torch.nn.functional.embedding(indices, looked, sparse=True)

        def added(values):
            columns, places = torch.unique(indices, return_inverse=True)
            return columns, torch.zeros((len(columns), values.shape[1]), device=self.device).index_add_(0, places, values)

        return {
            "csr_dense": {"csr_tensor": lambda: left @ right, "embedding_bag": lambda: bag(
                indices, right, indptr, mode="sum", per_sample_weights=data, include_last_offset=True)},
            "csrT_dense": {
                "embedding_bag_backward": lambda: torch.autograd.grad(recorded, weight, turned, retain_graph=True)[0].coalesce(),
                "unique_index_add": lambda: added(data[:, None] * slopes)},
            "embedding_gradient": {
                "embedding_backward": lambda: torch.autograd.grad(words, looked, slopes, retain_graph=True)[0].coalesce(),
                "unique_index_add": lambda: added(slopes)},
        }

    def updates(self, parts):
        shape = tuple(int(size) for size in parts["shape"])
        pairs = [(self._put(rows), self._put(values)) for rows, values in zip(parts["rows"], parts["values"], strict=True)]
        found = {}
        for name in ("sgd", "adam"):
            step, count = BY_HAND[name]
            states = [torch.zeros(shape, device=self.device) for _ in range(count)]
            found[name] = {"by_hand": self.stepping(step, torch.ones(shape, device=self.device), states, pairs),
                           "optim": self._optim(name, shape, pairs)}
        return found

    def _optim(self, name, shape, pairs):
        parameter = torch.nn.Parameter(torch.ones(shape, device=self.device))
        made = OPTIMIZERS[name](parameter)
        gradients = [torch.sparse_coo_tensor(rows[None], values, shape, is_coalesced=True) for rows, values in pairs]

        def step(_weight, _states, number, _values, _count):
            parameter.grad = gradients[number]
            made.step()

        run = self.stepping(step, parameter.detach(), [], [(number, None) for number in range(len(pairs))])
        return run

    def transfers(self, parts):
        dense = torch.from_numpy(parts["dense"])
        matrix = torch.sparse_csr_tensor(*(torch.from_numpy(parts[name]) for name in ("indptr", "indices", "data")), dense.shape)
        there, matrix_there = dense.to(self.device), matrix.to(self.device)
        return {"dense_in": {"to": lambda: dense.to(self.device, copy=True)},
                "csr_in": {"to": lambda: matrix.to(self.device, copy=True)},
                "dense_out": {"to": lambda: there.to("cpu", copy=True)},
                "csr_out": {"to": lambda: matrix_there.to("cpu", copy=True)}}

    def epochs(self, parts):
        size, indptr, batches = int(parts["batch_size"]), parts["indptr"], []
        for start in range(0, len(indptr) - 1, size):
            low, high = indptr[start], indptr[start + size]
            batches.append((self._put(parts["indices"][low:high]), self._put(indptr[start : start + size] - low),
                            self._put(parts["data"][low:high]), self._put(parts["label"][start : start + size]).reshape(-1, 1)))
        network = Network(int(parts["features"])).to(self.device)
        with torch.no_grad():
            for name, parameter in network.named_parameters():
                parameter.fill_(0 if "bias" in name else 0.01)
        optimizer = torch.optim.SGD(network.parameters(), lr=0.01)
        criterion = torch.nn.functional.binary_cross_entropy_with_logits

        def run():
            for indices, offsets, values, label in batches:
                optimizer.zero_grad(set_to_none=True)
                loss = criterion(network(indices, offsets, values), label)
                loss.backward()
                optimizer.step()
            return float(loss)

        return {"epoch": {"embedding_bag,_optim": run}}


if __name__ == "__main__":
    serve(Worker(*sys.argv[1:]))
