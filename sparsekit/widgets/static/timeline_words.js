// What the timeline says in words: the details of one operator, the statistics of a span, the table twin.

import { SERIES, element, formatBytes, formatCount, formatDensity, formatDuration, formatShape, formatShare, table } from "./common.js";
import { Painter } from "./timeline_paint.js";

export class Teller extends Painter {
  describe(event) {
    const { data } = this;
    const { start, duration, own, bytes, flops, dense_flops: dense, fallback, line, attributes, run } = data.columns;
    const facts = [
      ["lane", data.lane(event)], ["layer", data.layer(event)], ["line", data.strings[line[event]]],
      ["run", data.runs.length > 1 ? data.runs[run[event]] : ""], ["step", this.stepOf(event)],
      ["start", formatDuration(start[event])], ["duration", `${formatDuration(duration[event])} (own ${formatDuration(own[event])})`],
      ["moved", bytes[event] ? `${formatBytes(bytes[event])} (${formatBytes((bytes[event] / (duration[event] || 1)) * 1e6)}/s)` : ""],
      ["useful FLOPs", flops[event] ? formatCount(flops[event]) : ""],
      ["dense-equivalent", dense[event] ? `${formatCount(dense[event])} FLOPs` : ""],
      ["work avoided", dense[event] > flops[event] && flops[event] ? `${formatDensity(1 - flops[event] / dense[event])}, ${formatCount(dense[event] / flops[event])}× less` : ""],
      ...Object.entries(data.attributes[attributes[event]] ?? {}).map(([key, value]) => [key, typeof value === "string" ? value : JSON.stringify(value)]),
    ].filter(([, value]) => value);
    const list = element("dl", {}, ...facts.flatMap(([key, value]) => [element("dt", {}, key), element("dd", {}, value)]));
    const close = element("button", { type: "button", "aria-label": "Close details", onclick: () => { this.select(-1); this.stage.focus(); } }, "×");
    this.panel.replaceChildren(
      element("div", { class: "sk-head" }, element("h4", {}, data.label(event)), close),
      ...(fallback[event] ? [element("p", { class: "sk-alarm" }, `A sparse array was made dense here: ${fallback[event] === 2 ? "the result is dense by nature, zeros do not stay zero." : "no sparse kernel fits these storage types."}`)] : []),
      list, this.arrayList(event), this.actions(event),
    );
    this.panel.hidden = false;
  }

  // One line of words and one bar of components for each array.
  arrayList(event) {
    const { inputs, outputs } = this.data.arrays(event);
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

  actions(event) {
    const button = (text, action, enabled = true) => element("button", { type: "button", disabled: !enabled, onclick: action }, text);
    const { name } = this.data.columns;
    const again = (direction) => () => this.select(this.walk(direction, (i) => name[i] === name[event]));
    const partner = this.partners[0];
    const words = partner === undefined ? "no partner" : `${this.data.lane(partner)} partner: ${this.data.name(partner)}`;
    return element("div", { class: "sk-bar" }, button("zoom to it", () => this.zoomTo(event)),
      button(words, () => this.select(partner), partner !== undefined),
      button("‹ same operator", again(-1)), button("same operator ›", again(1)));
  }

  // In which step something ran, and how far into it it began.
  stepOf(event) {
    const into = this.into(event);
    return into ? `${formatDuration(into[1])} into ${into[0]}` : "";
  }

  zoomTo(event) {
    const { start, duration } = this.data.placed;
    const margin = duration[event] * 0.15 || 0.01;
    this.move(start[event] - margin, start[event] + duration[event] + margin);
  }

  measureView() {
    const [a, b] = this.range ?? this.view;
    const { own, bytes, start, duration, run } = this.data.columns;
    const { runs } = this.data;
    const spans = runs.map((_, r) => [this.data.real(r, a), this.data.real(r, b)]);
    const groups = new Map();
    let [count, total] = [0, 0];
    this.data.within(a, b, (event) => {
      // An event that reaches out of the span counts for the part of it that lies inside.
      const [from, to] = spans[run[event]];
      const inside = Math.max(0, Math.min(to, start[event] + duration[event]) - Math.max(from, start[event]));
      const share = duration[event] > 0 ? own[event] * (inside / duration[event]) : 0;
      const key = `${this.data.lane(event)}\u0000${this.data.name(event)}`;
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
    const what = this.range ? "Measured span" : "In view";
    const several = runs.length > 1;
    const rows = ranked.slice(0, 8).map(([key, group]) => {
      const times = several ? group.each.map((time) => (time > 0 ? formatDuration(time) : "")) : [formatDuration(group.own), formatShare(group.own, total)];
      return [...key.split("\u0000"), formatCount(group.calls), ...times, formatBytes(group.bytes)];
    });
    const caption = `${what}, by own time${several ? " in each run" : ""}${ranked.length > 8 ? `; ${formatCount(ranked.length - 8)} more operators` : ""}`;
    this.statistics.replaceChildren(table(["lane", "operator", "calls", ...(several ? runs : ["own time", "share"]), "moved"], rows, caption));
    const length = this.data.aligned ? "" : `${formatDuration(b - a)}, `;
    if ((this.selected < 0 && this.chosen < 0) || this.range) this.say(`${what}: ${length}${formatCount(count)} events.${this.stepWords(a, b)}`);
    this.fillTwin();
    this.fillSteps();
  }

  fillTwin() {
    if (!this.twin.open) return;
    const found = [];
    const { start, duration, run } = this.data.columns;
    const { runs, placed } = this.data;
    this.data.within(this.view[0], this.view[1], (event) => found.push(event));
    found.sort((a, b) => placed.start[a] - placed.start[b]);
    const where = (event) => [...(runs.length > 1 ? [runs[run[event]]] : []), ...(this.data.steps.some ? [this.into(event)?.[0] ?? ""] : [])];
    const rows = found.slice(0, 200).map((event) => [
      element("button", { type: "button", onclick: () => this.select(event) }, this.data.label(event)),
      this.data.lane(event), ...where(event), formatDuration(start[event]), formatDuration(duration[event]),
      this.data.columns.density[event] < 0 ? "" : formatDensity(this.data.columns.density[event]),
    ]);
    const caption = found.length > 200 ? `The first 200 of ${formatCount(found.length)}; zoom in for the others` : "";
    const places = [...(runs.length > 1 ? ["run"] : []), ...(this.data.steps.some ? ["step"] : [])];
    this.rows.replaceChildren(table(["operator", "lane", ...places, "start", "duration", "lowest density"], rows, caption));
  }
}
