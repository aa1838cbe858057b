// The live array inspector: a binned picture of the matrix beside its components, linked cell by cell.
// An anywidget front-end module: render({ model, el }) builds the view and returns its cleanup.

import { OTHER, SERIES, element, formatBytes, formatCount, formatDensity, grouped, inkOn, mount, shape, table, taken, themeColors, watchTheme } from "./common.js";

// As in spy.py; the data say what is covered.
const BLUE = "#2171b5";
// Rows on each side of the chosen one that are shown around it, and the most cells of a component.
const ROWS = 4;
const CELLS = 15;

function short(value) {
  if (typeof value !== "number" || Number.isInteger(value)) return String(value);
  return Math.abs(value) >= 1e4 || Math.abs(value) < 1e-3 ? value.toExponential(1) : String(Number(value.toPrecision(3)));
}

const width = (dtype) => Number(/\d+/.exec(dtype)?.[0] ?? 32) / 8;

// The data of a whole array with one element set, or no longer stored where `value` is null, and what that did.
export function edited(data, row, column, value) {
  const csr = data.stype === "csr";
  const rows = new Map(data.lines.map(([number, , columns, values]) => [number, new Map(columns.map((at, i) => [at, values[i]]))]));
  const before = rows.get(row) ?? new Map();
  const was = before.has(column);
  if (value === null) csr ? before.delete(column) : before.clear();
  else if (csr || before.size) before.set(column, value);
  else for (let at = 0; at < data.shape[1]; at += 1) before.set(at, at === column ? value : 0);
  rows.set(row, before);
  const lines = [];
  let start = 0;
  for (const [number, cells] of [...rows].sort(([one], [other]) => one - other)) {
    if (!cells.size) continue;
    const columns = [...cells.keys()].sort((one, other) => one - other);
    lines.push([number, start, columns, columns.map((at) => cells.get(at)), columns.length]);
    start += csr ? columns.length : 1;
  }
  const stored = lines.reduce((sum, line) => sum + line[4], 0);
  const counts = Array.from({ length: data.shape[0] }, (_, number) => rows.get(number)?.size ?? 0);
  const indptr = csr ? [0, ...counts].map((_, i, all) => all.slice(0, i + 1).reduce((sum, count) => sum + count, 0)) : null;
  const index = width(data.index_dtype);
  const components = { data: stored * width(data.dtype), indices: (csr ? stored : lines.length) * index, ...(csr ? { indptr: indptr.length * index } : {}) };
  return { data: { ...data, lines, stored, indptr, components, stored_rows: csr ? null : lines.length }, words: told(data, lines, row, column, value, was, components) };
}

function told({ stype, stored: count, shape: [rows] }, lines, row, column, value, was, components) {
  const where = `row ${grouped(row)}, column ${grouped(column)}`;
  const bytes = `The array takes ${formatBytes(Object.values(components).reduce((sum, size) => sum + size, 0))}.`;
  if (value === null && !was) return `Nothing is stored in ${where}.`;
  if (stype !== "csr") {
    if (value === null) return `Row ${grouped(row)} is no longer stored: its number is removed from indices, and its values from data. ${bytes}`;
    return was ? `The value in ${where} changes in data; indices does not change. ${bytes}` : `Row ${grouped(row)} is stored now: its number is added to indices, and a whole row of values to data. ${bytes}`;
  }
  const line = lines.find(([number]) => number === row);
  const at = line ? line[1] + Math.max(0, line[2].indexOf(column)) : null;
  if (value !== null && was) return `data[${grouped(at)}] changes; indices and indptr do not change. ${bytes}`;
  const pointers = row + 1 < rows ? `indptr[${grouped(row + 1)}] to indptr[${grouped(rows)}] each` : `indptr[${grouped(rows)}]`;
  if (value === null) return `The value in ${where} is no longer stored: the entries after it in indices and data move left, and ${pointers} become${pointers.endsWith("each") ? "" : "s"} 1 less. ${bytes}`;
  const moved = at === count ? "It is the last" : "The entries after it in indices and data move right";
  return `The value in ${where} is stored at position ${grouped(at)}. ${moved}, and ${pointers} become${pointers.endsWith("each") ? "" : "s"} 1 more. ${bytes}`;
}

class Inspector {
  constructor(root, data) {
    this.root = root;
    this.data = this.given = data;
    [this.rows, this.columns] = data.shape ?? [0, 0];
    this.csr = data.stype === "csr";
    this.lines = data.lines ?? [];
    this.line = 0;
    this.item = 0;
    // Large enough on the screen to be drawn element by element.
    this.small = this.rows <= 30 && this.columns <= 40;
    // So small that the values are written in the matrix itself, and nothing is gained by showing what is around one.
    this.written = this.rows <= 16 && this.columns <= 16;
    this.build();
    this.cleanups = [watchTheme(() => this.theme())];
    // A view is built before it is in the page, where nothing has a colour yet.
    const observer = new ResizeObserver(() => { this.theme(); if (this.lines.length) { this.fillStrips(); this.fillNear(); } });
    observer.observe(this.stage);
    this.cleanups.push(() => observer.disconnect());
    this.theme();
    this.go(0, 0);
  }

  build() {
    this.canvas = element("canvas", {});
    this.stage = element("div", {
      class: "sk-matrix", tabindex: "0", role: "application", "aria-roledescription": "matrix",
      "aria-label": `Matrix of ${grouped(this.rows)} rows and ${grouped(this.columns)} columns; left and right go to the next stored value, up and down to the next stored row`,
    }, this.canvas);
    this.status = element("div", { class: "sk-status sk-said", role: "status", "aria-live": "polite" });
    this.strips = element("div", { class: "sk-strips" });
    this.near = element("div", { class: "sk-table sk-near", "aria-label": "Elements around this one" });
    const own = this.rows <= SERIES.length ? "Each row has its own colour, here and in the components." : `A row has the same colour here and in the components; the ${SERIES.length} colours repeat.`;
    const words = this.small ? own : this.data.scale ?? "";
    const sent = this.data.whole ? "" : ` ${formatCount(this.lines.reduce((sum, line) => sum + line[2].length, 0))} of ${formatCount(this.data.stored)} stored values can be stepped through, from evenly spaced rows.`;
    this.root.append(
      element("div", { class: "sk-body" },
        element("div", { class: "sk-main sk-half" }, this.stage, element("p", {}, words + sent)),
        element("div", { class: "sk-main" }, this.status, this.strips)),
      this.written && this.data.whole && this.rows && this.columns ? this.editor() : "",
      this.written ? "" : element("div", { class: "sk-around" }, element("h4", {}, "Around it"), this.near),
      this.facts(),
      element("details", {}, element("summary", {}, "Keys and mouse"), element("p", { class: "sk-keys" },
        ...[["← →", "stored value before, after"], ["↑ ↓", "stored row above, below"], ["Page ↑ ↓", "ten rows"], ["Home End", "first, last stored value"]]
          .flatMap(([key, words]) => [element("kbd", {}, key), ` ${words}   `]), "Point at the matrix or at a cell of a component to mark the matching cells.")),
    );
    this.stage.addEventListener("pointermove", (event) => this.point(event));
    this.stage.addEventListener("pointerdown", (event) => { this.stage.focus({ preventScroll: true }); this.point(event); });
    this.stage.addEventListener("keydown", (event) => this.key(event));
  }

  // Set an element and see the components change; the array itself is in the kernel, and stays as it is.
  editor() {
    const field = (words, type, most) => element("input", { type, "aria-label": words, ...(most === undefined ? {} : { min: 0, max: most - 1, step: 1 }), value: most === undefined ? "1" : "0", size: 6,
      onkeydown: (event) => { if (event.key === "Enter") set(Number(value.value)); } });
    const [row, column, value] = [field("Row to edit", "number", this.rows), field("Column to edit", "number", this.columns), field("New value", "text")];
    const set = (wanted) => {
      const [r, c] = [Number(row.value), Number(column.value)];
      if (!(Number.isInteger(r) && r >= 0 && r < this.rows && Number.isInteger(c) && c >= 0 && c < this.columns)) return this.told(`There are rows 0 to ${this.rows - 1} and columns 0 to ${this.columns - 1}.`);
      if (wanted !== null && !Number.isFinite(wanted)) return this.told("A value is a number, such as 2.5.");
      const found = edited(this.data, r, c, wanted);
      return this.show(found.data, found.words, r, c);
    };
    this.fields = { row, column };
    const button = (words, action) => element("button", { type: "button", onclick: action }, words);
    this.effect = element("p", { class: "sk-effect", role: "status", "aria-live": "polite" }, "Click an element of the matrix, give it a value, and see the components change. The array in the kernel does not change.");
    return element("div", { class: "sk-editor" }, element("div", { class: "sk-bar" }, element("label", {}, "row ", row), element("label", {}, "column ", column), element("label", {}, "value ", value),
      button("set", () => set(Number(value.value))), button("remove", () => set(null)), button("reset", () => this.show(this.given, "The array is the original one.", 0, 0))), this.effect);
  }

  told(words) { this.effect.textContent = words; }

  show(data, words, row, column) {
    this.data = data;
    this.lines = data.lines;
    this.told(words);
    const line = Math.max(0, this.lines.findIndex(([number]) => number >= row));
    if (!this.lines.length) {
      this.strips.replaceChildren();
      this.paint();
    }
    this.go(line, this.lines.length ? this.nearest(this.lines[line][2], column) : 0);
    this.components.replaceWith(this.facts());
  }

  facts() {
    const rows = Object.entries(this.data.components ?? {}).map(([name, size]) => [
      name, name === "data" ? this.data.dtype : this.data.index_dtype, formatBytes(size)]);
    const open = Boolean(this.components?.open);
    this.components = element("details", { open }, element("summary", {}, "Components as a table"), table(["component", "type", "bytes"], rows));
    return this.components;
  }

  theme() {
    this.colors = themeColors(this.root, ["bg", "fg", "muted", "line", "stripe", "accent"]);
    this.paint();
  }

  // ---- the cursor

  go(line, item) {
    if (!this.lines.length) {
      this.status.textContent = "Nothing is stored: every element is zero.";
      return;
    }
    this.line = Math.max(0, Math.min(this.lines.length - 1, line));
    this.item = Math.max(0, Math.min(this.lines[this.line][2].length - 1, item));
    this.tell();
    this.paint();
    this.fillStrips();
    this.fillNear();
  }

  get place() {
    const [row, start, columns, values, count] = this.lines[this.line];
    return { row, start, column: columns[this.item], value: values[this.item], count, at: start + this.item };
  }

  tell() {
    const { row, start, column, value, count, at } = this.place;
    const end = start + count;
    this.status.replaceChildren(...(this.csr
      ? [element("b", {}, `data[${grouped(at)}] = ${short(value)}`), ` is in row ${grouped(row)}, column ${grouped(column)}: `,
        `indptr[${grouped(row)}] = ${grouped(start)} ≤ ${grouped(at)} < ${grouped(end)} = indptr[${grouped(row + 1)}], and indices[${grouped(at)}] = ${grouped(column)}.`]
      : [element("b", {}, `data[${grouped(start)}, ${grouped(column)}] = ${short(value)}`), ` is in row ${grouped(row)}, column ${grouped(column)}: `,
        `indices[${grouped(start)}] = ${grouped(row)}, so row ${grouped(start)} of data is row ${grouped(row)} of the array.`]));
  }

  key(event) {
    const lines = this.lines.length - 1;
    const next = () => (this.item + 1 < this.lines[this.line]?.[2].length ? this.go(this.line, this.item + 1) : this.line < lines && this.go(this.line + 1, 0));
    const before = () => (this.item > 0 ? this.go(this.line, this.item - 1) : this.line > 0 && this.go(this.line - 1, Infinity));
    taken(event, {
      ArrowRight: next, ArrowLeft: before,
      ArrowDown: () => this.toRow(this.line + 1), ArrowUp: () => this.toRow(this.line - 1),
      PageDown: () => this.toRow(this.line + 10), PageUp: () => this.toRow(this.line - 10),
      Home: () => this.go(0, 0), End: () => this.go(lines, Infinity),
    }[event.key]);
  }

  // Go to another stored row, to the value nearest to the column one comes from.
  toRow(line) {
    if (!this.lines.length) return;
    const to = Math.max(0, Math.min(this.lines.length - 1, line));
    this.go(to, this.nearest(this.lines[to][2], this.place.column));
  }

  nearest(columns, wanted) {
    let best = 0;
    columns.forEach((column, i) => { if (Math.abs(column - wanted) < Math.abs(columns[best] - wanted)) best = i; });
    return best;
  }

  // Whether the pointer itself moved: what comes to lie under a pointer at rest must not take the cursor from the keys.
  moved(event) {
    const at = `${event.screenX},${event.screenY}`;
    const moved = at !== this.pointer && this.pointer !== undefined;
    this.pointer = at;
    return moved || event.type === "pointerdown";
  }

  point(event) {
    if (!this.box || !this.lines.length || !this.moved(event)) return;
    const { left, top } = this.canvas.getBoundingClientRect();
    const { x, y, w, h } = this.box;
    const row = ((event.clientY - top - y) / h) * this.rows;
    const column = ((event.clientX - left - x) / w) * this.columns;
    if (row < 0 || column < 0 || row >= this.rows || column >= this.columns) return;
    if (event.type === "pointerdown" && this.fields) [this.fields.row.value, this.fields.column.value] = [Math.floor(row), Math.floor(column)];
    let [low, high] = [0, this.lines.length - 1];
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (this.lines[middle][0] <= row) low = middle;
      else high = middle - 1;
    }
    // The line nearest on the screen, and within lines that share its pixels the nearest column.
    const distance = (line) => Math.abs(this.lines[line][0] + 0.5 - row) / this.rows * h;
    let best = null;
    for (let line = Math.max(0, low - 30); line < Math.min(this.lines.length, low + 31); line += 1) {
      const item = this.nearest(this.lines[line][2], column - 0.5);
      const away = Math.hypot(distance(line), Math.abs(this.lines[line][2][item] + 0.5 - column) / this.columns * w);
      if (!best || away < best.away) best = { away, line, item };
    }
    if (best.line !== this.line || best.item !== this.item) this.go(best.line, best.item);
  }

  // ---- the matrix

  paint() {
    if (!this.colors) return;
    const width = this.stage.clientWidth;
    if (!(width > 40)) return;
    const ratio = window.devicePixelRatio || 1;
    const most = { w: width - 56, h: 340 };
    const ratioOfSides = Math.max(1 / 3, Math.min(3, (this.columns || 1) / (this.rows || 1)));
    const w = Math.min(most.w, most.h * ratioOfSides);
    const h = Math.min(most.h, w / ratioOfSides);
    this.box = { x: 46, y: 20, w, h };
    const height = h + 34;
    Object.assign(this.canvas, { width: Math.round(width * ratio), height: Math.round(height * ratio) });
    this.canvas.style.height = `${height}px`;
    const context = this.canvas.getContext("2d");
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.fillStyle = this.colors.bg;
    context.fillRect(this.box.x, this.box.y, w, h);
    this.paintBlocks(context);
    context.strokeStyle = this.colors.muted;
    context.lineWidth = 1;
    context.strokeRect(this.box.x - 0.5, this.box.y - 0.5, w + 1, h + 1);
    this.paintLabels(context);
    if (this.lines.length) this.paintCursor(context);
  }

  paintBlocks(context) {
    const { x, y, w, h } = this.box;
    const [tall, wide] = [h / this.rows, w / this.columns];
    if (this.small) {
      for (const [row, , columns, values] of this.lines) {
        context.fillStyle = SERIES[row % SERIES.length];
        for (const column of columns) context.fillRect(x + column * wide + 1, y + row * tall + 1, wide - 2, tall - 2);
        if (tall < 16 || wide < 22) continue;
        context.fillStyle = inkOn(context.fillStyle);
        context.font = '12px system-ui, "Helvetica Neue", Arial, sans-serif';
        context.textAlign = "center";
        context.textBaseline = "middle";
        columns.forEach((column, i) => context.fillText(short(values[i]), x + (column + 0.5) * wide, y + (row + 0.5) * tall, wide - 4));
      }
      context.fillStyle = this.colors.line;
      for (let i = 1; i < this.rows; i += 1) context.fillRect(x, y + i * tall, w, 0.6);
      for (let i = 1; i < this.columns; i += 1) context.fillRect(x + i * wide, y, 0.6, h);
      return;
    }
    context.fillStyle = BLUE;
    for (const [left, top, across, down] of this.data.marks ?? []) context.fillRect(x + left * w, y + top * h, across * w, down * h);
  }

  paintLabels(context) {
    const { x, y, w, h } = this.box;
    context.font = '11px system-ui, "Helvetica Neue", Arial, sans-serif';
    context.fillStyle = this.colors.muted;
    context.textBaseline = "alphabetic";
    context.textAlign = "left";
    context.fillText("column 0", x, y - 7);
    context.textAlign = "right";
    if (w > 130) context.fillText(formatCount(Math.max(0, this.columns - 1)), x + w, y - 7);
    context.fillText("row 0", x - 9, y + 9);
    if (h > 30) context.fillText(formatCount(Math.max(0, this.rows - 1)), x - 9, y + h - 1, x - 10);
  }

  // A ring around the chosen element, and marks on the edges: shape as well as colour.
  paintCursor(context) {
    const { x, y, w, h } = this.box;
    const { row, column } = this.place;
    const at = { x: x + ((column + 0.5) / this.columns) * w, y: y + ((row + 0.5) / this.rows) * h };
    const size = { w: Math.max(11, w / this.columns), h: Math.max(11, h / this.rows) };
    context.strokeStyle = "#d55e00";
    context.lineWidth = 1.2;
    context.setLineDash([4, 3]);
    context.beginPath();
    if (!this.small) {
      context.moveTo(x, at.y);
      context.lineTo(Math.max(x, at.x - size.w / 2), at.y);
      context.moveTo(at.x, y);
      context.lineTo(at.x, Math.max(y, at.y - size.h / 2));
    }
    context.stroke();
    context.setLineDash([]);
    // On both edges, where the row and the column are.
    context.fillStyle = "#d55e00";
    context.fillRect(x - 5, at.y - size.h / 2, 4, size.h);
    context.fillRect(at.x - size.w / 2, y - 5, size.w, 4);
    context.lineWidth = 4;
    context.strokeStyle = "#ffffff";
    context.strokeRect(at.x - size.w / 2, at.y - size.h / 2, size.w, size.h);
    context.lineWidth = 2.5;
    context.strokeStyle = "#d55e00";
    context.strokeRect(at.x - size.w / 2, at.y - size.h / 2, size.w, size.h);
  }

  // ---- the components

  strip(name, cells, words) {
    const buttons = cells.map(({ label, at, color, on, go, gap }) => element("button", {
      type: "button", class: `sk-slot${on ? " sk-on" : ""}`, tabindex: "-1", "aria-label": `${name}[${grouped(at)}] = ${label}${on ? ", chosen" : ""}`,
      style: `background:${color};color:${inkOn(color)}${gap ? ";margin-left:18px" : ""}`, onclick: () => { go(); this.stage.focus({ preventScroll: true }); }, onpointermove: (event) => this.moved(event) && go(),
    }, element("span", {}, label), element("small", {}, grouped(at))));
    return element("div", {}, element("div", {}, element("b", {}, name), ` ${words}`), element("div", { class: "sk-strip" }, ...buttons));
  }

  // Positions around `at`, as many as there is room for when the longest number has `figures` characters.
  window(count, at, figures) {
    const room = Math.max(3, Math.min(CELLS, Math.floor((this.strips.clientWidth - 8) / Math.max(36, 14 + 7.4 * figures))));
    const first = Math.max(0, Math.min(at - (room >> 1), count - room));
    return Array.from({ length: Math.min(room, count) }, (_, i) => first + i);
  }

  // All of a small csr array, with an arrow from each pointer to where its row begins; false if there is no room.
  fillComplete() {
    const { data: { indptr, stored }, lines } = this;
    const most = Math.floor((this.strips.clientWidth - 64) / 28);
    if (!this.csr || !this.written || !this.data.whole || !indptr || Math.max(stored, indptr.length) > most) return false;
    const cells = (label) => lines.flatMap(([row, start, , , count], l) => Array.from({ length: count }, (_, i) => ({
      label: String(label(l, i)), at: start + i, color: SERIES[row % SERIES.length], on: l === this.line && i === this.item, go: () => (l !== this.line || i !== this.item) && this.go(l, i) })));
    const strips = [this.strip("indptr", this.pointers(0, indptr.length), ""), this.strip("indices", cells((l, i) => grouped(lines[l][2][i])), ""), this.strip("data", cells((l, i) => short(lines[l][3][i])), "")];
    const arrows = shape("svg", { class: "sk-arrows", "aria-hidden": "true" });
    this.strips.classList.add("sk-complete");
    this.strips.replaceChildren(...strips, arrows);
    const wide = strips.some((strip) => strip.lastChild.scrollWidth > strip.lastChild.clientWidth + 1);
    if (wide) this.strips.classList.remove("sk-complete");
    if (wide) return false;
    const { left, top } = this.strips.getBoundingClientRect();
    const [from, to] = strips.map((strip) => [...strip.querySelectorAll(".sk-slot")].map((slot) => slot.getBoundingClientRect()));
    indptr.forEach((begin, i) => {
      const target = to[begin] ?? to.at(-1);
      const x = (begin < to.length ? target.left + target.width * 0.3 : target.right) - left;
      const [start, high, low] = [(from[i].left + from[i].right) / 2 - left, from[i].bottom - top + 1, target.top - top - 1];
      const color = i < this.rows ? SERIES[i % SERIES.length] : OTHER;
      arrows.append(shape("path", { d: `M${start} ${high}C${start} ${(high + low) / 2} ${x} ${(high + low) / 2} ${x} ${low - 5}`, fill: "none", stroke: color, "stroke-width": 1.8 }),
        shape("path", { d: `M${x - 4} ${low - 7}h8l-4 7z`, fill: color }));
    });
    return true;
  }

  fillStrips() {
    this.strips.classList.remove("sk-complete");
    if (this.fillComplete()) return;
    const { row, start, column } = this.place;
    const [, , columns, values, count] = this.lines[this.line];
    const color = SERIES[row % SERIES.length];
    const [ofRows, ofColumns] = [this.rows, this.columns].map((size) => grouped(size).length);
    const places = this.window(columns.length, this.item, Math.max(ofColumns, this.csr ? grouped(start + count).length : 0, 5));
    const cell = (label) => (i) => ({ label: String(label(i)), at: start + i, color, on: i === this.item, go: () => i !== this.item && this.go(this.line, i) });
    const part = count > columns.length ? `; the first ${formatCount(columns.length)} of ${formatCount(count)} in this row` : "";
    if (this.csr) {
      const near = this.window(this.lines.length, this.line, Math.max(ofRows, grouped(this.data.stored).length) + 1);
      const rows = this.data.indptr ? this.pointers() : near.flatMap((i, n) => {
        const [number, begin, , , stored] = this.lines[i];
        const go = () => i !== this.line && this.go(i, 0);
        const own = { label: grouped(begin), at: number, color: SERIES[number % SERIES.length], on: i === this.line, go, gap: n > 0 && this.lines[near[n - 1]][0] + 1 !== number };
        const apart = i === this.line && this.lines[i + 1]?.[0] !== number + 1;
        return apart ? [own, { label: grouped(begin + stored), at: number + 1, color: "#a9adb2", on: true, go }] : [{ ...own, on: own.on || (near[n - 1] === this.line && this.lines[this.line][0] + 1 === number) }];
      });
      this.strips.replaceChildren(
        this.strip("indptr", rows, this.data.indptr ? "where each row starts, and where the last one ends" : "of rows that store something, by row number"),
        this.strip("indices", places.map(cell((i) => grouped(columns[i]))), `of row ${grouped(row)}: the columns${part}`),
        this.strip("data", places.map(cell((i) => short(values[i]))), `of row ${grouped(row)}: the values`));
      return;
    }
    const near = this.window(this.lines.length, this.line, ofRows).map((i) => {
      const [number, begin] = this.lines[i];
      return { label: grouped(number), at: begin, color: SERIES[number % SERIES.length], on: i === this.line, go: () => i !== this.line && this.go(i, this.nearest(this.lines[i][2], column)) };
    });
    const across = places.map((i) => ({ ...cell((k) => short(values[k]))(i), at: columns[i] }));
    this.strips.replaceChildren(
      this.strip("indices", near, "the rows that are stored"),
      this.strip(`data[${grouped(start)}]`, across, `the values of row ${grouped(row)}, by column${part}`));
  }

  // The indptr of an array of few rows, empty ones among them.
  pointers(first, count) {
    const { indptr } = this.data;
    const lineOf = new Map(this.lines.map((line, i) => [line[0], i]));
    const { row } = this.place;
    const shown = count ? Array.from({ length: count }, (_, i) => first + i) : this.window(indptr.length, row, grouped(this.data.stored).length);
    return shown.map((i) => ({
      label: grouped(indptr[i]), at: i, color: i < this.rows ? SERIES[i % SERIES.length] : "#a9adb2", on: i === row || i === row + 1,
      go: () => lineOf.has(i) && i !== row && i !== row + 1 && this.go(lineOf.get(i), 0),
    }));
  }

  // Whether a row between those sent is known to store nothing: nothing is stored between its neighbours.
  empty(row) {
    const after = this.lines.findIndex((line) => line[0] > row);
    const before = this.lines.at(after < 0 ? -1 : after - 1);
    const end = after === 0 ? 0 : this.csr ? before[1] + before[4] : before[1] + 1;
    return end === (after < 0 ? (this.csr ? this.data.stored : this.data.stored_rows) : this.lines[after][1]);
  }

  // The elements around the chosen one, absent ones as dots.
  fillNear() {
    if (this.written) return;
    const { row, column } = this.place;
    const at = new Map(this.lines.map((line, i) => [line[0], i]));
    const first = (middle, reach, all) => Math.max(0, Math.min(middle - reach, all - 2 * reach - 1));
    const range = (from, reach, all) => Array.from({ length: Math.min(2 * reach + 1, all) }, (_, i) => from + i);
    // As many columns as there is room for with their numbers written out.
    const room = (this.near.clientWidth || 500) - 12 - 8 * grouped(this.rows).length;
    const reach = Math.max(1, Math.min(8, Math.floor((room / Math.max(46, 12 + 8 * grouped(this.columns).length) - 1) / 2)));
    const wide = range(first(column, reach, this.columns), reach, this.columns);
    const tall = range(first(row, ROWS, this.rows), ROWS, this.rows);
    const body = tall.map((r) => {
      const line = at.has(r) ? this.lines[at.get(r)] : null;
      const unknown = !line && !this.empty(r);
      return element("tr", {}, element("th", { scope: "row" }, grouped(r)), ...wide.map((c) => {
        const i = line ? line[2].indexOf(c) : -1;
        if (i < 0) return element("td", { class: "sk-zero" }, unknown || (line && line[4] > line[2].length) ? "?" : "·");
        const color = SERIES[r % SERIES.length];
        return element("td", { class: r === row && c === column ? "sk-on" : "", style: `background:${color};color:${inkOn(color)}` }, short(line[3][i]));
      }));
    });
    const head = element("tr", {}, element("th", {}, ""), ...wide.map((c) => element("th", { scope: "col" }, grouped(c))));
    const words = this.data.whole ? "· is not stored, so it is zero" : "· is not stored; ? is not loaded in this view";
    this.near.replaceChildren(element("table", {}, element("caption", {}, words), element("thead", {}, head), element("tbody", {}, ...body)));
  }

  destroy() { this.cleanups.forEach((cleanup) => cleanup()); }
}

async function render({ model, el }) {
  return mount(model, el, "inspector", (root, data) => new Inspector(root, data));
}

export default { render };
