// What the peak would have been with other choices; the Python twin is what_if.py, and a test holds the two together.

import { element, formatBytes, formatShare } from "./common.js";

const VALUES = { float16: 2, float32: 4, float64: 8 };
const INDICES = { int32: 4, int64: 8 };

function elements(a, { gradient, lazy_state: lazy, batch }) {
  let { values, indices, indptr } = a;
  if (a.batched) {
    [values, indices] = [values * batch, indices * batch];
    indptr = indptr ? (indptr - 1) * batch + 1 : 0;
  }
  if (a.shape.length < 2 || a.touched === null || !["gradient", "optimizer state"].includes(a.role)) return [values, indices, indptr];
  const wide = a.shape.slice(1).reduce((product, axis) => product * axis, 1);
  let rows = Math.min(a.shape[0], a.touched * batch);
  let stored = a.stype === "row_sparse";
  if (a.role === "gradient") {
    if (gradient) stored = gradient === "row_sparse";
  } else {
    stored ||= Boolean(lazy);
    rows = Math.min(a.shape[0], Math.max(rows, a.indices));
  }
  return stored ? [rows * wide, rows, 0] : [a.shape[0] * wide, 0, 0];
}

// What would be alive at the same moment, component by component.
export function aliveIf(arrays, options) {
  const choice = { index_dtype: null, value_dtype: null, gradient: null, lazy_state: false, batch: 1, ...options };
  return arrays.flatMap((a) => {
    const [values, indices, indptr] = elements(a, choice);
    const value = choice.value_dtype && a.floating ? VALUES[choice.value_dtype] : a.value_size;
    const index = choice.index_dtype ? INDICES[choice.index_dtype] : a.index_size;
    const stype = a.stype === "row_sparse" && !indices && !indptr ? "default" : a.stype === "default" && indices ? "row_sparse" : a.stype;
    return [["data", values * value], ["indices", indices * index], ["indptr", indptr * index]].filter(([, bytes]) => bytes > 0)
      .map(([component, bytes]) => ({ owner: a.owner, role: a.role, layer: a.layer, stype, shape: a.shape, component, bytes }));
  });
}

// The switches; `changed(alive, words)` is called with what each choice gives, null for things as they were.
export function switches(arrays, changed) {
  const before = aliveIf(arrays, {}).reduce((sum, item) => sum + item.bytes, 0);
  const options = {};
  const said = element("output", { class: "sk-status", role: "status", "aria-live": "polite" });
  const inputs = [];
  const update = () => {
    const touched = Object.values(options).some((value) => value !== null && value !== false && value !== 1);
    const alive = aliveIf(arrays, options);
    const after = alive.reduce((sum, item) => sum + item.bytes, 0);
    const change = after === before ? "the same" : `${formatShare(Math.abs(before - after), before)} ${after < before ? "less" : "more"}`;
    const bound = arrays.some((a) => !a.exact && a.touched !== null && ["gradient", "optimizer state"].includes(a.role)) && (options.gradient === "row_sparse" || options.lazy_state);
    const words = `${formatBytes(after)} instead of ${formatBytes(before)} alive at that moment: ${change}.${bound ? " Rows that a batch touches are bounded by its stored values." : ""}`;
    said.textContent = touched ? words : `${formatBytes(before)} alive at the peak, as it was.`;
    changed(touched ? alive : null, words);
  };
  const select = (name, label, choices) => {
    const input = element("select", { "aria-label": `What if: ${label}`, onchange: () => { options[name] = input.value === "" ? null : input.value === "true" ? true : input.value; update(); } },
      element("option", { value: "" }, "as it was"), ...choices.map(([value, words]) => element("option", { value }, words)));
    inputs.push(() => { input.value = ""; });
    return element("label", {}, `${label} `, input);
  };
  const shown = element("output", {}, "×1");
  const slider = element("input", { type: "range", min: -3, max: 5, step: 1, value: 0, "aria-label": "Batch size, times",
    oninput: () => { options.batch = 2 ** Number(slider.value); shown.textContent = options.batch < 1 ? `×1/${1 / options.batch}` : `×${options.batch}`; update(); } });
  const types = (names) => names.map((name) => [name, name]);
  const reset = element("button", { type: "button", onclick: () => {
    for (const name of Object.keys(options)) delete options[name];
    inputs.forEach((clear) => clear());
    slider.value = 0;
    shown.textContent = "×1";
    update();
  } }, "as it was");
  update();
  return element("fieldset", { class: "sk-whatif" }, element("legend", {}, "What if"), element("div", { class: "sk-bar" },
    select("index_dtype", "indices", types(Object.keys(INDICES))), select("value_dtype", "values", types(Object.keys(VALUES))),
    select("gradient", "gradients", [["row_sparse", "row-sparse"], ["default", "dense"]]),
    select("lazy_state", "optimizer state", [["true", "touched rows only"]]),
    element("label", {}, "batch ", slider, " ", shown), reset), said);
}
