// What the timeline says in words: the details of one operator, the statistics of a span, the table of the events in view.

import { SERIES, element, formatBytes, formatCount, formatDensity, formatDuration, formatShape, formatShare, table } from "./common.js";

// One operator as a sentence.
export function sentence({ data }, event) {
  const { runs, columns: { start, duration, fallback, run } } = data;
  const dense = ["", ", made a sparse array dense", ", made a sparse array dense by nature"][fallback[event]];
  const where = [data.lane(event), ...(runs.length > 1 ? [runs[run[event]]] : [])].join(", ");
  return `${data.label(event)}, ${where}, ${formatDuration(duration[event])} from ${formatDuration(start[event])}${dense}.`;
}

// The panel below the lanes, which keep their width.  `actions` has close(), select(event), beside(direction, event) and zoomTo(event), which its
// buttons call.
export class Details {
  constructor(scene, actions) {
    Object.assign(this, { scene, actions });
    this.element = element("aside", { class: "sk-panel sk-dock", "aria-label": "Details of the operator", hidden: true });
  }

  get open() { return !this.element.hidden; }

  close() { this.element.hidden = true; }

  describe(event) {
    const { data } = this.scene;
    const { start, duration, own, bytes, flops, dense_flops: dense, fallback, line, attributes, run } = data.columns;
    const facts = [
      ["lane", data.lane(event)], ["layer", data.layer(event)], ["line", data.strings[line[event]]],
      [data.what, data.runs.length > 1 ? data.runs[run[event]] : ""],
      ["start", formatDuration(start[event])], ["duration", `${formatDuration(duration[event])} (own ${formatDuration(own[event])})`],
      ["moved", bytes[event] ? `${formatBytes(bytes[event])} (${formatBytes((bytes[event] / (duration[event] || 1)) * 1e6)}/s)` : ""],
      ["useful FLOPs", flops[event] ? formatCount(flops[event]) : ""],
      ["dense-equivalent", dense[event] ? `${formatCount(dense[event])} FLOPs` : ""],
      ["work avoided", dense[event] > flops[event] && flops[event] ? `${formatDensity(1 - flops[event] / dense[event])}, ${formatCount(dense[event] / flops[event])}× less` : ""],
      ...Object.entries(data.attributes[attributes[event]] ?? {}).map(([key, value]) => [key, typeof value === "string" ? value : JSON.stringify(value)]),
    ].filter(([, value]) => value);
    const list = element("dl", {}, ...facts.flatMap(([key, value]) => [element("dt", {}, key), element("dd", {}, value)]));
    const close = element("button", { type: "button", "aria-label": "Close details", onclick: this.actions.close }, "×");
    this.element.replaceChildren(
      element("div", { class: "sk-head" }, element("h4", {}, data.label(event)), close),
      ...(fallback[event] ? [element("p", { class: "sk-alarm" }, `A sparse array was made dense here: ${fallback[event] === 2 ? "the result is dense by nature, zeros do not stay zero." : "no sparse kernel fits these storage types."}`)] : []),
      list, this.arrayList(event), this.buttons(event),
    );
    this.element.hidden = false;
  }

  // One line of words and one bar of components for each array.
  arrayList(event) {
    const { inputs, outputs } = this.scene.data.arrays(event);
    const items = [...inputs.map((array) => this.array("in", array)), ...outputs.map((array) => this.array("out", array))];
    return items.length ? element("ul", { class: "sk-arrays" }, ...items) : element("p", {}, "No arrays: this is a span, not an operator.");
  }

  array(side, [stype, shape, dtype, stored, density, index, size, components, rows]) {
    const all = Array.isArray(shape) ? shape.reduce((product, axis) => product * axis, 1) : 0;
    const sparse = stype !== "default";
    const inRows = rows === null ? "" : ` in ${formatCount(rows)} rows`;
    const parts = Object.entries(components ?? {});
    const bar = parts.map(([, part], i) => element("i", { style: `flex:${part} 1 0;background:${SERIES[i % SERIES.length]}` }));
    const words = parts.map(([name, part], i) => element("span", {},
      element("i", { style: `background:${SERIES[i % SERIES.length]}` }), `${name} ${formatBytes(part)}`));
    return element("li", {},
      element("div", { class: "sk-head" }, element("span", {}, `${side} `, element("b", {}, `${stype ?? "?"} ${formatShape(shape)}`)), element("b", {}, formatBytes(size))),
      element("div", {}, sparse ? `nnz ${formatCount(stored)} of ${formatCount(all)}${inRows}, density ${formatDensity(density)}` : `all ${formatCount(all)} values`,
        `; ${dtype ?? "?"}${index ? `, ${index} indices` : ""}`),
      element("div", { class: "sk-parts", "aria-hidden": "true" }, ...bar), element("div", { class: "sk-components" }, ...words));
  }

  buttons(event) {
    const button = (text, action, enabled = true) => element("button", { type: "button", disabled: !enabled, onclick: action }, text);
    const { scene: { data, partners: [partner] }, actions } = this;
    const again = (direction) => () => actions.beside(direction, event);
    const culprit = data.culprit(event);
    const dense = culprit < 0 ? [] : [button(`made dense by ${data.label(culprit)}`, () => actions.select(culprit))];
    const words = partner === undefined ? "no partner" : `${data.lane(partner)} partner: ${data.name(partner)}`;
    return element("div", { class: "sk-bar" }, button("zoom to it", () => actions.zoomTo(event)),
      button(words, () => actions.select(partner), partner !== undefined), ...dense,
      button("‹ same operator", again(-1)), button("same operator ›", again(1)));
  }
}

// What ran in the span, by operator.
export class Statistics {
  constructor(scene) {
    this.scene = scene;
    this.element = element("div", { class: "sk-table" });
  }

  fill() {
    const { data, range, span: [a, b] } = this.scene;
    const { runs, columns: { own, bytes, start, duration, run } } = data;
    const groups = new Map();
    let [count, total] = [0, 0];
    data.within(a, b, (event) => {
      // An event that reaches out of the span counts for the part of it that lies inside.
      const inside = Math.max(0, Math.min(b, start[event] + duration[event]) - Math.max(a, start[event]));
      const share = duration[event] > 0 ? own[event] * (inside / duration[event]) : 0;
      const key = `${data.lane(event)}\u0000${data.name(event)}`;
      const group = groups.get(key) ?? { calls: 0, own: 0, bytes: 0, each: runs.map(() => 0) };
      group.calls += 1;
      group.own += share;
      group.each[run[event]] += share;
      group.bytes += bytes[event];
      groups.set(key, group);
      count += 1;
      total += share;
    });
    const ranked = [...groups].sort((x, y) => y[1].own - x[1].own);
    const several = runs.length > 1;
    const rows = ranked.slice(0, 8).map(([key, group]) => {
      const times = several ? group.each.map((time) => (time > 0 ? formatDuration(time) : "")) : [formatDuration(group.own), formatShare(group.own, total)];
      return [...key.split("\u0000"), formatCount(group.calls), ...times, formatBytes(group.bytes)];
    });
    const caption = `${range ? "Measured span" : "In view"}, by own time${several ? ` in each ${data.what}` : ""}${ranked.length > 8 ? `; ${formatCount(ranked.length - 8)} more operators` : ""}`;
    this.element.replaceChildren(table(["lane", "operator", "calls", ...(several ? runs : ["own time", "share"]), "moved"], rows, caption));
    this.count = count;
  }

  // What was filled in, as a sentence.
  get words() {
    const { range, span: [a, b] } = this.scene;
    return `${range ? "Measured span" : "In view"}: ${formatDuration(b - a)}, ${formatCount(this.count)} events.`;
  }
}

// `select(event)` is called when an event is pressed.
export function eventTable({ data, view }, select) {
  const found = [];
  const { runs, columns: { start, duration, density, run } } = data;
  data.within(...view, (event) => found.push(event));
  found.sort((a, b) => start[a] - start[b]);
  const where = (event) => [...(runs.length > 1 ? [runs[run[event]]] : [])];
  const rows = found.slice(0, 200).map((event) => [
    element("button", { type: "button", onclick: () => select(event) }, data.label(event)),
    data.lane(event), ...where(event), formatDuration(start[event]), formatDuration(duration[event]),
    density[event] < 0 ? "" : formatDensity(density[event]),
  ]);
  const caption = found.length > 200 ? `The first 200 of ${formatCount(found.length)}; zoom in for the others` : "";
  const places = [...(runs.length > 1 ? [data.what] : [])];
  return table(["operator", "lane", ...places, "start", "duration", "lowest density"], rows, caption);
}

// Tables that are closed at first, and filled while they are open: `make()` gives them.
export class FoldedTable {
  constructor(words, kind, make) {
    this.make = make;
    this.rows = element("div", { class: "sk-table" });
    this.element = element("details", { class: kind, ontoggle: () => this.fill() }, element("summary", {}, words), this.rows);
  }

  fill() { if (this.element.open) this.rows.replaceChildren(...this.make()); }
}
