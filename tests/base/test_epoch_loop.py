from collections.abc import Iterator

from sparsekit.base.epoch_loop import EpochLoop
from tests.calls import refused


class Noted(EpochLoop[int, str]):
    """Notes what is called, with the counts; ends an epoch after some batches, and the run after some epochs."""

    def __init__(self, ends_epoch: int = 0, ends_run: int = 0) -> None:
        self.ends_epoch, self.ends_run, self.called = ends_epoch, ends_run, []

    def note(self, what: str) -> None:
        self.called.append(f"{what} {self.epochs_done}.{self.batches_done}.{self.steps_done}")

    def batches(self) -> Iterator[int]:
        self.note("batches")
        return iter(range(self.batches_done, 3))

    def step(self, batch: int) -> str:
        self.note(f"step({batch})")
        return f"of {batch}"

    def epoch_begin(self) -> None:
        self.note("epoch_begin")

    def batch_begin(self, batch: int) -> None:
        self.note(f"batch_begin({batch})")

    def batch_end(self, batch: int, outcome: str) -> bool:
        self.note(f"batch_end({batch}, {outcome})")
        return self.batches_done == self.ends_epoch

    def epoch_end(self) -> bool:
        self.note("epoch_end")
        return self.epochs_done == self.ends_run


def test_hooks_are_called_in_order_with_counts_of_what_is_done():
    loop = Noted(ends_epoch=2)
    assert not loop.run(1)
    assert loop.called == [
        "epoch_begin 0.0.0", "batches 0.0.0",
        "batch_begin(0) 0.0.0", "step(0) 0.0.0", "batch_end(0, of 0) 0.1.1",
        "batch_begin(1) 0.1.1", "step(1) 0.1.1", "batch_end(1, of 1) 0.2.2",
        "epoch_end 1.0.2"]


def test_a_run_ends_after_its_epochs_or_when_a_hook_ends_it():
    loop = Noted()
    assert not loop.run(2)
    assert (loop.epochs_done, loop.batches_done, loop.steps_done) == (2, 0, 6)
    assert Noted(ends_run=2).run(5)
    endless = Noted(ends_run=4)
    assert endless.run()
    assert endless.steps_done == 12


def test_a_run_goes_on_from_its_counts():
    loop = Noted()
    loop.epochs_done, loop.batches_done, loop.steps_done = 1, 2, 5
    assert not loop.run(2)
    assert loop.called == ["epoch_begin 1.2.5", "batches 1.2.5", "batch_begin(2) 1.2.5", "step(2) 1.2.5",
                           "batch_end(2, of 2) 1.3.6", "epoch_end 2.0.6"]
    assert not loop.run(2)
    assert len(loop.called) == 6


def test_a_loop_needs_batches_and_a_step():
    refused(TypeError, "abstract", EpochLoop)
