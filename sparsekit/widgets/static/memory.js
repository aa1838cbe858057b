// The live memory view: memory over time by role, and what was alive at the peak as nested boxes.
// An anywidget front-end module: render({ model, el }) builds the view and returns its cleanup.

import { OTHER, element, formatBytes, formatDuration, formatShape, formatShare, formatTick, inkOn, shape, table, taken, ticks } from "./common.js";
import { switches } from "./memory_what_if.js";

const ROLES = {
  parameter: "#0072b2", gradient: "#e69f00", "optimizer state": "#cc79a7", input: "#009e73", activation: "#56b4e9", workspace: OTHER,
};
const MARGIN = { left: 66, right: 14, top: 24, bottom: 22 };
const MOST_POINTS = 1200;

const colorOf = (role) => (Object.hasOwn(ROLES, role) ? ROLES[role] : OTHER);

// Keep the highest sample of each stretch, so that no peak is lost.
function thin(samples) {
  const size = Math.ceil(samples.length / MOST_POINTS);
  if (size <= 1) return samples;
  const kept = [];
  for (let i = 0; i < samples.length; i += size) {
    kept.push(samples.slice(i, i + size).reduce((best, sample) => (sample.total > best.total ? sample : best)));
  }
  return kept;
}

// Lay out boxes whose areas are as their values, close to square (Bruls, Huizing and van Wijk, 2000).
export function squarify(items, box) {
  const total = items.reduce((sum, item) => sum + item.value, 0);
  if (!(total > 0) || !(box.w > 0) || !(box.h > 0)) return [];
  const area = (box.w * box.h) / total;
  const placed = [];
  let { x, y, w, h } = box;
  let row = [];
  const worst = (values, side) => {
    const sum = values.reduce((a, b) => a + b, 0);
    return Math.max(...values.map((value) => Math.max((side * side * value) / (sum * sum), (sum * sum) / (side * side * value))));
  };
  const flush = () => {
    const sum = row.reduce((a, item) => a + item.value * area, 0);
    const across = w >= h;
    const thick = sum / (across ? h : w);
    let at = across ? y : x;
    for (const item of row) {
      const long = (item.value * area) / thick;
      placed.push(across ? { item, x, y: at, w: thick, h: long } : { item, x: at, y, w: long, h: thick });
      at += long;
    }
    if (across) [x, w] = [x + thick, w - thick];
    else [y, h] = [y + thick, h - thick];
    row = [];
  };
  for (const item of items.filter((candidate) => candidate.value > 0)) {
    const side = Math.min(w, h);
    const values = row.map((member) => member.value * area);
    if (row.length && worst([...values, item.value * area], side) > worst(values, side)) flush();
    row.push(item);
  }
  if (row.length) flush();
  return placed;
}

function group(items, key) {
  const found = new Map();
  for (const item of items) found.set(key(item), [...(found.get(key(item)) ?? []), item]);
  const sum = (members) => members.reduce((total, item) => total + item.bytes, 0);
  return [...found].map(([name, members]) => ({ name, members, value: sum(members) })).sort((a, b) => b.value - a.value || (a.name < b.name ? -1 : 1));
}

class MemoryView {
  constructor(model, root) {
    this.model = model;
    this.root = root;
    const memory = model.get("memory") ?? {};
    this.samples = (memory.samples ?? []).map(([time, total, roles]) => ({ time, total, roles: roles ?? {} }));
    this.alive = (memory.at_peak ?? []).filter((item) => item.bytes > 0);
    this.peak = { time: memory.peak_time ?? 0, bytes: memory.peak_bytes ?? 0 };
    this.process = memory.process_peak_bytes;
    this.top = memory.top_bytes ?? 0;
    this.recorded = this.alive;
    this.changes = memory.model?.kinds.length ? () => switches(memory.model, memory.at_peak, (alive) => this.suppose(alive)) : null;
    this.levels = ["role", ...(this.alive.some((item) => item.layer) ? ["layer"] : []), "owner"];
    this.start = this.samples[0]?.time ?? 0;
    this.last = this.samples.at(-1)?.time ?? 0;
    this.end = this.last + ((this.last - this.start) * 0.02 || 1);
    this.path = [];
    this.build();
    this.observer = new ResizeObserver(() => this.draw());
    this.observer.observe(this.area);
  }

  build() {
    const title = this.model.get("title") || "Memory";
    this.area = shape("svg", { class: "sk-area", tabindex: "0", role: "slider", "aria-label": "Memory over time; arrow keys move, Home goes to the peak" });
    this.table = element("div", { class: "sk-table" });
    this.status = element("div", { class: "sk-status", role: "status", "aria-live": "polite" });
    this.crumbs = element("div", { class: "sk-bar" });
    this.tree = element("div", { class: "sk-tree", role: "group", "aria-label": "Alive at the peak, sized by bytes; Enter opens, Escape goes up" });
    this.rows = element("div", { class: "sk-table" });
    this.list = element("details", {}, element("summary", {}, "Alive at the peak as a table"), this.rows);
    this.root.append(
      element("h3", {}, title), element("p", {}, this.model.get("description") || ""),
      element("div", { class: "sk-body" },
        element("div", { class: "sk-main" }, this.area, this.status, this.table),
        element("div", { class: "sk-main" }, this.crumbs, this.tree)),
      this.list,
      ...(this.changes ? [this.changes()] : []),
    );
    this.area.addEventListener("pointermove", (event) => { if (event.buttons === 1 || !this.held) this.point(event); });
    this.area.addEventListener("pointerdown", (event) => { this.held = true; this.point(event); });
    this.area.addEventListener("pointerleave", () => { if (!this.held) this.cursor(this.peakIndex()); });
    this.area.addEventListener("keydown", (event) => this.key(event));
    this.tree.addEventListener("keydown", (event) => {
      if (event.key !== "Escape" || !this.path.length) return;
      event.preventDefault();
      event.stopPropagation();
      this.open(this.path.slice(0, -1));
    });
    this.at = this.peakIndex();
    this.draw();
    this.fillTable();
    this.open([]);
  }

  // Show what would be alive with other choices; null for what was.
  suppose(alive) {
    this.alive = alive ? alive.sort((a, b) => b.bytes - a.bytes) : this.recorded;
    this.supposed = Boolean(alive);
    if (!this.at && this.at !== 0) return;
    const there = this.path.every((name, depth) => this.within(this.path.slice(0, depth + 1)).length);
    this.fillTable();
    this.open(there ? this.path : [], false);
  }

  within(path) { return this.alive.filter((item) => path.every((name, depth) => this.nameAt(item, depth) === name)); }

  nameAt(item, depth) { return item[this.levels[depth]] || (this.levels[depth] === "layer" ? "(no layer)" : "(unnamed)"); }

  // Where the peak is clicked: the list of what was alive then, opened and in view.
  listPeak() {
    this.cursor(this.peakIndex());
    this.open([]);
    this.list.open = true;
    this.list.scrollIntoView({ block: "nearest" });
    this.list.querySelector("summary").focus({ preventScroll: true });
  }

  peakIndex() {
    let best = 0;
    this.samples.forEach((sample, i) => { if (sample.total > this.samples[best].total) best = i; });
    return best;
  }

  // ---- over time

  draw() {
    const width = this.area.clientWidth || 600;
    const height = this.area.clientHeight || 250;
    this.area.setAttribute("viewBox", `0 0 ${width} ${height}`);
    this.plot = { left: MARGIN.left, right: width - MARGIN.right, top: MARGIN.top, bottom: height - MARGIN.bottom };
    this.area.replaceChildren();
    if (!this.samples.length) {
      this.area.append(shape("text", { x: 20, y: 40 }, "No memory was recorded."));
      return;
    }
    // With one scale for several runs, that of the largest.
    this.highest = Math.max(this.top, this.peak.bytes, ...thin(this.samples).map((sample) => sample.total)) * 1.04 || 1;
    this.drawAxes();
    this.drawLayers(thin(this.samples));
    this.drawPeak();
    this.line = this.area.appendChild(shape("line", { class: "sk-cursor", y1: this.plot.top, y2: this.plot.bottom }));
    this.cursor(this.at);
  }

  x(time) { return this.plot.left + ((time - this.start) / (this.end - this.start)) * (this.plot.right - this.plot.left); }

  y(bytes) { return this.plot.bottom - (bytes / this.highest) * (this.plot.bottom - this.plot.top); }

  drawAxes() {
    const { left, right, bottom } = this.plot;
    for (const level of ticks(0, this.highest, 5).positions) {
      const y = this.y(level);
      this.area.append(shape("line", { class: "sk-grid", x1: left, x2: right, y1: y, y2: y }));
      this.area.append(shape("text", { x: left - 6, y: y + 4, "text-anchor": "end" }, level ? formatBytes(level) : "0"));
    }
    const { step, positions } = ticks(0, this.end - this.start, Math.max(3, (right - left) / 90));
    for (const position of positions) {
      this.area.append(shape("text", { x: this.x(this.start + position), y: bottom + 16, "text-anchor": "middle" }, formatTick(position, step)));
    }
  }

  drawLayers(points) {
    const roles = [...Object.keys(ROLES), ...new Set(points.flatMap((point) => Object.keys(point.roles)).filter((role) => !Object.hasOwn(ROLES, role)))];
    let base = points.map(() => 0);
    const edges = [...points.map((point) => this.x(point.time)), this.plot.right];
    for (const role of roles) {
      const upper = points.map((point, i) => base[i] + (point.roles[role] ?? 0));
      if (upper.some((value, i) => value > base[i])) {
        const forth = upper.map((value, i) => `${i ? "L" : "M"}${edges[i].toFixed(1)} ${this.y(value).toFixed(1)}H${edges[i + 1].toFixed(1)}`);
        const back = base.map((value, i) => `L${edges[i + 1].toFixed(1)} ${this.y(value).toFixed(1)}H${edges[i].toFixed(1)}`).reverse();
        this.area.append(shape("path", { d: `${forth.join("")}${back.join("")}z`, fill: colorOf(role), stroke: colorOf(role), "stroke-width": 0.6 }));
      }
      base = upper;
    }
  }

  drawPeak() {
    const x = this.x(Math.min(Math.max(this.peak.time, this.start), this.end));
    const left = x > (this.plot.left + this.plot.right) / 2;
    const words = `Peak of ${formatBytes(this.peak.bytes)}: list what was alive`;
    const mark = shape("g", { class: "sk-mark", tabindex: "0", role: "button", "aria-label": words, onclick: () => this.listPeak(),
      onkeydown: (event) => { if (event.key === "Enter" || event.key === " ") { event.preventDefault(); event.stopPropagation(); this.listPeak(); } } },
    shape("title", {}, words), shape("circle", { cx: x, cy: this.y(this.peak.bytes), r: 6 }));
    this.area.append(
      shape("line", { class: "sk-peak", x1: x, x2: x, y1: this.y(this.peak.bytes) - 4, y2: this.plot.bottom }),
      shape("text", { class: "sk-strong", x: x + (left ? -6 : 6), y: this.plot.top - 8, "text-anchor": left ? "end" : "start" }, `peak ${formatBytes(this.peak.bytes)}`),
      mark,
    );
  }

  point(event) {
    const box = this.area.getBoundingClientRect();
    const time = this.start + ((event.clientX - box.left - this.plot.left) / (this.plot.right - this.plot.left)) * (this.end - this.start);
    let [low, high] = [0, this.samples.length - 1];
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (this.samples[middle].time <= time) low = middle;
      else high = middle - 1;
    }
    this.cursor(low);
  }

  key(event) {
    const step = event.shiftKey ? Math.max(1, Math.round(this.samples.length / 20)) : 1;
    const target = { ArrowLeft: this.at - step, ArrowRight: this.at + step, Home: this.peakIndex(), End: this.samples.length - 1, Escape: this.peakIndex() }[event.key];
    if (target === undefined || !this.samples.length) return;
    taken(event, () => {
      this.held = event.key !== "Escape";
      this.cursor(Math.min(Math.max(target, 0), this.samples.length - 1));
    });
  }

  cursor(index) {
    const sample = this.samples[index];
    if (!sample) return;
    this.at = index;
    const x = this.x(sample.time);
    this.line?.setAttribute("x1", x);
    this.line?.setAttribute("x2", x);
    const peak = this.samples[this.peakIndex()];
    const words = `${formatBytes(sample.total)} at ${formatDuration(sample.time)}${index === this.peakIndex() ? ", the peak" : ""}`;
    this.area.setAttribute("aria-valuemin", "0");
    this.area.setAttribute("aria-valuemax", String(this.samples.length - 1));
    this.area.setAttribute("aria-valuenow", String(index));
    this.area.setAttribute("aria-valuetext", words);
    this.status.textContent = `${words}.${this.process ? ` The whole process peaked at ${formatBytes(this.process)}.` : ""}`;
    const roles = [...new Set([...Object.keys(ROLES), ...Object.keys(sample.roles)])].filter((role) => sample.roles[role] || peak.roles[role]);
    const rows = roles.map((role) => {
      const chip = element("span", { class: "sk-chip" }, element("i", { style: `background:${colorOf(role)}` }), element("span", {}, role));
      return [chip, formatBytes(sample.roles[role] ?? 0), formatShare(sample.roles[role] ?? 0, sample.total), formatBytes(peak.roles[role] ?? 0)];
    });
    this.table.replaceChildren(table(["role", "now", "share", "at the peak"], rows));
  }

  // ---- alive at the peak

  open(path, focus = true) {
    const refocus = focus && this.tree.contains(document.activeElement);
    this.path = path;
    const items = this.within(path);
    const crumb = (words, to) => (to.length === path.length ? element("b", {}, words) : element("button", { type: "button", onclick: () => this.open(to) }, words));
    const total = items.reduce((sum, item) => sum + item.bytes, 0);
    this.crumbs.replaceChildren(crumb(this.supposed ? "alive at the peak, what if" : "alive at the peak", []), ...path.flatMap((name, i) => [" › ", crumb(name, path.slice(0, i + 1))]), ` ${formatBytes(total)}`);
    this.tree.replaceChildren(...this.cells(items, path));
    if (!this.tree.children.length) this.tree.append(element("p", {}, "Nothing was recorded."));
    if (refocus) this.tree.querySelector("button")?.focus();
  }

  cells(items, path) {
    // As high as the bytes are of those of the largest run: areas compare between runs.
    const share = this.top > 0 && !this.supposed && !path.length ? Math.min(1, this.alive.reduce((sum, item) => sum + item.bytes, 0) / this.top) : 1;
    const box = { x: 0, y: 0, w: this.tree.clientWidth || 480, h: Math.max(60, 320 * share) };
    if (path.length === this.levels.length) {
      const parts = items.map((item) => ({ value: item.bytes, item })).sort((a, b) => b.value - a.value);
      return squarify(parts, box).map((cell) => this.cell(cell, cell.item.item.component, cell.item.item, path, null));
    }
    const inner = Math.max(1, path.length);
    const outer = path.length ? [{ name: path[0], members: items, value: 1 }] : group(items, (item) => item.role);
    // A gap between roles, none within them.
    const inset = ({ x, y, w, h }) => ({ x: x + 1.5, y: y + 1.5, w: Math.max(1, w - 3), h: Math.max(1, h - 3) });
    return squarify(outer, box).flatMap((frame) => squarify(group(frame.item.members, (item) => this.nameAt(item, inner)), inset(frame))
      .map((cell) => this.cell(cell, cell.item.name, cell.item.members[0], path, [...(path.length ? path : [frame.item.name]), cell.item.name])));
  }

  cell({ item: { value }, x, y, w, h }, name, first, path, target) {
    const color = colorOf(first.role);
    const words = `${name}: ${first.role}, ${first.stype ?? ""} ${formatShape(first.shape)}, ${formatBytes(value)}`;
    const style = `left:${x}px;top:${y}px;width:${w}px;height:${h}px;background:${color};color:${inkOn(color)};padding:${w < 24 || h < 18 ? 0 : "3px 6px"}`;
    const label = w > 46 && h > 20 ? [element("b", {}, h > 36 ? name : `${name} · ${first.role}`), h > 36 ? element("small", {}, `${formatBytes(value)} · ${first.role}`) : null, h > 66 && w > 90 ? element("small", {}, `${first.stype ?? ""} ${formatShape(first.shape)}`) : null] : [];
    const show = () => { this.status.textContent = `${words}.`; };
    return element("button", {
      type: "button", class: "sk-cell", style, title: words, "aria-label": words, onfocus: show, onpointerenter: show,
      onclick: () => (target ? this.open(target) : show()),
    }, ...label);
  }

  fillTable() {
    const rows = this.alive.slice(0, 300).map((item) => [item.owner, item.layer ?? "", item.role, item.stype ?? "", formatShape(item.shape), item.component, formatBytes(item.bytes)]);
    const caption = this.alive.length > 300 ? `The 300 largest of ${this.alive.length}` : "";
    this.rows.replaceChildren(table(["owner", "layer", "role", "storage", "shape", "component", "bytes"], rows, caption));
  }

  destroy() { this.observer.disconnect(); }
}

async function render({ model, el }) {
  const root = el.appendChild(element("div", { class: "sk sk-memory" }));
  let view = null;
  const show = () => {
    view?.destroy();
    root.replaceChildren();
    try {
      view = new MemoryView(model, root);
      root.dataset.ready = "true";
    } catch (error) {
      root.replaceChildren(element("p", { role: "alert" }, `The memory view cannot be shown: ${error.message}`));
    }
  };
  model.on("change:memory", show);
  show();
  return () => {
    model.off("change:memory", show);
    view?.destroy();
    root.remove();
  };
}

export default { render };
