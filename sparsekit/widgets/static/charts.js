// Lines over an axis, linear or logarithmic; the Python twin is charts.py.

import { shape, ticks } from "./common.js";

export const DASHES = [null, "7 4", "2 3", "10 3 2 3", "4 4", "1 4"];

export function decades(low, high, most) {
  const first = Math.ceil(Math.log10(low) - 1e-9);
  const last = Math.floor(Math.log10(high) + 1e-9);
  if (last - first < 1) {
    const power = Math.floor(Math.log10(low));
    return [power, power + 1, power + 2].flatMap((p) => [1, 2, 5].map((f) => f * 10 ** p)).filter((value) => low <= value && value <= high).slice(0, most);
  }
  const step = Math.max(1, Math.ceil((last - first + 1) / most));
  const found = [];
  for (let power = first; power <= last; power += step) found.push(10 ** power);
  return found;
}

// One plane with axes inside an SVG element that it fills.
export class Plane {
  constructor(svg, { across, up, logarithmic = [false, false], label, below, title, marks = 0 }) {
    this.svg = svg;
    this.logarithmic = logarithmic;
    const width = svg.clientWidth || 460;
    const height = svg.clientHeight || 240;
    svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
    svg.replaceChildren();
    this.box = { left: 66, top: 24, right: width - 26, bottom: height - 24 - marks };
    this.across = this.span(across, logarithmic[0]);
    this.up = this.span(up, logarithmic[1]);
    svg.append(shape("text", { class: "sk-strong", x: this.box.left, y: 14 }, title));
    for (const level of this.ticks(1, 5)) {
      const y = this.y(level);
      svg.append(shape("line", { class: "sk-grid", x1: this.box.left, x2: this.box.right, y1: y, y2: y }));
      svg.append(shape("text", { x: this.box.left - 6, y: y + 4, "text-anchor": "end" }, label(level)));
    }
    for (const tick of this.ticks(0, Math.max(2, Math.floor((this.box.right - this.box.left) / 60)))) {
      svg.append(shape("text", { x: this.x(tick), y: this.box.bottom + 15, "text-anchor": "middle" }, below(tick)));
    }
    svg.append(shape("line", { class: "sk-grid", x1: this.box.left, x2: this.box.right, y1: this.box.bottom, y2: this.box.bottom }));
  }

  span([low, high], log) {
    if (log) {
      const from = low > 0 ? low : (high > 0 ? high / 1e6 : 1);
      return high > from * 1.0001 ? [from, high] : [from / 2, from * 2];
    }
    return high > low ? [low, high] : [low, low + 1];
  }

  ticks(axis, most) {
    const [low, high] = axis ? this.up : this.across;
    return this.logarithmic[axis] ? decades(low, high, most) : ticks(low, high, most).positions;
  }

  share(value, axis) {
    const [low, high] = axis ? this.up : this.across;
    const share = this.logarithmic[axis] ? Math.log(Math.max(value, low * 1e-9) / low) / Math.log(high / low) : (value - low) / (high - low);
    return Math.min(1, Math.max(0, share));
  }

  x(value) { return this.box.left + this.share(value, 0) * (this.box.right - this.box.left); }

  y(value) { return this.box.bottom - this.share(value, 1) * (this.box.bottom - this.box.top); }

  // The value below a place of the page.
  at(clientX) {
    const box = this.svg.getBoundingClientRect();
    const share = Math.min(1, Math.max(0, (clientX - box.left - this.box.left) / (this.box.right - this.box.left)));
    const [low, high] = this.across;
    return this.logarithmic[0] ? low * (high / low) ** share : low + share * (high - low);
  }

  curve(places, values, color, dash) {
    let pen = "M";
    let count = 0;
    const path = values.map((value, i) => {
      if (value === null || !Number.isFinite(value)) { pen = "M"; return ""; }
      const step = `${pen}${this.x(places[i]).toFixed(1)} ${this.y(value).toFixed(1)}`;
      pen = "L";
      count += 1;
      return step;
    }).join("");
    if (count === 1) {
      const i = values.findIndex((value) => value !== null && Number.isFinite(value));
      this.svg.append(shape("circle", { cx: this.x(places[i]), cy: this.y(values[i]), r: 3, fill: color }));
    } else if (count) this.svg.append(shape("path", { d: path, fill: "none", stroke: color, "stroke-width": 2.4, "stroke-dasharray": dash, "stroke-linejoin": "round" }));
  }

  // A dashed line up, with words near its foot.
  mark(place, words, row = 0, name = "sk-peak") {
    const x = this.x(place);
    this.svg.append(shape("line", { class: name, x1: x, x2: x, y1: this.box.top, y2: this.box.bottom }));
    const right = x + words.length * 6.6 + 8 < this.box.right;
    if (words) this.svg.append(shape("text", { class: "sk-halo", x: right ? x + 5 : x - 5, y: this.box.bottom - 8 - 15 * row, "text-anchor": right ? "start" : "end" }, words));
  }
}

// What a curve is drawn like, for a legend.
export function sample(color, dash) {
  return shape("svg", { class: "sk-sample", width: 34, height: 12, "aria-hidden": "true" },
    shape("line", { x1: 1, x2: 33, y1: 6, y2: 6, stroke: color, "stroke-width": 3, "stroke-dasharray": dash }));
}
