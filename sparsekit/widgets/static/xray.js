// The live gradient X-ray: one batch in four stages, from csr rows to the lazy update of the optimizer's state.
// An anywidget front-end module: render({ model, el }) builds the view and returns its cleanup.

import { element, formatBytes, formatCount, formatShare, grouped, inkOn, mount, shape, taken } from "./common.js";

const STAGES = [
  ["The batch", "Each stored value of a csr row belongs to a column. Only these columns are used. The batch is shown transposed: a column here is a csr row."],
  ["Weight rows", "The forward pass reads only the weight rows of the columns that the batch uses."],
  ["Row-sparse gradient", "The gradient of each of these rows is a sum over the samples that use it: the stored value times the output's gradient g. All other rows are zero, and are not stored."],
  ["Lazy update", "The optimizer updates these rows and their state. The state of all other rows does not change. A dense update would decay their momentum."],
];
// The map of all rows' states: cells or bars across, the width of each, the height of a bar.
const [ACROSS, ACROSS_NARROW, SIDE, BAR] = [64, 24, 15, 72];

const short = (value, digits = 3) => (typeof value !== "number" ? String(value) : Number.isInteger(value) ? String(value) : String(Number(value.toPrecision(digits))));
const ageWords = (age) => (age < 0 ? "none" : `${age} step${age === 1 ? "" : "s"} old`);

// A gradient's row as a sum over batch rows.
function formula(entries, most, digits = 3) {
  const words = entries.slice(0, most).map(([row, value]) => `${value === 1 ? "" : `${short(value, digits)}·`}g${row}`);
  return words.join(" + ") + (entries.length > most ? " + …" : "");
}

class Xray {
  constructor(root, data) {
    this.root = root;
    this.data = data;
    this.step = data.steps.length - 1;
    this.stage = 0;
    this.line = -1;
    this.build();
    this.fill();
  }

  get now() { return this.data.steps[this.step]; }

  build() {
    const { steps } = this.data;
    this.stages = STAGES.map(([name], i) => element("button", { type: "button", onclick: () => this.go(i) }, `${i + 1}  ${name}`));
    this.back = element("button", { type: "button", "aria-label": "Stage before", onclick: () => this.go(this.stage - 1) }, "‹");
    this.next = element("button", { type: "button", "aria-label": "Next stage", onclick: () => this.go(this.stage + 1) }, "›");
    this.slider = element("input", {
      type: "range", min: 0, max: steps.length - 1, step: 1, value: this.step, "aria-label": "Batch",
      oninput: () => { this.step = Number(this.slider.value); this.line = -1; this.fill(); },
    });
    this.which = element("output", {});
    this.say = element("p", { class: "sk-status sk-said sk-short", role: "status", "aria-live": "polite" });
    this.player = element("button", { type: "button", onclick: () => this.play() }, "play");
    this.table = element("div", { class: "sk-pipe", tabindex: "0", role: "group", "aria-label": "Weight rows of this batch; left and right change the stage, up and down choose a row" });
    this.map = shape("svg", { class: "sk-stale", role: "img" });
    this.mapWords = element("p", {});
    this.counts = element("div", { class: "sk-legend" });
    this.root.append(
      element("div", { class: "sk-bar" }, this.back, ...this.stages, this.next, this.player,
        steps.length > 1 ? element("label", {}, "batch ", this.slider, " ", this.which) : null),
      this.say, this.table, this.mapWords, this.map, this.counts,
      element("p", { class: "sk-keys" }, element("kbd", {}, "← →"), " stage   ", element("kbd", {}, "↑ ↓"), " weight row   ", element("kbd", {}, "Page ↑ ↓"), " batch"),
    );
    this.table.addEventListener("keydown", (event) => this.key(event));
  }

  key(event) {
    const last = this.now.lines.length - 1;
    const batch = (by) => {
      this.step = Math.max(0, Math.min(this.data.steps.length - 1, this.step + by));
      this.slider.value = this.step;
      this.line = -1;
      this.fill();
    };
    taken(event, {
      ArrowRight: () => this.go(this.stage + 1), ArrowLeft: () => this.go(this.stage - 1),
      ArrowDown: () => this.choose(Math.min(last, this.line + 1)), ArrowUp: () => this.choose(Math.max(0, this.line - 1)),
      Home: () => this.choose(Math.min(0, last)), End: () => this.choose(last),
      PageDown: () => batch(1), PageUp: () => batch(-1),
      Escape: this.line >= 0 ? () => this.choose(-1) : null,
    }[event.key]);
  }

  go(stage) {
    this.stage = Math.max(0, Math.min(STAGES.length - 1, stage));
    this.fill();
  }

  choose(line) {
    this.line = line;
    this.mark();
    this.tell();
  }

  fill() {
    this.stages.forEach((button, i) => button.setAttribute("aria-pressed", String(i === this.stage)));
    this.back.disabled = this.stage === 0;
    this.next.disabled = this.stage === STAGES.length - 1;
    this.which.textContent = `${formatCount(this.now.number)} of ${formatCount(this.data.steps.at(-1).number)}`;
    this.fillTable();
    this.fillMap();
    this.tell();
  }

  tell() {
    const { now } = this;
    if (this.line >= 0 && now.lines[this.line]) {
      const line = now.lines[this.line];
      const who = line.from.map(([row]) => row);
      const values = line.gradient ? ` = (${line.gradient.map((value) => short(value)).join(", ")}${this.data.units > line.gradient.length ? ", …" : ""})` : "";
      const words = [`Column ${grouped(line.row)} is stored by batch row${who.length > 1 ? "s" : ""} ${who.slice(0, 8).join(", ")}${who.length > 8 ? ", …" : ""}`,
        `so weight row ${grouped(line.row)} is read`, `its gradient is ${formula(line.from, 6)}${this.numbers(line)}${values}`,
        `its state (${line.before < 0 ? "none yet" : ageWords(line.before)}) is updated now`];
      this.say.textContent = `${words.slice(0, this.stage + 1).join("; ")}.`;
      return;
    }
    const facts = [
      `${formatCount(now.rows)} rows, ${formatCount(now.stored)} stored values, ${formatBytes(now.batch_bytes)}.`,
      `${formatCount(now.touched)} of ${formatCount(this.data.features)} rows (${formatShare(now.touched, this.data.features)}) are read.`,
      `It takes ${formatBytes(now.bytes)}; a dense one would take ${formatBytes(now.dense_bytes)}.${now.agrees === false ? " The given gradient does not store the rows that the batch touches." : ""}`,
      `${formatCount(now.touched)} rows are updated, ${formatCount(now.new)} of them for the first time. ${formatCount(now.ages.slice(1).reduce((a, b) => a + b, 0))} keep an older state.`,
    ];
    this.say.replaceChildren(STAGES[this.stage][1], " ", element("b", {}, facts[this.stage]));
  }

  // The same sum with the numbers of the output's gradient, where they are known.
  numbers({ from }) {
    const { upstream } = this.now;
    if (!from.every(([row]) => upstream?.[row]) || from.length > 4) return "";
    const more = (row) => (this.data.units > upstream[row].length ? ", …" : "");
    return ` = ${from.map(([row, value]) => `${short(value)}·(${upstream[row].map((one) => short(one)).join(", ")}${more(row)})`).join(" + ")}`;
  }

  // Stage after stage and batch after batch, until the last or until stopped.
  play() {
    const playing = this.playing !== undefined;
    clearInterval(this.playing);
    this.playing = undefined;
    this.player.textContent = playing ? "play" : "stop";
    if (playing) return;
    const last = this.data.steps.length - 1;
    if (this.step === last && this.stage === STAGES.length - 1) {
      this.step = Math.max(0, last - 7);
      this.stage = 0;
    }
    this.playing = setInterval(() => {
      if (this.stage < STAGES.length - 1) this.stage += 1;
      else if (this.step < last) [this.step, this.stage] = [this.step + 1, 0];
      else this.play();
      this.slider.value = this.step;
      this.line = -1;
      this.fill();
    }, 900);
    this.fill();
  }

  destroy() { clearInterval(this.playing); }

  fillTable() {
    const { now } = this;
    // What does not fit beside the last column, the state, would hide it: fewer samples, and figures of two digits.
    const samples = Math.min(now.rows, this.data.shown.samples, this.table.clientWidth < 1050 ? 6 : 8);
    const units = Math.min(this.data.units, this.data.shown.units);
    if (!now.lines.length) {
      this.table.replaceChildren(element("p", {}, "The batch stores nothing, so no row of the weight is touched."));
      return;
    }
    const heads = [["weight row", 1], ...Array.from({ length: samples }, (_, i) => [`row ${i}`, 1]), ["weight row", 1], ["gradient", 1], ["state before → after", 1]];
    const head = element("tr", {}, ...heads.map(([words], i) => element("th", { scope: "col", class: this.stageOf(i, samples) > this.stage ? "sk-later" : "" }, words)));
    const body = now.lines.map((line, i) => {
      const color = this.data.colors[i];
      const ink = inkOn(color);
      const stored = new Map(line.from);
      const cells = Array.from({ length: samples }, (_, s) => (stored.has(s)
        ? element("td", { class: "sk-box", "data-column": `batch row ${s}` }, element("span", { style: `background:${color};color:${ink}` }, short(stored.get(s), 2)))
        : element("td", { class: "sk-box" }, element("span", { class: "sk-absent" }, "·"))));
      const later = (stage) => (stage > this.stage ? "sk-later" : "");
      const values = line.gradient ? ` = (${line.gradient.slice(0, 2).map((value) => short(value, 2)).join(", ")}${this.data.units > 2 ? ", …" : ""})` : "";
      return element("tr", { onclick: () => this.choose(i) },
        element("th", { scope: "row" }, grouped(line.row)), ...cells,
        element("td", { class: later(1) }, element("span", { class: "sk-units", "aria-label": `row of ${this.data.units} values` }, ...Array.from({ length: units }, () => element("i", { style: `background:${color}` })))),
        element("td", { class: later(2) }, formula(line.from, 2, 2), element("small", {}, values)),
        element("td", { class: later(3) }, line.before < 0 ? "none → now" : element("b", {}, `${ageWords(line.before)} → now`)));
    });
    const rest = now.touched - now.lines.length;
    const caption = rest > 0 || now.rows > samples ? `${formatCount(now.lines.length)} of ${formatCount(now.touched)} touched weight rows and ${formatCount(samples)} of ${formatCount(now.rows)} batch rows` : `All ${formatCount(now.touched)} touched weight rows`;
    this.table.replaceChildren(element("table", {}, element("caption", {}, caption), element("thead", {}, head), element("tbody", {}, ...body)));
    this.mark();
  }

  stageOf(column, samples) { return column <= samples ? 0 : column - samples; }

  mark() {
    this.table.querySelectorAll("tbody tr").forEach((row, i) => {
      row.classList.toggle("sk-on", i === this.line);
      if (i === this.line) row.setAttribute("aria-current", "true");
      else row.removeAttribute("aria-current");
    });
  }

  // The age of every row's state, in blocks; before the last stage as it is before the update.
  fillMap() {
    const { data, now } = this;
    const after = this.stage === 3 || this.step === 0 ? now : { ...data.steps[this.step - 1], before: true };
    const empty = this.stage < 3 && this.step === 0;
    const found = new Map(empty ? [] : after.map);
    this.across = data.span === 1 && this.table.clientWidth < 500 ? ACROSS_NARROW : ACROSS;
    const [width, height] = [this.across * SIDE, data.span > 1 ? BAR + 1 : Math.ceil(data.blocks / this.across) * 17];
    this.map.setAttribute("viewBox", `0 0 ${width} ${height}`);
    this.map.style.aspectRatio = `${width} / ${height}`;
    this.map.replaceChildren(...(data.span > 1 ? this.bars(found) : this.cells(found)));
    const when = this.stage === 3 ? "after this update" : this.step === 0 ? "before the first update" : "after the update before this batch";
    const block = data.span > 1 ? `; first rows on the left: each bar is ${formatCount(data.span)} rows, split by the age of their state` : "";
    this.mapWords.replaceChildren(element("b", {}, `State of all ${formatCount(data.features)} rows, ${when}`), block, ".");
    const counts = empty ? data.ages.map(() => 0) : after.ages;
    const never = empty ? data.features : after.never;
    this.map.setAttribute("aria-label", `${data.ages.map(([name], i) => `${name}: ${formatCount(counts[i])}`).join(", ")}, no state yet: ${formatCount(never)}`);
    this.counts.replaceChildren(...data.ages.map(([name, color, letter], i) => element("span", { class: "sk-chip" },
      element("i", { style: `background:${color};color:${inkOn(color)}` }, letter), element("span", {}, `${name}: ${formatCount(counts[i])}`))),
    element("span", { class: "sk-chip" }, element("i", { class: "sk-none" }), element("span", {}, `no state yet: ${formatCount(never)}`)));
  }

  // A cell for each row.
  cells(found) {
    return Array.from({ length: this.data.blocks }, (_, block) => {
      const [x, y] = [SIDE * (block % this.across), 17 * Math.floor(block / this.across)];
      const age = found.get(block)?.indexOf(1) ?? -1;
      const box = { x: x + 0.5, y: y + 0.5, width: SIDE - 2, height: 15 };
      if (age < 0) return [shape("rect", { ...box, fill: "none", class: "sk-empty" })];
      const [, color, letter] = this.data.ages[age];
      return [shape("rect", { ...box, fill: color }), this.letter(x + SIDE / 2 - 0.5, y + 12, color, letter)];
    }).flat();
  }

  // A bar for each block of rows, the newest states at its foot; what has no state yet stays empty.
  bars(found) {
    const { data } = this;
    const marks = [shape("rect", { x: 0.5, y: 0.5, width: SIDE * data.blocks - 1, height: BAR, fill: "none", class: "sk-empty" })];
    for (const [block, ages] of found) {
      const rows = Math.min(data.span, data.features - block * data.span);
      let y = BAR + 0.5;
      ages.forEach((count, age) => {
        const high = (BAR * count) / rows;
        y -= high;
        if (high > 0.2) marks.push(shape("rect", { x: SIDE * block + 0.5, y, width: SIDE - 1.5, height: high, fill: data.ages[age][1] }));
        if (high > 11) marks.push(this.letter(SIDE * (block + 0.5), y + high / 2 + 3.5, data.ages[age][1], data.ages[age][2]));
      });
    }
    return marks;
  }

  letter(x, y, color, text) { return shape("text", { x, y, "text-anchor": "middle", fill: inkOn(color) }, text); }
}

async function render({ model, el }) {
  return mount(model, el, "xray", (root, data) => new Xray(root, data));
}

export default { render };
