// What the peak would have been with other choices; the Python twin is base/sizes.py, and tests hold the two together.

import { element, formatBytes, formatShare } from "./common.js";

const VALUES = { float16: 2, float32: 4, float64: 8 };
const INDICES = { int32: 4, int64: 8 };
const IN_PLACE = 65536;
const LASTING = ["parameter", "gradient", "optimizer state"];

const product = (lengths) => lengths.reduce((found, length) => found * length, 1);
const nearest = (value) => Math.floor(value + 0.5);

// The bytes of each kind of memory after a change, with notes that say where they are estimates.
class Sizes {
  constructor(model, choice) {
    Object.assign(this, { ...model, ...choice, notes: [] });
    const rows = choice.batch !== 1 && model.batch ? Math.max(1, nearest(model.batch * choice.batch)) : null;
    this.factor = rows === null ? 1 : rows / model.batch;
    this.length = model.batch;
    this.thinner = new Map();
    if (choice.gradient === "row_sparse") {
      for (const kind of model.kinds) {
        if (kind.role === "gradient" && kind.stype === "default" && kind.shape.length > 1) this.thinner.set(String(kind.shape), kind.owner);
      }
    }
    this.onTheWay = new Set(model.kinds.filter((kind) => kind.role === "workspace" && kind.stype === "default").map((kind) => String(kind.shape)));
    this.sets = new Set(model.data_sets.map(String));
    if (this.factor !== 1 && model.kinds.some((kind) => kind.stype !== "default")) {
      this.note("stored values and touched rows are assumed to grow with the batch; rows that samples share make them fewer");
    }
    const lasting = new Set(model.kinds.filter((kind) => LASTING.includes(kind.role)).map((kind) => String(kind.shape)));
    if (this.factor !== 1 && model.kinds.some(({ role, shape }) => ["activation", "workspace"].includes(role) && shape.length
      && shape[0] !== 1 && shape[0] !== model.batch && !lasting.has(String(shape)))) {
      this.note("results whose length differs from the batch are assumed to stay unchanged");
    }
    this.denser();
    this.parts = model.kinds.map((kind) => this.partsOf(kind));
    const sum = (parts) => parts.reduce((total, part) => total + part.bytes, 0);
    this.each = this.parts.map(sum);
    if (model.kinds.some((kind, i) => this.parts[i].length
      && (kind.bytes < IN_PLACE) !== (sum(this.parts[i].filter((part) => part.role === kind.role)) < IN_PLACE))) {
      this.note("some arrays become larger than 64 KiB, and gradients of that size are computed in place, without a copy");
    }
  }

  // The row_sparse gradients that would be dense, and which of them every backward pass would write in place.
  denser() {
    const found = this.gradient !== "default" ? []
      : this.kinds.filter(({ role, stype, component }) => role === "gradient" && stype === "row_sparse" && component === "data");
    const held = new Set(this.kinds.filter((kind) => kind.role === "parameter").map((kind) => kind.owner));
    const apart = new Set(this.apart.map(String));
    this.buffers = new Map(found.filter((kind) => held.has(kind.owner) && !apart.has(String(kind.shape))
      && product(kind.shape) * this.item(kind) >= IN_PLACE).map((kind) => [kind.owner, kind.shape]));
    this.wider = new Map(found.map((kind) => [String(kind.shape), this.buffers.has(kind.owner)]));
  }

  note(text) { if (!this.notes.includes(text)) this.notes.push(text); }

  partsOf(kind) {
    const { role, stype, shape, component } = kind;
    if (this.lazy_state && role === "optimizer state" && stype === "default" && shape.length > 1 && this.lazily(kind.owner)) {
      const rows = this.rowsOf(kind.owner, shape[0]);
      if (rows !== null) {
        this.note("optimizer state is counted for the rows of one gradient; the rows of other batches add to it");
        return this.stored(rows, kind);
      }
    }
    let [thinner, owner] = [role === "gradient" && stype === "default" && shape.length > 1 && this.gradient === "row_sparse", kind.owner];
    if (role === "workspace" && stype === "default" && this.thinner.has(String(shape))) {
      this.note("working memory with the shape of a gradient is assumed to be a new copy of that gradient");
      [thinner, owner] = [true, this.thinner.get(String(shape))];
    }
    if (thinner) {
      const rows = this.rowsOf(owner, shape[0]);
      if (rows !== null) {
        if (!this.onTheWay.has(String(shape))) {
          this.note("the previous row_sparse gradient, which exists until the new one replaces it, is not counted");
        }
        return this.stored(rows, kind);
      }
    }
    if (stype === "row_sparse" && this.fuller(kind)) {
      const whole = component === "data" && !(role === "gradient" ? this.buffers.has(kind.owner) : this.wider.get(String(shape)));
      return whole ? [{ role, stype: "default", component, bytes: product(shape) * this.item(kind) }] : [];
    }
    const lengths = this.lengths(kind);
    const item = this.index_dtype && component !== "data" ? INDICES[this.index_dtype] : this.item(kind);
    const bytes = lengths === kind.part && item === kind.item ? kind.bytes : product(lengths) * item;
    return [{ role, stype, component, bytes }, ...this.buffer(kind)];
  }

  fuller({ role, shape }) {
    const wider = (role === "gradient" && this.gradient === "default") || (role === "workspace" && this.wider.has(String(shape)));
    if (wider && !this.wider.get(String(shape))) {
      this.note("dense gradients that are computed separately and copied are counted as often as there were row_sparse ones");
    }
    return wider;
  }

  buffer(kind) {
    if (kind.role !== "parameter" || kind.component !== "data" || !this.buffers.has(kind.owner)) return [];
    return [{ role: "gradient", stype: "default", component: "data", bytes: product(this.buffers.get(kind.owner)) * this.item(kind) }];
  }

  rowsOf(owner, length) {
    const name = owner || "a parameter";
    let given = Object.hasOwn(this.known, owner) ? this.known[owner] : null;
    if (given === null && Object.hasOwn(this.bounds, length)) {
      given = this.bounds[length];
      this.note(`the rows of ${name} that a batch touches are bounded by its stored values`);
    }
    if (given === null) {
      this.note(`${name} does not change, because the rows that a batch touches are not known`);
      return null;
    }
    return Math.min(length, Math.ceil(given * this.factor));
  }

  stored(rows, kind) {
    const { role, shape } = kind;
    return [{ role, stype: "row_sparse", component: "data", bytes: rows * product(shape.slice(1)) * this.item(kind) },
      { role, stype: "row_sparse", component: "indices", bytes: rows * (INDICES[this.index_dtype] ?? 8) }];
  }

  lazily(owner) {
    if (!Object.keys(this.known).length || Object.hasOwn(this.known, owner)) return true;
    this.note(`${owner || "a parameter"}, whose gradient is dense, keeps its whole state`);
    return false;
  }

  lengths({ role, stype, shape, component, part }) {
    if (this.factor === 1 || ["parameter", "optimizer state"].includes(role) || !shape.length || !part.length) return part;
    if (stype === "row_sparse") return [Math.min(shape[0], Math.ceil(part[0] * this.factor)), ...part.slice(1)];
    if (shape[0] !== this.length || (role === "gradient" && stype === "default")) return part;
    if (role === "input" && this.sets.has(String(shape))) return part;
    if (component === "indptr") return [nearest(this.length * this.factor) + 1];
    return [nearest(part[0] * this.factor), ...part.slice(1)];
  }

  item(kind) { return this.value_dtype && kind.floating ? VALUES[this.value_dtype] : kind.item; }
}

// What would be alive at the peak, component by component; `recorded` is what was.
export function aliveIf(model, recorded, options) {
  const choice = { index_dtype: null, value_dtype: null, gradient: null, lazy_state: false, batch: 1, ...options };
  const sizes = new Sizes(model, choice);
  const sum = (moment) => moment.reduce((total, [place, count]) => total + sizes.each[place] * count, 0);
  const there = model.numbers.reduce((total, place) => total + sizes.each[place], 0);
  let [best, most] = [[], 0];
  for (const moment of model.moments ?? []) {
    const total = sum(moment);
    if (total > most) [best, most] = [moment, total];
  }
  const elsewhere = most > there;
  const items = elsewhere ? named(model, recorded, best) : recorded.map((item, i) => [item, model.numbers[i], 1]);
  const alive = items.flatMap(([item, place, count]) => sizes.parts[place].filter((part) => part.bytes > 0)
    .map((part) => ({ ...item, ...part, bytes: part.bytes * count })));
  return { alive, notes: sizes.notes, elsewhere };
}

// What was alive at another moment; names and layers are those of arrays alike at the recorded peak.
function named(model, recorded, moment) {
  const names = new Map(recorded.map((item, i) => [model.numbers[i], item]).reverse());
  const layers = new Map(recorded.map((item) => [item.owner, item.layer]));
  return moment.map(([place, count]) => {
    const { role, owner, stype, shape, component } = model.kinds[place];
    return [names.get(place) ?? { owner: owner || "(unnamed)", role, stype, shape, component, layer: layers.get(owner) ?? "" }, place, count];
  });
}

const sentence = (text) => ` ${text.charAt(0).toUpperCase()}${text.slice(1)}.`;

// The switches; `changed(alive, words)` is called with what each choice gives, null for things as they were.
export function switches(model, recorded, changed) {
  const total = (alive) => alive.reduce((sum, item) => sum + item.bytes, 0);
  const before = total(aliveIf(model, recorded, {}).alive);
  const options = {};
  const said = element("output", { class: "sk-status", role: "status", "aria-live": "polite" });
  const limits = element("small", { role: "status" });
  const found = model.moments ? "Each choice computes the peak of the whole run again."
    : "The numbers are for the moment of the recorded peak. The recording lacks the arrays of other moments, so the changed peak may be at one of them, and higher.";
  const inputs = [];
  const update = () => {
    const touched = Object.values(options).some((value) => value !== null && value !== false && value !== 1);
    const { alive, notes, elsewhere } = aliveIf(model, recorded, options);
    const after = total(alive);
    const change = after === before ? "the same" : `${formatShare(Math.abs(before - after), before)} ${after < before ? "less" : "more"}`;
    const where = model.moments ? "at the peak" : "alive at that moment";
    const words = `${formatBytes(after)} instead of ${formatBytes(before)} ${where}: ${change}.${elsewhere ? " The peak is at another moment than before." : ""}`;
    said.textContent = touched ? words : `${formatBytes(before)} alive at the peak, unchanged.`;
    limits.textContent = `${notes.map(sentence).join("")} ${found}`.trim();
    changed(touched ? alive : null, words);
  };
  const select = (name, label, choices) => {
    const input = element("select", { "aria-label": `What if: ${label}`, onchange: () => { options[name] = input.value === "" ? null : input.value === "true" ? true : input.value; update(); } },
      element("option", { value: "" }, "as recorded"), ...choices.map(([value, words]) => element("option", { value }, words)));
    inputs.push(() => { input.value = ""; });
    return element("label", {}, `${label} `, input);
  };
  const rows = (times) => Math.max(1, nearest(model.batch * times));
  const times = () => { const value = options.batch ?? 1; return `${value < 1 ? `×1/${1 / value}` : `×${value}`}, ${rows(value)} rows`; };
  const shown = element("output", {}, times());
  const slider = element("input", { type: "range", min: -3, max: 5, step: 1, value: 0, "aria-label": "Batch size, times",
    oninput: () => { options.batch = 2 ** Number(slider.value); shown.textContent = times(); update(); } });
  const types = (names) => names.map((name) => [name, name]);
  const reset = element("button", { type: "button", onclick: () => {
    for (const name of Object.keys(options)) delete options[name];
    inputs.forEach((clear) => clear());
    slider.value = 0;
    shown.textContent = times();
    update();
  } }, "reset");
  update();
  return element("fieldset", { class: "sk-whatif" }, element("legend", {}, "What if"), element("div", { class: "sk-bar" },
    select("index_dtype", "indices", types(Object.keys(INDICES))), select("value_dtype", "values", types(Object.keys(VALUES))),
    select("gradient", "gradients", [["row_sparse", "row-sparse"], ["default", "dense"]]),
    select("lazy_state", "optimizer state", [["true", "touched rows only"]]),
    model.batch ? element("label", {}, "batch ", slider, " ", shown) : null, reset), said, limits);
}
