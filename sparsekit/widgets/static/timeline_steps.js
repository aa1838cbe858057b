// Several runs beside each other: what their steps took, the switch between start and step, their table and their marks.

import { element, formatDuration, formatTick, table, ticks } from "./common.js";
import { TOP } from "./timeline_data.js";
import { BOLD, FONT, GUTTER } from "./timeline_scene.js";

export const STEP_KEYS = [["a", "align at the start, at each step"], ["[ ]", "step before, after"]];

// Where the steps lie in what is drawn, and what they took, in words.
export class StepTimes {
  constructor(scene) { Object.assign(this, { scene, data: scene.data }); }

  get whole() { return this.data.steps.labels.length - this.data.steps.tail; }

  // Beginning and end of a step in what is drawn, over all runs that have it.
  extent(slot) {
    const { data } = this;
    const found = data.runs.map((_, run) => [run, data.steps.step(run, slot)]).filter(([, step]) => step);
    const move = (run, time) => (data.aligned ? data.steps.shown(run, time) : time);
    const starts = found.map(([run, step]) => move(run, step.start));
    return [Math.min(...starts), Math.max(...found.map(([, step], i) => starts[i] + step.end - step.start))];
  }

  // The step that the middle of the view belongs to.
  inView() {
    const { data } = this;
    const [a, b] = this.scene.ahead;
    const middle = (a + b) / 2;
    if (data.aligned) return data.steps.slotAt(middle);
    return Math.max(...data.runs.map((_, run) => data.steps.slotOf(run, middle)));
  }

  // What a step took in each run, as a sentence.
  took(slot) {
    const { data } = this;
    const found = data.runs.map((name, run) => [name, data.steps.step(run, slot)]).filter(([, step]) => step);
    const name = data.steps.name(slot);
    return `${name[0].toUpperCase()}${name.slice(1)}: ${found.map(([run, step]) => `${run} ${formatDuration(step.end - step.start)}`).join(", ")}.`;
  }

  // Steps of which more than a sliver lies between two places.
  between(a, b) {
    const found = [];
    const { steps } = this.data;
    for (let slot = 0; slot < this.whole; slot += 1) {
      const [from, to] = this.data.aligned ? [steps.starts[slot], steps.starts[slot] + steps.lengths[slot]] : this.extent(slot);
      if (Math.min(to, b) - Math.max(from, a) > 0.05 * Math.min(to - from, b - a)) found.push(slot);
    }
    return found;
  }

  // What is added to the words about a span: the time that passed in each run, and the step if it is one.
  words(a, b) {
    const { data } = this;
    if (!data.aligned) return "";
    const passed = data.runs.map((name, run) => `${name} ${formatDuration(data.real(run, b) - data.real(run, a))}`).join(", ");
    const found = this.between(a, b);
    return found.length === 1 ? ` ${this.took(found[0])}` : ` Time that passed: ${passed}.`;
  }

  // Where in its step something began: the step's name and the time since it began.
  into(event) {
    const { steps, columns: { run, start } } = this.data;
    const slot = steps.some ? steps.slotOf(run[event], start[event]) : -1;
    return slot < 0 ? null : [steps.name(slot), start[event] - steps.step(run[event], slot).start];
  }

  // In which step something ran, and how far into it it began.
  of(event) {
    const into = this.into(event);
    return into ? `${formatDuration(into[1])} into ${into[0]}` : "";
  }
}

// The two buttons of the toolbar: `align(aligned)` is called when one is pressed.
export class AlignSwitch {
  constructor(data, align) {
    this.data = data;
    const { steps } = data;
    const button = (words, aligned, attributes) => element("button", {
      type: "button", "aria-pressed": "false", onclick: () => align(aligned), ...attributes }, words);
    this.buttons = [button("start", false, { title: "All runs begin together" }), button("each step", true,
      steps.some ? { title: "The same step of every run begins at the same place" } : { title: steps.reason, "aria-disabled": "true" })];
    this.element = element("span", { class: "sk-bar sk-align", role: "group", "aria-label": "Align the runs at" }, "align at ", ...this.buttons);
  }

  show() { this.buttons.forEach((button, i) => button.setAttribute("aria-pressed", String(this.data.aligned === (i === 1)))); }
}

// `go(slot)` is called when a step is pressed.
export function stepTable({ data, view }, times, go) {
  const found = times.between(...view);
  const rows = found.slice(0, 200).map((slot) => {
    const took = data.runs.map((_, run) => data.steps.step(run, slot)).map((step) => (step ? step.end - step.start : NaN));
    const cells = took.map((time) => (Number.isNaN(time) ? "" : formatDuration(time)));
    const more = took[1] - took[0];
    const difference = Number.isNaN(more) ? "" : `${more > 0 ? "+" : ""}${formatDuration(more)}`;
    const button = element("button", { type: "button", onclick: () => go(slot) }, data.steps.name(slot));
    return [button, ...cells, ...(took.length === 2 ? [difference] : [])];
  });
  const caption = `Steps in view${found.length > 200 ? "; the first 200, zoom in for the others" : ""}. ${data.steps.reason}`;
  return table(["step", ...data.runs, ...(data.runs.length === 2 ? ["difference"] : [])], rows, caption);
}

// Paints the names of the steps, the gaps between them and what they took.
export class StepPainter {
  constructor(scene, times, letters) { Object.assign(this, { scene, times, letters }); }

  theme(canvas, colors) {
    const tile = document.createElement("canvas");
    tile.width = tile.height = 8;
    const context = tile.getContext("2d");
    context.strokeStyle = colors.muted;
    context.globalAlpha = 0.5;
    for (const shift of [-8, 0, 8]) {
      context.moveTo(shift - 1, 9);
      context.lineTo(shift + 9, -1);
    }
    context.stroke();
    this.hatching = canvas.getContext("2d").createPattern(tile, "repeat");
  }

  // Times count from the beginning of each step: no run's clock would fit the whole axis.
  paintTicks(context, colors) {
    const { scene } = this;
    const { data, view, width } = scene;
    const { steps } = data;
    this.paintTimes(context, colors, 0, view[0], Math.min(0, view[1]), GUTTER + 12);
    let free = GUTTER;
    for (let slot = Math.max(0, steps.slotAt(view[0])); slot < steps.labels.length && steps.starts[slot] < view[1]; slot += 1) {
      const start = steps.starts[slot];
      const end = start + steps.lengths[slot];
      const [left, right] = [Math.max(scene.x(start), GUTTER), Math.min(scene.x(end), width)];
      // Thousands of narrow steps cost no more than a look each.
      if (left < free && right - left <= 4) continue;
      context.font = `bold ${FONT}`;
      const label = steps.name(slot);
      const room = context.measureText(label).width;
      const named = left >= free && left + room < width && (right - left > room * 0.6 || scene.x(start) >= GUTTER);
      if (start >= view[0] && (named || right - left > 4)) {
        context.fillStyle = data.steps.after(slot) || !named ? colors.line : colors.muted;
        context.fillRect(left, named ? 2 : TOP - 4, 1, data.height);
      }
      if (named) {
        context.fillStyle = colors.fg;
        context.textAlign = "left";
        context.fillText(label, left + 4, TOP / 2);
        free = left + room + 14;
      }
      context.font = FONT;
      this.paintTimes(context, colors, start, Math.max(start, view[0]), Math.min(end, view[1]), named ? free + 14 : left + 14);
    }
  }

  // Ticks between two places, counted from `origin`.
  paintTimes(context, colors, origin, from, to, least) {
    const { scene } = this;
    const room = (to - from) * scene.scale;
    if (!(room > 60)) return;
    const { step, positions } = ticks(from - origin, to - origin, Math.max(1, room / 90));
    context.textAlign = "center";
    for (const position of positions) {
      const x = scene.x(origin + position);
      if (!position || x < least || x > scene.x(to) - 26) continue;
      context.fillStyle = colors.line;
      context.fillRect(x, TOP, 1, scene.data.height - TOP);
      context.fillStyle = colors.muted;
      context.fillText(formatTick(position, step), x, TOP / 2);
    }
  }

  // Over what crosses a gap, so that it shows through: no time passed there.
  paintGaps(context, colors) {
    const { scene } = this;
    const { data, view, width } = scene;
    data.boxes.forEach(({ top, bottom }, run) => data.steps.gaps(run, ...view, (from, to) => {
      const [left, right] = [Math.max(scene.x(from), GUTTER), Math.min(scene.x(to), width)];
      if (right - left < 2) return;
      context.globalAlpha = 0.75;
      context.fillStyle = colors.bg;
      context.fillRect(left, top, right - left, bottom - top);
      context.globalAlpha = 1;
      context.fillStyle = this.hatching;
      context.fillRect(left, top, right - left, bottom - top);
    }));
    this.paintDurations(context, colors);
  }

  // What each step took, in the line of its run's name.
  paintDurations(context, colors) {
    const { scene } = this;
    const { data, view, scale } = scene;
    const { steps } = data;
    context.textAlign = "left";
    for (const band of data.bands.filter((one) => one.head)) {
      context.font = FONT;
      context.fillStyle = colors.fg;
      const free = 6 + this.nameWidth(context, data.runs[band.run]) + 12;
      for (let slot = Math.max(0, steps.slotAt(view[0])); slot < this.times.whole && steps.starts[slot] < view[1]; slot += 1) {
        if (steps.lengths[slot] * scale < 40) continue;
        const step = steps.step(band.run, slot);
        const x = scene.x(steps.starts[slot]) + 4;
        const words = step ? formatDuration(step.end - step.start) : "";
        if (words && x >= free && this.letters.measure(context, words) + 8 < steps.lengths[slot] * scale) context.fillText(words, x, band.y + band.height / 2);
      }
    }
  }

  nameWidth(context, name) {
    context.font = BOLD;
    const { width } = context.measureText(name);
    context.font = FONT;
    return width;
  }
}
