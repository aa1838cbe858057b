// The live crossover explorer: memory and time of one step over density; every figure is computed here, without a kernel.
// An anywidget front-end module: render({ model, el }) builds the view and returns its cleanup.

import { DASHES, Plane, sample } from "./charts.js";
import { SERIES, element, formatBytes, formatCount, formatDensity, formatDuration, formatShare, mount, shape, table, taken } from "./common.js";
import { DENSITIES, DTYPES, FORMATS, INDEX_DTYPES, breakEvens, estimateTime, memory } from "./crossover_model.js";

const COLORS = { dense: SERIES[4], csr: SERIES[1], row_sparse: SERIES[0] };
// The most sparse first, with the fullest line.
const DRAWN = [...FORMATS].reverse();
const SHORT = { dense: "dense", csr: "csr", row_sparse: "row-sparse" };
// Sliders: what they set, smallest and largest exponent of ten, steps for each factor of ten.
const SLIDERS = [
  ["density", "density", -6, 0, 10, formatDensity],
  ["rows", "features (rows of the weight)", 3, 6, 10, formatCount],
  ["units", "units", 0, Math.log10(128), 10, formatCount],
  ["batch", "samples in a batch", Math.log10(8), Math.log10(512), 10, formatCount],
];

// How a figure compares with another, as a factor above 1; the Python twin is ``less`` of break_even.py.
function less(value, reference, words) {
  if (!(value > 0 && reference > 0)) return "";
  const factor = Math.max(value / reference, reference / value);
  if (factor < 1.005) return "the same";
  return `${factor < 9.95 ? `${Number(factor.toPrecision(3))}×` : ratio(factor)} ${words[Number(value > reference)]}`;
}

const ratio = (value) => `${value >= 9.95 ? formatCount(value) : value.toPrecision(3)}×`;

class Crossover {
  constructor(root, data) {
    this.root = root;
    this.data = data;
    this.setting = { ...data.setting };
    this.build();
    this.observer = new ResizeObserver(() => this.draw());
    this.observer.observe(this.planes[0]);
    this.draw();
  }

  build() {
    const plane = (words) => shape("svg", { class: "sk-area sk-plane", role: "img", "aria-label": words, onpointerdown: (event) => this.drag(event), onpointermove: (event) => event.buttons === 1 && this.drag(event) });
    this.planes = [plane("Memory over density"), plane("Time over density")];
    this.status = element("p", { class: "sk-status sk-said sk-short", role: "status", "aria-live": "polite" });
    this.table = element("div", { class: "sk-table" });
    this.outputs = {};
    this.inputs = {};
    const sliders = SLIDERS.map(([name, words, low, high, per, format]) => {
      const steps = Math.round((high - low) * per);
      const place = (value) => Math.round(((Math.log10(Math.max(value, 1e-12)) - low) / (high - low)) * steps);
      const value = (at) => {
        const found = 10 ** (low + ((high - low) * at) / steps);
        return name === "density" ? Number(found.toPrecision(3)) : Math.round(found);
      };
      this.outputs[name] = element("output", {});
      const set = () => {
        this.setting[name] = value(Number(input.value));
        this.draw();
      };
      const input = element("input", { type: "range", min: 0, max: steps, step: 1, value: place(this.setting[name]), "aria-label": words, oninput: set });
      this.inputs[name] = { input, place, format };
      return element("label", { class: "sk-slide" }, element("span", {}, words), input, this.outputs[name]);
    });
    const choice = (name, words, options) => {
      const select = element("select", { onchange: () => { this.setting[name] = select.value; this.draw(); } }, ...Object.keys(options).map((value) => element("option", { value }, value)));
      select.value = this.setting[name];
      return element("label", {}, `${words} `, select);
    };
    const legend = element("div", { class: "sk-legend" }, ...DRAWN.map((kind, i) => element("span", { class: "sk-chip sk-wide" }, sample(COLORS[kind], DASHES[i]), element("span", {}, this.data.names[kind]))));
    this.root.append(
      element("div", { class: "sk-slides" }, ...sliders),
      element("div", { class: "sk-bar" }, choice("dtype", "values", DTYPES), choice("index_dtype", "indices", INDEX_DTYPES),
        element("button", { type: "button", onclick: () => this.reset() }, "reset")),
      this.status, legend,
      element("div", { class: "sk-body" }, ...this.planes.map((svg) => element("div", { class: "sk-main" }, svg))),
      this.table, this.note = element("p", {}),
    );
    this.planes.forEach((svg) => {
      svg.setAttribute("tabindex", "0");
      svg.addEventListener("keydown", (event) => taken(event, { ArrowLeft: () => this.nudge(-1), ArrowRight: () => this.nudge(1), Home: () => this.nudge(-99), End: () => this.nudge(99) }[event.key]));
    });
  }

  reset() {
    this.setting = { ...this.data.setting };
    this.root.querySelectorAll("select").forEach((select, i) => { select.value = this.setting[["dtype", "index_dtype"][i]]; });
    for (const [name, { input, place }] of Object.entries(this.inputs)) input.value = place(this.setting[name]);
    this.draw();
  }

  nudge(by) {
    const { input } = this.inputs.density;
    input.value = Number(input.value) + by;
    input.dispatchEvent(new Event("input"));
  }

  drag(event) {
    const plane = this.drawn?.[this.planes.indexOf(event.currentTarget)];
    if (!plane) return;
    const { input, place } = this.inputs.density;
    input.value = place(plane.at(event.clientX));
    input.dispatchEvent(new Event("input"));
  }

  draw() {
    const { setting } = this;
    for (const [name, { format }] of Object.entries(this.inputs)) this.outputs[name].textContent = format(setting[name]);
    const places = DENSITIES.map((density) => ({ ...setting, density }));
    const sizes = Object.fromEntries(FORMATS.map((kind) => [kind, places.map((place) => memory(kind, place).total)]));
    const estimates = Object.fromEntries(FORMATS.map((kind) => [kind, places.map((place) => estimateTime(this.data.grid, kind, place))]));
    const times = Object.fromEntries(FORMATS.map((kind) => [kind, estimates[kind].map(([time]) => time)]));
    this.drawn = [
      this.panel(this.planes[0], sizes, "Memory: batch and gradient", formatBytes, this.data.here?.memory),
      this.panel(this.planes[1], times, "Time of a step", formatDuration, this.data.here?.time),
    ];
    this.tell(breakEvens(DENSITIES, sizes), breakEvens(DENSITIES, times), FORMATS.some((kind) => estimates[kind].some(([time, beyond]) => time !== null && beyond)));
  }

  // ``measured`` is what the user's profile took, marked at its density.
  panel(svg, curves, title, format, measured) {
    const known = Object.values(curves).flat().filter((value) => value > 0);
    if (!known.length) {
      svg.replaceChildren(shape("text", { x: 20, y: 40 }, `Not measured for ${this.setting.dtype} values.`));
      return null;
    }
    const plane = new Plane(svg, {
      across: [DENSITIES[0], 1], up: [Math.min(...known) / 1.3, Math.max(...known) * 1.3], logarithmic: [true, true], title, label: format,
      below: (density) => (Math.round(Math.log10(density)) % 2 === 0 ? formatDensity(density) : ""),
    });
    DRAWN.forEach((kind, i) => plane.curve(DENSITIES, curves[kind], COLORS[kind], DASHES[i]));
    breakEvens(DENSITIES, curves).forEach(([density, , best], row) => plane.mark(density, `${SHORT[best]} above ${formatDensity(density)}`, row));
    plane.mark(this.setting.density, "", 0, "sk-cursor");
    if (measured > 0) {
      const [x, y] = [plane.x(this.data.here.density), plane.y(measured)];
      svg.append(shape("circle", { class: "sk-here", cx: x, cy: y, r: 6 }), shape("text", { class: "sk-halo", x: x + 10, y: y + 4 }, "you are here"));
    }
    return plane;
  }

  tell(sizeEvens, timeEvens, beyond) {
    const { setting, data } = this;
    const size = Object.fromEntries(FORMATS.map((kind) => [kind, memory(kind, setting)]));
    const time = Object.fromEntries(FORMATS.map((kind) => [kind, estimateTime(data.grid, kind, setting)]));
    const least = (pick) => FORMATS.filter((kind) => pick(kind) !== null).reduce((best, kind) => (best === "" || pick(kind) < pick(best) ? kind : best), "");
    const small = least((kind) => size[kind].total);
    const fast = least((kind) => time[kind][0]);
    const dense = (evens) => evens.find(([, , best]) => best === "dense")?.[0];
    const words = [`Least memory: ${data.names[small]}, ${formatBytes(size[small].total)}`, small === "dense" ? "" : ` (${ratio(size.dense.total / size[small].total)} less than dense)`, ". "];
    if (fast) words.push(`Fastest: ${data.names[fast]}, ${formatDuration(time[fast][0])}`, fast === "dense" || time.dense[0] === null ? "" : ` (${ratio(time.dense[0] / time[fast][0])} faster than dense)`, ". ");
    const wins = [["memory", dense(sizeEvens)], ["time", dense(timeEvens)]].filter(([, density]) => density).map(([what, density]) => `in ${what} above ${formatDensity(density)}`);
    if (wins.length) words.push(`Dense wins ${wins.join(" and ")}.`);
    this.status.textContent = words.join("");
    const rows = FORMATS.map((kind) => [data.names[kind], formatBytes(size[kind].batch), formatBytes(size[kind].gradient), formatBytes(size[kind].total),
      kind === "dense" ? "" : less(size[kind].total, size.dense.total, ["less", "more"]),
      time[kind][0] === null ? "not measured" : formatDuration(time[kind][0]) + (time[kind][1] ? " (extrapolated)" : ""),
      kind === "dense" ? "" : less(time[kind][0], time.dense[0], ["faster", "slower"])]);
    this.table.replaceChildren(table(["storage", "batch", "gradient", "memory", "beside dense", "time", "beside dense"], rows, `One step at density ${formatDensity(setting.density)}`));
    const { grid } = data;
    const measured = grid.command ? ` Time: ${grid.what}, measured by \`${grid.command}\` as processor time of one thread; between the grid's points off by ${formatShare(grid.median_error)} in the median, ${formatShare(grid.worst_error)} at worst.` : "";
    this.note.textContent = `Memory is exact for values at random places; the weight itself is the same in all three and left out.${measured}${beyond ? " Partly extrapolated, beyond what was measured." : ""}`;
  }

  destroy() { this.observer.disconnect(); }
}

async function render({ model, el }) {
  return mount(model, el, "crossover", (root, data) => new Crossover(root, data));
}

export default { render };
