// How the timeline is painted onto its two canvases: only what is in view, nothing twice in a pixel.

import { ALARM, formatTick, inkOn, themeColors, ticks } from "./common.js";
import { ROW, TOP } from "./timeline_data.js";
import { BOLD, FONT, GUTTER } from "./timeline_scene.js";

const MAP = 34;
// Ways from what made an array dense to its readers: more of them in view would hide the bars.
const MOST_WAYS = 120;

export class Painter {
  // `page` has the elements root, stage, canvas and map; `marks` paints its part of both canvases.
  constructor(scene, page, letters, marks) { Object.assign(this, { scene, page, letters, marks }); }

  resize() {
    const ratio = window.devicePixelRatio || 1;
    const fit = (canvas, height) => {
      canvas.style.height = `${height}px`;
      canvas.width = Math.max(1, Math.round(canvas.clientWidth * ratio));
      canvas.height = Math.round(height * ratio);
      canvas.getContext("2d").setTransform(ratio, 0, 0, ratio, 0, 0);
    };
    const { page, scene } = this;
    fit(page.canvas, scene.data.height);
    fit(page.map, MAP);
    scene.width = page.canvas.clientWidth;
    this.draw();
  }

  theme() {
    this.colors = themeColors(this.page.root, ["bg", "fg", "muted", "line", "stripe", "accent"]);
    this.draw();
  }

  draw() {
    if (!this.frame) this.frame = requestAnimationFrame(() => { this.frame = 0; this.paint(); });
  }

  stop() { cancelAnimationFrame(this.frame); }

  paint() {
    const { scene, colors, page } = this;
    const { data, width, marked } = scene;
    if (!colors || !(width > GUTTER)) return;
    const began = performance.now();
    const context = page.canvas.getContext("2d");
    context.clearRect(0, 0, width, data.height);
    context.font = FONT;
    context.textBaseline = "middle";
    this.paintBands(context);
    this.paintTicks(context);
    context.save();
    context.beginPath();
    context.rect(GUTTER, 0, width - GUTTER, data.height);
    context.clip();
    this.paintRange(context);
    for (const track of data.tracks) this.paintTrack(context, track, marked ? 0.18 : 1);
    for (const track of marked ?? []) this.paintTrack(context, track, 1);
    this.marks.paint(context, colors);
    this.paintEdges(context);
    this.paintWays(context);
    this.paintSelected(context);
    context.restore();
    this.paintMap();
    this.marks.paintMap(page.map, colors);
    page.stage.dataset.frame = (performance.now() - began).toFixed(2);
  }

  paintBands(context) {
    const { colors, scene: { data, width } } = this;
    data.bands.forEach((band, i) => {
      if (data.runs.length > 1 ? band.head : i % 2 === 0) {
        context.fillStyle = colors.stripe;
        context.fillRect(0, band.y, width, band.height);
      }
      context.fillStyle = colors.fg;
      context.textAlign = band.head ? "left" : "right";
      if (band.head) context.font = BOLD;
      const middle = band.y + band.height / 2;
      context.fillText(band.head ? data.runs[band.run] : band.label === undefined ? data.lanes[band.lane] : this.letters.cut(context, band.label, 1.3 * (GUTTER - 12)), band.head ? 6 : GUTTER - 8, middle - (band.words ? 8 : 0), band.head ? width - 12 : GUTTER - 12);
      context.font = FONT;
      if (!band.words) return;
      context.fillStyle = colors.muted;
      context.fillText(band.words, GUTTER - 8, middle + 8, GUTTER - 12);
    });
  }

  paintTicks(context) {
    const { colors, scene } = this;
    const { data, width, view } = scene;
    const { step, positions } = ticks(view[0], view[1], Math.max(3, (width - GUTTER) / 110));
    context.textAlign = "center";
    for (const position of positions) {
      const x = scene.x(position);
      context.fillStyle = colors.line;
      context.fillRect(x, TOP, 1, data.height - TOP);
      context.fillStyle = colors.muted;
      context.fillText(formatTick(position, step), Math.min(Math.max(x, GUTTER + 12), width - 26), TOP / 2);
    }
  }

  paintTrack(context, track, alpha) {
    const { data, coloring, view, scale } = this.scene;
    const { start, duration, fallback } = data.columns;
    const pixel = 1 / scale;
    let i = data.first(track, view[0]);
    while (i < track.order.length) {
      const event = track.order[i];
      if (start[event] > view[1]) break;
      const x = this.scene.x(start[event]);
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
    const right = Math.min(x + w - 1, this.scene.width);
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

  paintLabel(context, event, x, y, w) {
    const { scene: { data, coloring, width }, letters } = this;
    const left = Math.max(x, GUTTER) + 6;
    const room = Math.min(x + w, width) - left - 4;
    const color = coloring.of(event);
    const options = [data.label(event), data.name(event), coloring.codes[coloring.category(event)]];
    const text = options.find((words) => words && letters.measure(context, words) <= room + (words.length === 1 ? 5 : 0));
    if (!text) return;
    if (data.columns.fallback[event]) {
      context.fillStyle = color;
      context.fillRect(left - 3, y + 3, letters.measure(context, text) + 6, ROW - 6);
    }
    context.fillStyle = inkOn(color);
    context.textAlign = "left";
    context.fillText(text, text.length === 1 ? left - 2 : left, y + ROW / 2 + 0.5);
  }

  // Below the bars, whose letters would be hard to read through it.
  paintRange(context) {
    const { scene } = this;
    if (!scene.range) return;
    const [a, b] = scene.range.map((time) => scene.x(time));
    context.fillStyle = this.colors.accent;
    context.globalAlpha = 0.25;
    context.fillRect(a, 0, b - a, scene.data.height);
    context.globalAlpha = 1;
  }

  paintEdges(context) {
    context.fillStyle = this.colors.accent;
    const { scene } = this;
    for (const time of scene.range ?? []) context.fillRect(scene.x(time), 0, 1.5, scene.data.height);
  }

  // An arrow from each operator that made a sparse array dense to those that read it; of the chosen one only, where there
  // are too many.
  paintWays(context) {
    const { data, view, selected } = this.scene;
    let readers = data.readersWithin(...view);
    if (readers.length > MOST_WAYS) {
      const chosen = selected < 0 ? -1 : data.columns.culprit[selected];
      readers = chosen < 0 ? [] : readers.filter((event) => data.culprit(event) === chosen).slice(0, MOST_WAYS);
    }
    for (const reader of readers) this.paintWay(context, data.culprit(reader), reader);
  }

  paintWay(context, culprit, reader) {
    const [from, to] = [this.box(culprit), this.box(reader)];
    const lower = to.y > from.y;
    const [x, y] = [from.x + from.w / 2, from.y + ROW];
    const [end, top] = [to.x + to.w / 2, lower ? to.y : to.y + ROW];
    const bend = Math.max(10, Math.abs(top - y) / 2);
    const color = this.scene.data.columns.fallback[culprit] ? ALARM : this.colors.fg;
    for (const [style, width] of [[this.colors.bg, 4], [color, 2]]) {
      context.strokeStyle = style;
      context.lineWidth = width;
      context.beginPath();
      context.moveTo(x, y);
      context.bezierCurveTo(x, y + bend, end, lower ? top - bend : top + bend, end, top);
      context.stroke();
    }
    const tip = lower ? -6 : 6;
    context.fillStyle = color;
    context.beginPath();
    context.moveTo(end, top);
    context.lineTo(end - 4, top + tip);
    context.lineTo(end + 4, top + tip);
    context.fill();
  }

  box(event) {
    const { scene } = this;
    const { columns: { start, duration }, tracks, trackOf } = scene.data;
    return { x: scene.x(start[event]), y: tracks[trackOf[event]].y, w: Math.max(2, duration[event] * scene.scale) };
  }

  paintSelected(context) {
    const { selected, partners } = this.scene;
    if (selected < 0) return;
    const from = this.box(selected);
    context.lineWidth = 2;
    for (const partner of partners.slice(0, 8)) {
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

  // Every event of the whole run, which is painted anew only when what it shows has changed.
  wholeRun(at, scale) {
    const { page: { map }, scene: { data, coloring }, colors, whole } = this;
    const made = [colors, map.width, map.clientWidth];
    if (whole && made.every((part, i) => part === whole.made[i])) return whole.canvas;
    const canvas = document.createElement("canvas");
    [canvas.width, canvas.height] = [map.width, map.height];
    const context = canvas.getContext("2d");
    context.setTransform(map.getContext("2d").getTransform());
    const { start, duration } = data.columns;
    context.fillStyle = colors.stripe;
    context.fillRect(GUTTER, 0, map.clientWidth - GUTTER, MAP);
    const tall = Math.max(1, Math.min(6, 30 / data.tracks.length));
    data.tracks.forEach((track, t) => {
      for (let i = 0; i < track.order.length;) {
        const event = track.order[i];
        context.fillStyle = coloring.of(event);
        context.fillRect(at(start[event]), 2 + (t * 30) / data.tracks.length, Math.max(1, duration[event] * scale), tall);
        i = data.leap(track, i + 1, start[event] + 1 / scale, 1 / scale);
      }
    });
    this.whole = { made, canvas };
    return canvas;
  }

  paintMap() {
    const { page: { map }, scene: { data, view } } = this;
    const context = map.getContext("2d");
    const width = map.clientWidth;
    const scale = (width - GUTTER) / data.length;
    const at = (time) => GUTTER + (time - data.begin) * scale;
    context.clearRect(0, 0, width, MAP);
    context.drawImage(this.wholeRun(at, scale), 0, 0, map.width, map.height, 0, 0, width, MAP);
    const [a, b] = view.map(at);
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
