// The live training monitor: curves over the steps, and a cursor across them.
// An anywidget front-end module: render({ model, el }) builds the view and returns its cleanup.

import { Plane } from "./charts.js";
import { SERIES, element, formatCount, formatDensity, mount, shape, table, taken } from "./common.js";

const short = (value) => String(Number(value.toPrecision(3)));

function panels(data) {
  return [
    ["loss", [{ name: "loss", values: data.loss ?? [], color: SERIES[0] }], short],
    ["rows touched", [{ name: "rows touched", values: data.rows ?? [], color: SERIES[3] }], formatCount],
    ["density of the gradients", [{ name: "density", values: data.density ?? [], color: SERIES[4] }], formatDensity],
  ];
}

// How high a panel reaches: over all but rare spikes, such as a first step that compiles.
function topOf(lines) {
  let highest = 0;
  for (const line of lines) {
    const known = line.values.filter((value) => value !== null && Number.isFinite(value)).sort((a, b) => a - b);
    if (!known.length) continue;
    const usual = known[Math.max(0, Math.min(known.length - 2, Math.floor(0.98 * known.length)))];
    const last = known.at(-1);
    highest = Math.max(highest, last < 4 * usual || usual <= 0 ? last : 1.5 * usual);
  }
  return highest;
}

class Monitor {
  constructor(model, root, data) {
    this.model = model;
    this.root = root;
    this.data = data;
    this.at = null;
    this.planes = panels(data).map(([title], i) => {
      const svg = shape("svg", { class: "sk-area sk-plane sk-low", role: i ? "img" : "slider", "aria-label": i ? `${title} over the steps` : "Loss over the steps; arrow keys move through the steps, Escape goes to the last" });
      svg.addEventListener("pointermove", (event) => this.point(event, i));
      svg.addEventListener("pointerleave", () => this.go(null));
      return svg;
    });
    this.planes[0].setAttribute("tabindex", "0");
    this.planes[0].addEventListener("keydown", (event) => this.key(event));
    this.status = element("p", { class: "sk-status", role: "status", "aria-live": "off" });
    this.table = element("div", { class: "sk-table" });
    root.append(this.status, element("div", { class: "sk-grid2" }, ...this.planes),
      element("details", {}, element("summary", {}, "The same as a table"), this.table));
    this.observer = new ResizeObserver(() => this.draw());
    this.observer.observe(this.planes[0]);
    this.draw();
  }

  // Newer data: the view stays, the curves grow.
  update(data) {
    this.data = data;
    const finding = this.root.querySelector("p");
    finding.textContent = this.model.get("description") || "";
    cancelAnimationFrame(this.frame);
    this.frame = requestAnimationFrame(() => this.draw());
  }

  get steps() { return this.data.steps ?? []; }

  key(event) {
    const last = this.steps.length - 1;
    const now = this.at ?? last;
    const step = event.shiftKey ? Math.max(1, Math.round(last / 20)) : 1;
    taken(event, {
      ArrowLeft: () => this.go(Math.max(0, now - step)), ArrowRight: () => this.go(Math.min(last, now + step)),
      Home: () => this.go(0), End: () => this.go(last), Escape: this.at === null ? null : () => this.go(null),
    }[event.key]);
  }

  point(event, i) {
    const plane = this.drawn?.[i];
    if (!plane || !this.steps.length) return;
    const wanted = plane.at(event.clientX);
    let best = 0;
    this.steps.forEach((step, place) => { if (Math.abs(step - wanted) < Math.abs(this.steps[best] - wanted)) best = place; });
    this.go(best);
  }

  go(at) {
    this.at = at;
    this.draw();
  }

  draw() {
    const { data, steps } = this;
    this.drawn = panels(data).map(([title, lines, label], i) => {
      const svg = this.planes[i];
      const known = lines.flatMap((line) => line.values).filter((value) => value !== null && Number.isFinite(value));
      if (!known.length) {
        svg.setAttribute("viewBox", `0 0 ${svg.clientWidth || 460} ${svg.clientHeight || 180}`);
        svg.replaceChildren(shape("text", { class: "sk-strong", x: 66, y: 14 }, title), shape("text", { x: 66, y: 44 }, steps.length ? "not recorded" : "no step yet"));
        return null;
      }
      const least = known.reduce((low, value) => Math.min(low, value), title === "loss" ? Infinity : 0);
      const most = topOf(lines);
      const plane = new Plane(svg, { across: [steps[0], steps.at(-1)], up: [least, most * 1.05], label, below: formatCount, title });
      for (const line of lines) plane.curve(steps, line.values, line.color, null);
      const highest = known.reduce((high, value) => Math.max(high, value), 0);
      if (highest > most * 1.05) svg.append(shape("text", { x: plane.box.right, y: 14, "text-anchor": "end" }, `cut off: up to ${label(highest)}`));
      if (this.at !== null && steps[this.at] !== undefined) plane.mark(steps[this.at], "", 0, "sk-cursor");
      return plane;
    });
    this.tell();
    this.fillTable();
  }

  tell() {
    const { data, steps } = this;
    const i = this.at ?? steps.length - 1;
    if (!steps.length) {
      this.status.textContent = "Waiting for the first step.";
      return;
    }
    const has = (values) => values?.[i] !== null && values?.[i] !== undefined;
    const words = [`${this.at === null ? "Last step" : "Step"} ${formatCount(steps[i])}`];
    if (has(data.loss)) words.push(`loss ${short(data.loss[i])}`);
    if (has(data.rows)) words.push(`${formatCount(data.rows[i])}${data.all_rows ? ` of ${formatCount(data.all_rows)}` : ""} rows touched`);
    if (has(data.density)) words.push(`density ${formatDensity(data.density[i])}`);
    const merged = data.merged > 1 ? ` Each point is the mean of ${formatCount(data.merged)} steps.` : "";
    const strange = data.strange?.length ? ` The loss was not finite at ${formatCount(data.strange.length)} step${data.strange.length === 1 ? "" : "s"}, first at ${formatCount(data.strange[0])}.` : "";
    const opens = data.slowest?.length ? ` m.timeline(${steps[i]}) opens its timeline.` : "";
    this.status.textContent = `${words.join("; ")}.${opens}${merged}${strange}`;
    this.status.setAttribute("aria-live", this.at === null ? "off" : "polite");
    const slider = this.planes[0];
    slider.setAttribute("aria-valuemin", "0");
    slider.setAttribute("aria-valuemax", String(steps.length - 1));
    slider.setAttribute("aria-valuenow", String(i));
    slider.setAttribute("aria-valuetext", words.join("; "));
  }

  fillTable() {
    const rows = panels(this.data).flatMap(([, lines, label]) => lines.map((line) => [line.name, line.values.filter((value) => value !== null && Number.isFinite(value)), label]))
      .filter(([, values]) => values.length)
      .map(([name, values, label]) => [name, label(values[0]), label(values.at(-1)), label(Math.min(...values)), label(Math.max(...values))]);
    this.table.replaceChildren(table(["", "first", "last", "smallest", "largest"], rows));
  }

  destroy() {
    cancelAnimationFrame(this.frame);
    this.observer.disconnect();
  }
}

async function render({ model, el }) {
  return mount(model, el, "monitor", (root, data) => new Monitor(model, root, data));
}

export default { render };
