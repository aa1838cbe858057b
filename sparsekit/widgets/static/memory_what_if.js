// What the peak would have been with other choices; the Python twin is base/sizes.py, and tests hold the two together.

import { element, formatBytes, formatShare } from "./common.js";

const VALUES = { float16: 2, float32: 4, float64: 8 };
const INDICES = { int32: 4, int64: 8 };
const IN_PLACE = 65536;

const product = (lengths) => lengths.reduce((found, length) => found * length, 1);
const nearest = (value) => Math.floor(value + 0.5);

// The bytes of each kind of memory after a change, with notes that say in how far they are no exact ones.
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
    if (this.factor !== 1 && model.kinds.some((kind) => kind.stype !== "default")) {
      this.note("stored values and touched rows are taken to grow with the batch; rows that samples share make them fewer");
    }
    this.parts = model.kinds.map((kind) => this.partsOf(kind));
    this.each = this.parts.map((parts) => parts.reduce((sum, [, bytes]) => sum + bytes, 0));
    if (model.kinds.some((kind, i) => (kind.bytes < IN_PLACE) !== (this.each[i] < IN_PLACE))) {
      this.note("some arrays cross 64 KiB, from where gradients are computed in place and have no copy");
    }
  }

  note(text) { if (!this.notes.includes(text)) this.notes.push(text); }

  partsOf(kind) {
    const { role, stype, shape, component } = kind;
    if (this.lazy_state && role === "optimizer state" && stype === "default" && shape.length > 1 && this.lazily(kind.owner)) {
      const rows = this.rowsOf(kind.owner, shape[0]);
      if (rows !== null) {
        this.note("optimizer state is counted for the rows of one gradient: those of other batches come on top");
        return this.stored(rows, kind);
      }
    }
    let [thinner, owner] = [role === "gradient" && shape.length > 1, kind.owner];
    if (role === "workspace" && this.thinner.has(String(shape))) {
      this.note("working memory of a gradient's shape is taken to be that gradient on its way");
      [thinner, owner] = [true, this.thinner.get(String(shape))];
    }
    if (this.gradient === "row_sparse" && stype === "default" && thinner) {
      const rows = this.rowsOf(owner, shape[0]);
      if (rows !== null) return this.stored(rows, kind);
    }
    if (this.gradient === "default" && role === "gradient" && stype === "row_sparse") {
      return [[component, component === "data" ? product(shape) * this.item(kind) : 0]];
    }
    const lengths = this.lengths(kind);
    const item = this.index_dtype && component !== "data" ? INDICES[this.index_dtype] : this.item(kind);
    return [[component, lengths === kind.part && item === kind.item ? kind.bytes : product(lengths) * item]];
  }

  rowsOf(owner, length) {
    const name = owner || "a parameter";
    let given = Object.hasOwn(this.known, owner) ? this.known[owner] : null;
    if (given === null && Object.hasOwn(this.bounds, length)) {
      given = this.bounds[length];
      this.note(`the rows of ${name} that a batch reaches are bounded by its stored values`);
    }
    if (given === null) {
      this.note(`${name} stays as it is, since the rows that a batch reaches are not known`);
      return null;
    }
    return Math.min(length, Math.ceil(given * this.factor));
  }

  stored(rows, kind) {
    return [["data", rows * product(kind.shape.slice(1)) * this.item(kind)], ["indices", rows * (INDICES[this.index_dtype] ?? 8)]];
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
    if (component === "indptr") return [nearest(this.length * this.factor) + 1];
    return [nearest(part[0] * this.factor), ...part.slice(1)];
  }

  item(kind) { return this.value_dtype && kind.floating ? VALUES[this.value_dtype] : kind.item; }

  stype(place) {
    if (this.parts[place].length > 1) return "row_sparse";
    const { role, stype } = this.kinds[place];
    return this.gradient === "default" && role === "gradient" ? "default" : stype;
  }
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
  const alive = items.flatMap(([item, place, count]) => sizes.parts[place].filter(([, bytes]) => bytes > 0)
    .map(([component, bytes]) => ({ ...item, stype: sizes.stype(place), component, bytes: bytes * count })));
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
  const found = model.moments ? "The peak of the whole run is found again for each choice."
    : "For the moment of the recorded peak: this recording does not say what was alive at others, where the peak may come to lie.";
  const inputs = [];
  const update = () => {
    const touched = Object.values(options).some((value) => value !== null && value !== false && value !== 1);
    const { alive, notes, elsewhere } = aliveIf(model, recorded, options);
    const after = total(alive);
    const change = after === before ? "the same" : `${formatShare(Math.abs(before - after), before)} ${after < before ? "less" : "more"}`;
    const where = model.moments ? "at the peak" : "alive at that moment";
    const words = `${formatBytes(after)} instead of ${formatBytes(before)} ${where}: ${change}.${elsewhere ? " The peak comes at another moment than it did." : ""}`;
    said.textContent = touched ? words : `${formatBytes(before)} alive at the peak, as it was.`;
    limits.textContent = `${notes.map(sentence).join("")} ${found}`.trim();
    changed(touched ? alive : null, words);
  };
  const select = (name, label, choices) => {
    const input = element("select", { "aria-label": `What if: ${label}`, onchange: () => { options[name] = input.value === "" ? null : input.value === "true" ? true : input.value; update(); } },
      element("option", { value: "" }, "as it was"), ...choices.map(([value, words]) => element("option", { value }, words)));
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
  } }, "as it was");
  update();
  return element("fieldset", { class: "sk-whatif" }, element("legend", {}, "What if"), element("div", { class: "sk-bar" },
    select("index_dtype", "indices", types(Object.keys(INDICES))), select("value_dtype", "values", types(Object.keys(VALUES))),
    select("gradient", "gradients", [["row_sparse", "row-sparse"], ["default", "dense"]]),
    select("lazy_state", "optimizer state", [["true", "touched rows only"]]),
    model.batch ? element("label", {}, "batch ", slider, " ", shown) : null, reset), said, limits);
}
