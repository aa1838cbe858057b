// What the timeline shows: packed columns read into tracks, and the colours of storage types.

import { Marks } from "./mark_lanes.js";

export const ROW = 22;
export const TOP = 24;
const GAP = 6;
const RUN_HEAD = 24;

// ---- the data

export class Data {
  constructor({ header, columns }) {
    Object.assign(this, header);
    this.columns = columns;
    // Processes of one run have one clock.
    this.shared = header.clock === "common";
    this.what = this.shared ? "process" : "run";
    this.count = columns.start.length;
    this.marks = new Marks(columns, header.strings);
    const { start, duration } = columns;
    // Compilation before the first step lies before time 0.
    this.begin = start.reduce((least, time) => Math.min(least, time), 0);
    this.end = 0;
    for (let i = 0; i < this.count; i += 1) this.end = Math.max(this.end, start[i] + duration[i]);
    for (const time of this.marks.time) {
      this.begin = Math.min(this.begin, time);
      this.end = Math.max(this.end, time);
    }
    this.length = this.end - this.begin || 1;
    this.layout();
  }

  // One track for each run, lane and row; within it events are sorted by start.
  layout() {
    const { run, lane, row } = this.columns;
    const found = new Map();
    for (let i = 0; i < this.count; i += 1) {
      const key = (run[i] * 256 + lane[i]) * 256 + row[i];
      const list = found.get(key);
      if (list) list.push(i);
      else found.set(key, [i]);
    }
    this.tracks = [];
    this.bands = [];
    let y = TOP;
    let previous = -1;
    for (const key of [...found.keys()].sort((a, b) => a - b)) {
      const [r, l, depth] = [key >> 16, (key >> 8) & 255, key & 255];
      if (this.runs.length > 1 && r !== previous) {
        this.bands.push({ head: true, run: r, y, height: RUN_HEAD });
        y += RUN_HEAD;
      }
      const band = this.bands.at(-1);
      if (band && !band.head && band.run === r && band.lane === l) {
        y -= GAP / 2;
      } else {
        this.bands.push({ head: false, run: r, lane: l, y, height: 0 });
        y += GAP / 2;
      }
      previous = r;
      this.tracks.push(this.track({ run: r, lane: l, row: depth, y }, Int32Array.from(found.get(key))));
      y += ROW + GAP / 2;
      this.bands.at(-1).height = y - this.bands.at(-1).y;
    }
    for (const lane of this.marks.lanes) {
      lane.y = y;
      this.bands.push({ head: false, run: 0, label: lane.label, words: lane.words, y, height: lane.height });
      y += lane.height;
    }
    this.height = y;
    this.readers = Int32Array.from(this.columns.culprit.keys()).filter((event) => this.culprit(event) >= 0);
    this.readers.sort((a, b) => this.columns.start[a] - this.columns.start[b]);
    this.trackOf = new Int32Array(this.count);
    this.tracks.forEach((track, t) => { for (const event of track.order) this.trackOf[event] = t; });
  }

  // A track and what finding one's way in it takes: the latest end so far, for binary search.
  track(place, order) {
    const { start, duration } = this.columns;
    const latest = new Float64Array(order.length);
    let reached = this.begin;
    order.forEach((event, i) => { latest[i] = reached = Math.max(reached, start[event] + duration[event]); });
    return { ...place, order, latest, longest: this.longest(order) };
  }

  // The same tracks with only the events that are accepted.
  subset(accept) {
    return this.tracks.map((track) => this.track(track, track.order.filter(accept))).filter((track) => track.order.length);
  }

  // Longest duration among each 32 neighbours: lets painting leap over what is narrower than a pixel.
  longest(order) {
    const found = new Float64Array(Math.ceil(order.length / 32));
    order.forEach((event, i) => { found[i >> 5] = Math.max(found[i >> 5], this.columns.duration[event]); });
    return found;
  }

  // Position of the next event that is at least `pixel` long or starts at or after `time`.
  leap(track, low, time, pixel) {
    const high = this.starting(track, time, low);
    const { duration } = this.columns;
    for (let i = low; i < high;) {
      if ((i & 31) === 0 && track.longest[i >> 5] < pixel) i += 32;
      else if (duration[track.order[i]] >= pixel) return i;
      else i += 1;
    }
    return high;
  }

  // Position in a track of the first event that ends after `time`.
  first(track, time) {
    let [low, high] = [0, track.latest.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (track.latest[middle] > time) high = middle;
      else low = middle + 1;
    }
    return low;
  }

  // Position in a track, from `low` on, of the first event that starts at or after `time`.
  starting(track, time, low) {
    const { start } = this.columns;
    let high = track.order.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (start[track.order[middle]] >= time) high = middle;
      else low = middle + 1;
    }
    return low;
  }

  within(begin, end, visit) {
    const { start } = this.columns;
    for (const track of this.tracks) {
      for (let i = this.first(track, begin); i < track.order.length && start[track.order[i]] < end; i += 1) {
        visit(track.order[i]);
      }
    }
  }

  name(event) { return this.strings[this.columns.name[event]]; }

  layer(event) { return this.strings[this.columns.layer[event]]; }

  lane(event) { return this.lanes[this.columns.lane[event]]; }

  label(event) { return this.layer(event) ? `${this.name(event)} · ${this.layer(event)}` : this.name(event); }

  // 1 for each event that has every one of the terms in its operator, layer or line, and 0 for the others.
  matching(terms) {
    const { name, layer, line } = this.columns;
    const lower = this.strings.map((text) => text.toLowerCase());
    const has = terms.map((term) => lower.map((text) => text.includes(term)));
    return Uint8Array.from(name, (_, i) => Number(has.every((found) => found[name[i]] || found[layer[i]] || found[line[i]])));
  }

  arrays(event) {
    const { first_array: firsts, inputs, array } = this.columns;
    const end = event + 1 < this.count ? firsts[event + 1] : array.length;
    const found = [...array.subarray(firsts[event], end)].map((i) => this.array_table[i]);
    return { inputs: found.slice(0, inputs[event]), outputs: found.slice(inputs[event]) };
  }

  // The event that made dense what this one reads; -1 if there is none.
  culprit(event) {
    const found = this.columns.culprit[event];
    return found === event ? -1 : found;
  }

  // The readers of dense arrays that begin within a span.
  readersWithin(begin, end) {
    const { readers, columns: { start } } = this;
    const from = (time) => {
      let [low, high] = [0, readers.length];
      while (low < high) {
        const middle = (low + high) >> 1;
        if (start[readers[middle]] < time) low = middle + 1;
        else high = middle;
      }
      return low;
    };
    return readers.subarray(from(begin), from(end));
  }

  partners(event) {
    const { node, run } = this.columns;
    const found = [];
    if (node[event] < 0) return found;
    for (let i = 0; i < this.count; i += 1) {
      if (i !== event && node[i] === node[event] && run[i] === run[event]) found.push(i);
    }
    return found;
  }
}

// The colour of every event, by the storage types of its arrays, as Python found them.
export class Coloring {
  constructor({ columns: { storage }, storage_types: types }) {
    [this.names, this.colors, this.codes] = [0, 1, 2].map((part) => types.map((type) => type[part]));
    const present = new Set(storage);
    this.shown = types.map((_, i) => present.has(i));
    this.category = (event) => storage[event];
    this.of = (event) => this.colors[storage[event]];
  }
}
