// Where the steps of several runs lie when the same step of each begins at the same place; align.py works it out.

// Position of the last of the sorted `values` that is at most `wanted`; -1 if there is none.
function lastUpTo(values, wanted) {
  let [low, high] = [0, values.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (values[middle] <= wanted) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}

export class Steps {
  // `starts` and `lengths` are the places on the common axis; each run has the steps in it, and how far each is moved.
  constructor({ kind, reason, labels, tail, view }, columns, runs) {
    Object.assign(this, { kind, reason, labels, tail, view, starts: columns.slot_start, lengths: columns.slot_length });
    const { step_run: run, step_slot: slots, step_start: starts, step_end: ends, step_shift: shifts } = columns;
    this.runs = Array.from({ length: runs }, (_, r) => {
      const [from, to] = [lastUpTo(run, r - 1) + 1, lastUpTo(run, r) + 1];
      const cut = (values) => values.subarray(from, to);
      return { slots: cut(slots), starts: cut(starts), ends: cut(ends), shifts: cut(shifts), places: cut(starts).map((time, i) => time + shifts[from + i]) };
    });
  }

  get some() { return this.labels.length > 0; }

  // Where each event begins on the common axis, and how long it is there: a gap inside it makes it longer, not slower.
  arrange({ run, start, duration }) {
    const [begin, length] = [new Float64Array(start.length), new Float64Array(start.length)];
    for (let i = 0; i < start.length; i += 1) {
      const { starts, shifts } = this.runs[run[i]];
      if (!starts.length) {
        [begin[i], length[i]] = [start[i], duration[i]];
        continue;
      }
      const at = Math.max(0, lastUpTo(starts, start[i]));
      // What ends where a step begins, but for a rounding, ends before the gap.
      const end = start[i] + duration[i] - 1e-3;
      let last = at;
      if (starts[at + 1] < end) {
        last = lastUpTo(starts, end);
        while (last > at && starts[last] === end) last -= 1;
      }
      begin[i] = start[i] + shifts[at];
      length[i] = duration[i] + shifts[last] - shifts[at];
    }
    return { start: begin, duration: length };
  }

  // A run's own time at a place of the axis; in a gap, the time at which the gap begins.
  real(run, place) {
    const { places, starts, shifts } = this.runs[run];
    if (!starts.length) return place;
    const at = Math.max(0, lastUpTo(places, place));
    return Math.min(place - shifts[at], starts[at + 1] ?? Infinity);
  }

  // Where a run's own time lies on the axis.
  shown(run, time) {
    const { starts, shifts } = this.runs[run];
    return starts.length ? time + shifts[Math.max(0, lastUpTo(starts, time))] : time;
  }

  // Call back with the beginning and end, on the axis, of each gap of a run between two places.
  gaps(run, begin, end, visit) {
    const { slots, starts, ends, places } = this.runs[run];
    for (let i = Math.max(0, lastUpTo(places, begin)); i < slots.length && places[i] < end; i += 1) {
      if (this.after(slots[i])) return;
      const over = places[i] + (starts[i + 1] ?? ends[i]) - starts[i];
      const next = this.starts[slots[i]] + this.lengths[slots[i]];
      if (next > over) visit(over, next);
    }
  }

  // The step of a run in a slot: when it began and ended on the run's own time.
  step(run, slot) {
    const { slots, starts, ends } = this.runs[run];
    const at = lastUpTo(slots, slot);
    return at >= 0 && slots[at] === slot ? { start: starts[at], end: ends[at] } : null;
  }

  // The slot that a run's own time belongs to; -1 before the first step.
  slotOf(run, time) {
    const { slots, starts } = this.runs[run];
    const at = lastUpTo(starts, time);
    return at < 0 ? -1 : slots[at];
  }

  slotAt(place) { return lastUpTo(this.starts, place); }

  // Whether a slot holds what follows the steps.
  after(slot) { return this.tail && slot === this.labels.length - 1; }

  name(slot) { return this.after(slot) ? "after the steps" : `step ${this.labels[slot]}`; }
}
