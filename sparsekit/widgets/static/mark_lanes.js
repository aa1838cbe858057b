// What happened at an instant: markers, counters, arrays that silently became dense, sorted into lanes.

import { formatCount, formatDuration, formatValue } from "./common.js";

export const MARKER = 0;
export const COUNTER = 1;
export const DENSE = 2;
export const SIGN_ROW = 26;
export const COUNTER_ROW = 44;
// Lanes of counters that are drawn: what a canvas can be high. The table has all.
const MOST_COUNTERS = 24;

export class Marks {
  constructor({ mark_kind: kind, mark_time: time, mark_value: value, mark_name: name, mark_words: words, mark_unit: unit }, strings) {
    Object.assign(this, { kind, time, value, name, words, unit, strings, count: kind.length });
    this.signs = Int32Array.from(kind.keys()).filter((i) => kind[i] !== COUNTER);
    const found = new Map();
    for (let i = 0; i < this.count; i += 1) {
      const key = kind[i] === COUNTER ? name[i] : -kind[i] - 1;
      if (!found.has(key)) found.set(key, { kind: kind[i], list: [] });
      if (kind[i] !== COUNTER || !Number.isNaN(value[i])) found.get(key).list.push(i);
    }
    const lanes = [...found.values()].map(({ kind: one, list }) => this.lane(one, Int32Array.from(list))).filter((lane) => lane.order.length);
    this.counters = lanes.filter((lane) => lane.kind === COUNTER);
    this.lanes = [...lanes.filter((lane) => lane.kind === MARKER), ...lanes.filter((lane) => lane.kind === DENSE),
      ...this.counters.slice(0, MOST_COUNTERS)];
  }

  lane(kind, order) {
    if (kind !== COUNTER) return { kind, order, label: kind === DENSE ? "densified" : "markers", height: SIGN_ROW };
    const [least, most] = this.extremes(order);
    const words = least < most ? `${formatValue(least)} to ${formatValue(most)}` : formatValue(least);
    return { kind, order, least, most, label: this.label(order[0]), words, height: COUNTER_ROW };
  }

  extremes(order) {
    let [least, most] = [Infinity, -Infinity];
    for (const i of order) {
      least = Math.min(least, this.value[i]);
      most = Math.max(most, this.value[i]);
    }
    return [least, most];
  }

  label(i) { return this.strings[this.name[i]]; }

  said(i) { return this.kind[i] === COUNTER ? `${Number.isNaN(this.value[i]) ? this.strings[this.words[i]] : formatValue(this.value[i])} ${this.strings[this.unit[i]]}`.trim() : this.strings[this.words[i]]; }

  kindOf(i) { return ["marker", "counter", "became dense"][this.kind[i]]; }

  // Position in `order` of the first mark at or after a time.
  from(order, time) {
    let [low, high] = [0, order.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.time[order[middle]] >= time) high = middle;
      else low = middle + 1;
    }
    return low;
  }

  // What each counter was at a time, the first few of them.
  at(time) {
    const known = this.counters.map((lane) => lane.order[this.from(lane.order, time + 1e-6) - 1]).filter((i) => i !== undefined);
    return known.slice(0, 4).map((i) => `${this.label(i)} ${this.said(i)}`).join(", ");
  }

  sentence(i) {
    const what = { [MARKER]: "Marker", [COUNTER]: "Counter", [DENSE]: "Became dense:" }[this.kind[i]];
    const said = this.said(i);
    const values = this.kind[i] === COUNTER ? "" : this.at(this.time[i]);
    return `${what} ${this.label(i)}${said && `, ${said}`}, at ${formatDuration(this.time[i])}${values && `; ${values}`}.`;
  }

  // Added to the name of the whole view.
  get summary() {
    const parts = [[this.signs.filter((i) => this.kind[i] === MARKER).length, "marker"], [this.counters.length, "counter"],
      [this.signs.filter((i) => this.kind[i] === DENSE).length, "densification"]].filter(([count]) => count);
    return parts.map(([count, word]) => `, ${formatCount(count)} ${word}${count === 1 ? "" : "s"}`).join("");
  }
}
