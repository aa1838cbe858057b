// Several runs beside each other: the switch between start and step, the marks of the steps, and their table.

import { element, formatDuration, formatTick, table, ticks } from "./common.js";
import { TOP } from "./timeline_data.js";
import { FONT, GUTTER } from "./timeline_paint.js";
import { Teller } from "./timeline_words.js";

export const STEP_KEYS = [["a", "align at the start, at each step"], ["[ ]", "step before, after"]];

// Between Teller and the view: what the timeline does of its own when it has more than one run.
export class Aligner extends Teller {
  get whole() { return this.data.steps.labels.length - this.data.steps.tail; }

  // The two buttons of the toolbar; nothing where there is one run only.
  aligning() {
    if (this.data.runs.length < 2) return null;
    const { steps } = this.data;
    const button = (words, aligned, attributes) => element("button", {
      type: "button", "aria-pressed": "false", onclick: () => this.align(aligned, true), ...attributes }, words);
    this.switches = [button("start", false, { title: "All runs begin together" }), button("each step", true,
      steps.some ? { title: "The same step of every run begins at the same place" } : { title: steps.reason, "aria-disabled": "true" })];
    return element("span", { class: "sk-bar sk-align", role: "group", "aria-label": "Align the runs at" }, "align at ", ...this.switches);
  }

  // Lay the events out anew; what is in view of the first run stays in view.
  align(aligned, tell = false) {
    const { data } = this;
    if (aligned && !data.steps.some) {
      this.say(`Not aligned by steps. ${data.steps.reason}`);
      return;
    }
    if (aligned !== data.aligned) {
      const kept = this.view.map((place) => data.real(0, place));
      data.arrange(aligned);
      this.view = kept.map((time) => (aligned ? data.steps.shown(0, time) : time));
      if (!(this.view[1] > this.view[0])) this.view = [data.begin, data.begin + data.length];
      this.move(...this.view, true);
      this.mark();
      this.measureView();
    }
    this.showAligned();
    if (!tell) return;
    this.model.set("align", aligned ? "step" : "start");
    this.model.save_changes();
    clearTimeout(this.pending);
    this.say(aligned ? `Aligned at each of ${this.whole} steps: a hatched gap follows where a step was over before the other's. ${data.steps.reason}`
      : "All runs begin together, and nothing more is aligned.");
  }

  showAligned() {
    const { data } = this;
    const how = data.aligned ? "aligned at each step" : "that begin together";
    const runs = data.runs.length > 1 ? ` of ${data.runs.length} runs ${how}` : "";
    this.stage.setAttribute("aria-label", `${this.stage.dataset.title}${runs}. Enter steps into the operators, Escape leaves.`);
    this.switches?.forEach((button, i) => button.setAttribute("aria-pressed", String(data.aligned === (i === 1))));
  }

  // ---- going from step to step

  // Beginning and end of a step in what is drawn, over all runs that have it.
  extent(slot) {
    const { data } = this;
    const found = data.runs.map((_, run) => [run, data.steps.step(run, slot)]).filter(([, step]) => step);
    const move = (run, time) => (data.aligned ? data.steps.shown(run, time) : time);
    const starts = found.map(([run, step]) => move(run, step.start));
    return [Math.min(...starts), Math.max(...found.map(([, step], i) => starts[i] + step.end - step.start))];
  }

  goStep(slot) {
    const { steps } = this.data;
    if (!steps.some) {
      this.say(steps.reason || "There are no steps.");
      return;
    }
    const wanted = Math.min(Math.max(slot, 0), this.whole - 1);
    const [from, to] = this.extent(wanted);
    const margin = (to - from) * 0.02 || 0.01;
    this.move(from - margin, to + margin);
    this.say(this.took(wanted));
  }

  // The step that the middle of the view belongs to.
  stepInView() {
    const { data } = this;
    // On the way to somewhere, it is there that counts.
    const [a, b] = this.target ?? this.view;
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
  stepsBetween(a, b) {
    const found = [];
    const { steps } = this.data;
    for (let slot = 0; slot < this.whole; slot += 1) {
      const [from, to] = this.data.aligned ? [steps.starts[slot], steps.starts[slot] + steps.lengths[slot]] : this.extent(slot);
      if (Math.min(to, b) - Math.max(from, a) > 0.05 * Math.min(to - from, b - a)) found.push(slot);
    }
    return found;
  }

  // What is added to the words about a span: the time that passed in each run, and the step if it is one.
  stepWords(a, b) {
    const { data } = this;
    if (!data.aligned) return "";
    const passed = data.runs.map((name, run) => `${name} ${formatDuration(data.real(run, b) - data.real(run, a))}`).join(", ");
    const found = this.stepsBetween(a, b);
    return found.length === 1 ? ` ${this.took(found[0])}` : ` Time that passed: ${passed}.`;
  }

  // Where in its step something began: the step's name and the time since it began.
  into(event) {
    const { steps, columns: { run, start } } = this.data;
    const slot = steps.some ? steps.slotOf(run[event], start[event]) : -1;
    return slot < 0 ? null : [steps.name(slot), start[event] - steps.step(run[event], slot).start];
  }

  fillSteps() {
    if (!this.stepTwin?.open) return;
    const { data } = this;
    const found = this.stepsBetween(...this.view);
    const rows = found.slice(0, 200).map((slot) => {
      const took = data.runs.map((_, run) => data.steps.step(run, slot)).map((step) => (step ? step.end - step.start : NaN));
      const cells = took.map((time) => (Number.isNaN(time) ? "" : formatDuration(time)));
      const more = took[1] - took[0];
      const difference = Number.isNaN(more) ? "" : `${more > 0 ? "+" : ""}${formatDuration(more)}`;
      const go = element("button", { type: "button", onclick: () => this.goStep(slot) }, data.steps.name(slot));
      return [go, ...cells, ...(took.length === 2 ? [difference] : [])];
    });
    const caption = `Steps in view${found.length > 200 ? "; the first 200, zoom in for the others" : ""}. ${data.steps.reason}`;
    this.stepRows.replaceChildren(table(["step", ...data.runs, ...(data.runs.length === 2 ? ["difference"] : [])], rows, caption));
  }

  // The table of steps, closed at first.
  stepDetails() {
    if (!this.data.steps.some) return null;
    this.stepRows = element("div", { class: "sk-table" });
    this.stepTwin = element("details", { class: "sk-steps", ontoggle: () => this.fillSteps() },
      element("summary", {}, "The steps in view as a table"), this.stepRows);
    return this.stepTwin;
  }

  // ---- painting

  theme() {
    const tile = document.createElement("canvas");
    tile.width = tile.height = 8;
    super.theme();
    const context = tile.getContext("2d");
    context.strokeStyle = this.colors.muted;
    context.globalAlpha = 0.5;
    for (const shift of [-8, 0, 8]) {
      context.moveTo(shift - 1, 9);
      context.lineTo(shift + 9, -1);
    }
    context.stroke();
    this.hatching = this.canvas.getContext("2d").createPattern(tile, "repeat");
  }

  // Times count from the beginning of each step: no run's clock would fit the whole axis.
  paintTicks(context) {
    const { data, view, width } = this;
    if (!data.aligned) {
      super.paintTicks(context);
      return;
    }
    const { steps } = data;
    this.paintTimes(context, 0, view[0], Math.min(0, view[1]), GUTTER + 12);
    let free = GUTTER;
    for (let slot = Math.max(0, steps.slotAt(view[0])); slot < steps.labels.length && steps.starts[slot] < view[1]; slot += 1) {
      const start = steps.starts[slot];
      const end = start + steps.lengths[slot];
      const [left, right] = [Math.max(this.x(start), GUTTER), Math.min(this.x(end), width)];
      // Thousands of narrow steps cost no more than a look each.
      if (left < free && right - left <= 4) continue;
      context.font = `bold ${FONT}`;
      const label = steps.name(slot);
      const room = context.measureText(label).width;
      const named = left >= free && left + room < width && (right - left > room * 0.6 || this.x(start) >= GUTTER);
      if (start >= view[0] && (named || right - left > 4)) {
        context.fillStyle = data.steps.after(slot) || !named ? this.colors.line : this.colors.muted;
        context.fillRect(left, named ? 2 : TOP - 4, 1, data.height);
      }
      if (named) {
        context.fillStyle = this.colors.fg;
        context.textAlign = "left";
        context.fillText(label, left + 4, TOP / 2);
        free = left + room + 14;
      }
      context.font = FONT;
      this.paintTimes(context, start, Math.max(start, view[0]), Math.min(end, view[1]), named ? free + 14 : left + 14);
    }
  }

  // Ticks between two places, counted from `origin`.
  paintTimes(context, origin, from, to, least) {
    const room = (to - from) * this.scale;
    if (!(room > 60)) return;
    const { step, positions } = ticks(from - origin, to - origin, Math.max(1, room / 90));
    context.textAlign = "center";
    for (const position of positions) {
      const x = this.x(origin + position);
      if (!position || x < least || x > this.x(to) - 26) continue;
      context.fillStyle = this.colors.line;
      context.fillRect(x, TOP, 1, this.data.height - TOP);
      context.fillStyle = this.colors.muted;
      context.fillText(formatTick(position, step), x, TOP / 2);
    }
  }

  // Over what crosses a gap, so that it shows through: no time passed there.
  paintGaps(context) {
    const { data, view } = this;
    data.boxes.forEach(({ top, bottom }, run) => data.steps.gaps(run, ...view, (from, to) => {
      const [left, right] = [Math.max(this.x(from), GUTTER), Math.min(this.x(to), this.width)];
      if (right - left < 2) return;
      context.globalAlpha = 0.75;
      context.fillStyle = this.colors.bg;
      context.fillRect(left, top, right - left, bottom - top);
      context.globalAlpha = 1;
      context.fillStyle = this.hatching;
      context.fillRect(left, top, right - left, bottom - top);
    }));
    this.paintDurations(context);
  }

  // What each step took, in the line of its run's name.
  paintDurations(context) {
    const { data, view } = this;
    const { steps } = data;
    context.textAlign = "left";
    for (const band of data.bands.filter((one) => one.head)) {
      context.font = FONT;
      context.fillStyle = this.colors.fg;
      const free = 6 + this.nameWidth(context, data.runs[band.run]) + 12;
      for (let slot = Math.max(0, steps.slotAt(view[0])); slot < this.whole && steps.starts[slot] < view[1]; slot += 1) {
        if (steps.lengths[slot] * this.scale < 40) continue;
        const step = steps.step(band.run, slot);
        const x = this.x(steps.starts[slot]) + 4;
        const words = step ? formatDuration(step.end - step.start) : "";
        if (words && x >= free && this.measure(context, words) + 8 < steps.lengths[slot] * this.scale) context.fillText(words, x, band.y + band.height / 2);
      }
    }
  }

  nameWidth(context, name) {
    context.font = `bold ${FONT.replace("12px", "13px")}`;
    const { width } = context.measureText(name);
    context.font = FONT;
    return width;
  }
}
