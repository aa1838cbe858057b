// How the timeline is painted onto its two canvases: only what is in view, nothing twice in a pixel.

import { ALARM, formatTick, inkOn, themeColors, ticks } from "./common.js";
import { ROW, TOP } from "./timeline_data.js";

export const GUTTER = 92;
const MAP = 34;
export const FONT = '12px system-ui, "Helvetica Neue", Arial, sans-serif';

// The painting half of the timeline; the view in timeline.js extends it and owns the state.
export class Painter {
  resize() {
    const ratio = window.devicePixelRatio || 1;
    const fit = (canvas, height) => {
      canvas.style.height = `${height}px`;
      canvas.width = Math.max(1, Math.round(canvas.clientWidth * ratio));
      canvas.height = Math.round(height * ratio);
      canvas.getContext("2d").setTransform(ratio, 0, 0, ratio, 0, 0);
    };
    fit(this.canvas, this.data.height);
    fit(this.map, MAP);
    this.width = this.canvas.clientWidth;
    this.draw();
  }

  theme() {
    this.colors = themeColors(this.root, ["bg", "fg", "muted", "line", "stripe", "accent"]);
    this.draw();
  }

  draw() {
    if (!this.frame) this.frame = requestAnimationFrame(() => { this.frame = 0; this.paint(); });
  }

  get scale() { return (this.width - GUTTER) / (this.view[1] - this.view[0]); }

  x(time) { return GUTTER + (time - this.view[0]) * this.scale; }

  time(x) { return this.view[0] + (x - GUTTER) / this.scale; }

  paint() {
    if (!this.colors || !(this.width > GUTTER)) return;
    const began = performance.now();
    const context = this.canvas.getContext("2d");
    context.clearRect(0, 0, this.width, this.data.height);
    context.font = FONT;
    context.textBaseline = "middle";
    this.paintBands(context);
    context.save();
    context.beginPath();
    context.rect(GUTTER, 0, this.width - GUTTER, this.data.height);
    context.clip();
    this.paintRange(context);
    for (const track of this.data.tracks) this.paintTrack(context, track, this.marked ? 0.18 : 1);
    for (const track of this.marked ?? []) this.paintTrack(context, track, 1);
    if (this.data.aligned) this.paintGaps(context);
    this.paintMarks(context);
    this.paintEdges(context);
    this.paintSelected(context);
    context.restore();
    this.paintMap();
    this.stage.dataset.frame = (performance.now() - began).toFixed(2);
  }

  paintBands(context) {
    const { colors, data, width } = this;
    data.bands.forEach((band, i) => {
      if (data.runs.length > 1 ? band.head : i % 2 === 0) {
        context.fillStyle = colors.stripe;
        context.fillRect(0, band.y, width, band.height);
      }
      context.fillStyle = colors.fg;
      context.textAlign = band.head ? "left" : "right";
      if (band.head) context.font = `bold ${FONT.replace("12px", "13px")}`;
      const middle = band.y + band.height / 2;
      context.fillText(band.head ? data.runs[band.run] : band.label === undefined ? data.lanes[band.lane] : this.cut(context, band.label, 1.3 * (GUTTER - 12)), band.head ? 6 : GUTTER - 8, middle - (band.words ? 8 : 0), band.head ? width - 12 : GUTTER - 12);
      context.font = FONT;
      if (!band.words) return;
      context.fillStyle = colors.muted;
      context.fillText(band.words, GUTTER - 8, middle + 8, GUTTER - 12);
    });
    this.paintTicks(context);
  }

  paintTicks(context) {
    const { colors, data, width } = this;
    const { step, positions } = ticks(this.view[0], this.view[1], Math.max(2, (width - GUTTER) / 110));
    context.textAlign = "center";
    for (const position of positions) {
      const x = this.x(position);
      context.fillStyle = colors.line;
      context.fillRect(x, TOP, 1, data.height - TOP);
      context.fillStyle = colors.muted;
      context.fillText(formatTick(position, step), Math.min(Math.max(x, GUTTER + 12), width - 26), TOP / 2);
    }
  }

  paintTrack(context, track, alpha) {
    const { data, coloring, view } = this;
    const { placed: { start, duration }, columns: { fallback } } = data;
    const scale = this.scale;
    const pixel = 1 / scale;
    let i = data.first(track, view[0]);
    while (i < track.order.length) {
      const event = track.order[i];
      if (start[event] > view[1]) break;
      const x = this.x(start[event]);
      const w = duration[event] * scale;
      context.globalAlpha = alpha;
      context.fillStyle = coloring.of(event);
      if (w < 1) {
        context.fillRect(x, track.y, 1, ROW);
        // Whatever else is as short and starts within this pixel would be painted over itself.
        i = data.leap(track, i + 1, start[event] + pixel, pixel);
        continue;
      }
      context.fillRect(x, track.y, Math.max(w - (w > 4 ? 1 : 0), 1), ROW);
      if (fallback[event] && w > 2) this.paintHatch(context, x, track.y, w);
      // Letters on a bar that stands back would not be read.
      if (w > 12 && alpha === 1) this.paintLabel(context, event, x, track.y, w);
      i += 1;
    }
    context.globalAlpha = 1;
  }

  paintHatch(context, x, y, w) {
    context.save();
    context.beginPath();
    const left = Math.max(x, GUTTER);
    const right = Math.min(x + w - 1, this.width);
    context.rect(left, y, right - left, ROW);
    context.clip();
    context.strokeStyle = ALARM;
    context.lineWidth = 2;
    context.beginPath();
    for (let at = left - ROW; at < right; at += 7) {
      context.moveTo(at, y + ROW);
      context.lineTo(at + ROW, y);
    }
    context.stroke();
    context.lineWidth = 3;
    context.strokeRect(x, y, w - 1, ROW);
    context.restore();
  }

  measure(context, text) {
    let width = this.widths.get(text);
    if (width === undefined) this.widths.set(text, (width = context.measureText(text).width));
    return width;
  }

  // As much of a name as there is room for.
  cut(context, text, room) {
    const width = this.measure(context, text);
    if (width <= room) return text;
    const letters = Math.floor((text.length * (room - 12)) / width);
    return letters > 2 ? `${text.slice(0, letters)}…` : "";
  }

  paintLabel(context, event, x, y, w) {
    const { data, coloring } = this;
    const left = Math.max(x, GUTTER) + 6;
    const room = Math.min(x + w, this.width) - left - 4;
    const color = coloring.of(event);
    const options = [data.label(event), data.name(event), coloring.codes[coloring.category(event)]];
    const text = options.find((words) => words && this.measure(context, words) <= room + (words.length === 1 ? 5 : 0));
    if (!text) return;
    if (data.columns.fallback[event]) {
      context.fillStyle = color;
      context.fillRect(left - 3, y + 3, this.measure(context, text) + 6, ROW - 6);
    }
    context.fillStyle = inkOn(color);
    context.textAlign = "left";
    context.fillText(text, text.length === 1 ? left - 2 : left, y + ROW / 2 + 0.5);
  }

  // Below the bars, whose letters would be hard to read through it.
  paintRange(context) {
    if (!this.range) return;
    const [a, b] = this.range.map((time) => this.x(time));
    context.fillStyle = this.colors.accent;
    context.globalAlpha = 0.25;
    context.fillRect(a, 0, b - a, this.data.height);
    context.globalAlpha = 1;
  }

  paintEdges(context) {
    context.fillStyle = this.colors.accent;
    for (const time of this.range ?? []) context.fillRect(this.x(time), 0, 1.5, this.data.height);
  }

  box(event) {
    const { start, duration } = this.data.placed;
    const x = this.x(start[event]);
    return { x, y: this.data.tracks[this.data.trackOf[event]].y, w: Math.max(2, duration[event] * this.scale) };
  }

  paintSelected(context) {
    if (this.selected < 0) return;
    const from = this.box(this.selected);
    context.lineWidth = 2;
    for (const partner of this.partners.slice(0, 8)) {
      const to = this.box(partner);
      context.strokeStyle = this.colors.fg;
      context.setLineDash([5, 3]);
      context.strokeRect(to.x - 1, to.y - 1, to.w + 2, ROW + 2);
      const [a, b] = [[from.x + from.w / 2, from.y + (to.y > from.y ? ROW : 0)], [to.x + to.w / 2, to.y + (to.y > from.y ? 0 : ROW)]];
      const bend = Math.sign(b[1] - a[1] || -1) * Math.max(Math.abs(b[1] - a[1]) * 0.6, 26);
      context.beginPath();
      context.moveTo(...a);
      context.bezierCurveTo(a[0], a[1] + bend, b[0], b[1] - bend, ...b);
      context.stroke();
      context.setLineDash([]);
    }
    context.lineWidth = 5;
    context.strokeStyle = this.colors.bg;
    context.strokeRect(from.x - 1, from.y - 1, from.w + 2, ROW + 2);
    context.lineWidth = 3;
    context.strokeStyle = this.colors.fg;
    context.strokeRect(from.x - 1, from.y - 1, from.w + 2, ROW + 2);
  }

  paintMap() {
    const context = this.map.getContext("2d");
    const width = this.map.clientWidth;
    const { data, coloring } = this;
    const { start, duration } = data.placed;
    const scale = (width - GUTTER) / data.length;
    const at = (time) => GUTTER + (time - data.begin) * scale;
    context.clearRect(0, 0, width, MAP);
    context.fillStyle = this.colors.stripe;
    context.fillRect(GUTTER, 0, width - GUTTER, MAP);
    const tall = Math.max(1, Math.min(6, 30 / data.tracks.length));
    data.tracks.forEach((track, t) => {
      for (let i = 0; i < track.order.length;) {
        const event = track.order[i];
        context.fillStyle = coloring.of(event);
        context.fillRect(at(start[event]), 2 + (t * 30) / data.tracks.length, Math.max(1, duration[event] * scale), tall);
        i = data.leap(track, i + 1, start[event] + 1 / scale, 1 / scale);
      }
    });
    const [a, b] = this.view.map(at);
    context.strokeStyle = this.colors.fg;
    context.lineWidth = 2;
    context.strokeRect(a + 1, 1, Math.max(b - a - 2, 2), 32);
    context.fillStyle = this.colors.muted;
    context.font = FONT;
    context.textAlign = "right";
    context.textBaseline = "middle";
    context.fillText("whole run", GUTTER - 8, 17);
  }
}
