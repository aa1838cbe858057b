// The live timeline: one canvas of lanes, an overview, a panel of details, a table twin.
// An anywidget front-end module: render({ model, el }) builds the view and returns its cleanup.

import { ALARM, element, formatCount, formatDuration, inkOn, stillPreferred, unpack, watchTheme } from "./common.js";
import { Coloring, Data, ROW } from "./timeline_data.js";
import { GUTTER } from "./timeline_paint.js";
import { MARK_KEYS, Noter } from "./timeline_marks.js";
import { STEP_KEYS } from "./timeline_steps.js";

const KEYS = [
  ["+ −", "zoom"], ["← →", "pan"], ["Home", "whole run"], ["Enter", "step into the operators, open one"],
  ["Tab", "next operator"], ["↑ ↓", "lane above, below"], ["p", "forward ↔ backward partner"],
  ["z", "zoom to the operator"], ["/", "search"], ["Escape", "leave"],
];

// ---- the view

class Timeline extends Noter {
  constructor(model, root, data) {
    super();
    Object.assign(this, { model, root, data });
    const { view } = data.aligned ? data.steps : data;
    this.view = view[1] > view[0] ? view : [data.begin, data.begin + data.length];
    this.selected = this.chosen = -1;
    this.inside = false;
    this.range = null;
    this.only = -1;
    this.matches = this.marked = null;
    this.widths = new Map();
    this.cleanups = [];
    this.build();
    this.recolor(model.get("color_by") || "operator");
    this.observe();
  }

  build() {
    const title = this.model.get("title") || "Timeline";
    this.canvas = element("canvas", {});
    this.tip = element("div", { class: "sk-tip", hidden: true });
    this.stage = element("div", {
      class: "sk-stage", tabindex: "0", role: "application", "aria-roledescription": "timeline",
      "data-title": `${title}: ${formatCount(this.data.count)} events${this.data.marks.summary}`,
    }, this.canvas, this.tip);
    this.map = element("canvas", { class: "sk-map", "aria-hidden": "true" });
    this.status = element("div", { class: "sk-status", role: "status", "aria-live": "polite" });
    this.legend = element("div", { class: "sk-legend", role: "group", "aria-label": "Legend; press one to show only it" });
    this.panel = element("aside", { class: "sk-panel", "aria-label": "Details of the operator", hidden: true });
    this.statistics = element("div", { class: "sk-table" });
    this.rows = element("div", { class: "sk-table" });
    this.twin = element("details", { ontoggle: () => this.fillTwin() },
      element("summary", {}, "The events in view as a table"), this.rows);
    const main = element("div", { class: "sk-main" }, this.map, this.stage, this.legend, this.status, this.statistics);
    main.append(...[this.stepDetails(), this.markDetails(), this.twin].filter(Boolean));
    this.root.append(
      element("h3", {}, title),
      element("p", {}, this.model.get("description") || ""),
      this.toolbar(),
      element("div", { class: "sk-body" }, main, this.panel),
      this.help(),
    );
    this.showAligned();
    this.listen();
  }

  toolbar() {
    const button = (text, label, action) => element("button", { type: "button", "aria-label": label, title: label, onclick: action }, text);
    this.choice = element("select", { onchange: () => this.recolor(this.choice.value, true) },
      ...["operator", "lane", "layer", "density"].map((mode) => element("option", { value: mode }, mode)));
    this.search = element("input", {
      type: "search", placeholder: "operator, layer, line …", "aria-label": "Search events",
      oninput: () => this.find(this.search.value),
      onkeydown: (event) => { if (event.key === "Enter") this.nextMatch(event.shiftKey ? -1 : 1); },
    });
    return element("div", { class: "sk-bar" },
      button("+", "Zoom in", () => this.zoom(0.5)), button("−", "Zoom out", () => this.zoom(2)),
      button("whole run", "Show the whole run", () => this.home()), this.aligning(),
      element("label", {}, "colour by ", this.choice), element("label", {}, "search ", this.search));
  }

  help() {
    const keys = [...KEYS, ...(this.data.marks.count ? MARK_KEYS : []), ...(this.data.runs.length > 1 ? STEP_KEYS : [])].flatMap(([key, words]) => [element("kbd", {}, key), ` ${words}   `]);
    return element("details", {}, element("summary", {}, "Keys and mouse"), element("p", { class: "sk-keys" }, ...keys,
      element("br"), "Drag to pan; the wheel zooms once the timeline has the focus (or with Ctrl); Shift and drag measures a span; double click zooms to an operator."));
  }

  // ---- moving

  home() { this.move(this.data.begin, this.data.begin + this.data.length); }

  move(begin, end, still = false) {
    const most = this.data.length;
    const span = Math.min(Math.max(end - begin, most * 1e-7, 1e-3), most);
    const from = Math.min(Math.max(begin, this.data.begin), this.data.begin + most - span);
    const target = (this.target = [from, from + span]);
    cancelAnimationFrame(this.flight);
    if (still || stillPreferred()) {
      this.view = target;
      this.moved();
      return;
    }
    const [origin, began] = [this.view, performance.now()];
    const step = (now) => {
      const part = Math.min(1, (now - began) / 140);
      const eased = 1 - (1 - part) ** 3;
      this.view = origin.map((value, i) => value + (target[i] - value) * eased);
      this.moved();
      if (part < 1) this.flight = requestAnimationFrame(step);
    };
    this.flight = requestAnimationFrame(step);
  }

  moved() {
    this.draw();
    clearTimeout(this.pending);
    this.pending = setTimeout(() => this.measureView(), 120);
  }

  zoom(factor, x = null, still = false) {
    const center = x === null ? this.focusTime() : this.time(x);
    const [a, b] = this.view;
    this.move(center - (center - a) * factor, center + (b - center) * factor, still);
  }

  focusTime() {
    const { start, duration } = this.data.placed;
    const middle = this.selected >= 0 ? start[this.selected] + duration[this.selected] / 2 : NaN;
    return middle >= this.view[0] && middle <= this.view[1] ? middle : (this.view[0] + this.view[1]) / 2;
  }

  pan(share) {
    const by = (this.view[1] - this.view[0]) * share;
    this.move(this.view[0] + by, this.view[1] + by);
  }

  reveal(event) {
    const { start, duration } = this.data.placed;
    const [a, b] = this.view;
    const [from, to] = [start[event], start[event] + duration[event]];
    const span = b - a;
    if (from < a || to > b || (to - from) * this.scale < 3) {
      const wanted = (to - from) * this.scale < 3 ? Math.max((to - from) * 12, 1e-3) : Math.max(span, (to - from) * 1.3);
      this.move((from + to - wanted) / 2, (from + to + wanted) / 2);
    }
    const y = this.data.tracks[this.data.trackOf[event]].y;
    if (y < this.stage.scrollTop || y + ROW > this.stage.scrollTop + this.stage.clientHeight) this.stage.scrollTop = y - 60;
  }

  // ---- choosing

  recolor(mode, tell = false) {
    this.choice.value = ["operator", "lane", "layer", "density"].includes(mode) ? mode : "operator";
    this.coloring = new Coloring(this.data, this.choice.value);
    this.only = -1;
    const chips = this.coloring.names.map((name, i) => {
      const color = this.coloring.colors[i];
      const mark = element("i", { style: `background:${color};color:${inkOn(color)}` }, this.coloring.codes[i]);
      return element("button", {
        type: "button", class: "sk-chip", "aria-pressed": "false", title: name,
        onclick: (event) => this.highlight(i, event.currentTarget),
      }, mark, element("span", {}, name));
    });
    this.legend.replaceChildren(...chips);
    if (this.data.columns.fallback.some((value) => value)) {
      const hatch = `repeating-linear-gradient(135deg, ${ALARM} 0 2px, transparent 2px 5px)`;
      this.legend.append(element("span", { class: "sk-chip" }, element("i", { style: `background:${hatch};border:2px solid ${ALARM}` }), element("span", {}, "became dense")));
    }
    if (tell) {
      this.model.set("color_by", this.choice.value);
      this.model.save_changes();
    }
    this.mark();
  }

  highlight(category, chip) {
    this.only = this.only === category ? -1 : category;
    for (const other of this.legend.querySelectorAll("button")) other.setAttribute("aria-pressed", String(other === chip && this.only >= 0));
    this.mark();
  }

  // What search and legend pick out; everything else is painted faintly.
  mark() {
    const { matches, only, coloring } = this;
    const accept = (event) => (!matches || matches[event]) && (only < 0 || coloring.category(event) === only);
    this.marked = matches || only >= 0 ? this.data.subset(accept) : null;
    this.draw();
  }

  find(words) {
    const wanted = words.trim().toLowerCase();
    const { name, layer, line } = this.data.columns;
    if (wanted) {
      const hit = this.data.strings.map((text) => text.toLowerCase().includes(wanted));
      this.matches = Uint8Array.from(name, (_, i) => hit[name[i]] || hit[layer[i]] || hit[line[i]]);
      this.say(`${formatCount(this.matches.reduce((sum, value) => sum + value, 0))} events match “${words.trim()}”; Enter goes to the next.`);
    } else {
      this.matches = null;
      this.measureView();
    }
    this.mark();
  }

  // Walk from event to event in order of time.
  walk(direction, accept) {
    const { count } = this.data;
    let event = this.selected < 0 ? (direction > 0 ? -1 : count) : this.selected;
    for (let i = 0; i < count; i += 1) {
      event = (event + direction + count) % count;
      if (accept(event)) return event;
    }
    return -1;
  }

  nextMatch(direction) {
    if (!this.matches) return;
    const event = this.walk(direction, (i) => this.matches[i]);
    if (event >= 0) this.select(event);
  }

  select(event, open = true) {
    this.selected = event;
    this.partners = event < 0 ? [] : this.data.partners(event);
    if (event >= 0) {
      this.reveal(event);
      if (open || !this.panel.hidden) this.describe(event);
      this.say(this.sentence(event));
    } else if (!this.panel.hidden) {
      this.panel.hidden = true;
    }
    if (this.model.get("selected") !== event) {
      this.model.set("selected", event);
      this.model.save_changes();
    }
    this.draw();
  }

  sentence(event) {
    const { start, duration, fallback } = this.data.columns;
    const dense = ["", ", made a sparse array dense", ", made a sparse array dense by nature"][fallback[event]];
    const { runs, columns: { run } } = this.data;
    const where = [this.data.lane(event), ...(runs.length > 1 ? [runs[run[event]]] : [])].join(", ");
    const step = this.stepOf(event);
    return `${this.data.label(event)}, ${where}, ${formatDuration(duration[event])} from ${formatDuration(start[event])}${step && `, ${step}`}${dense}.`;
  }

  say(words) { this.status.textContent = words; }

  // ---- mouse, keys, page

  at(x, y) {
    const track = this.data.tracks.find((candidate) => y >= candidate.y && y < candidate.y + ROW);
    if (!track || x < GUTTER) return -1;
    const reach = 2 / this.scale;
    const [time, { start, duration }] = [this.time(x), this.data.placed];
    let best = -1;
    for (let i = this.data.first(track, time - reach); i < track.order.length; i += 1) {
      const event = track.order[i];
      if (start[event] > time + reach) break;
      if (best < 0 || (start[event] <= time && duration[event] > 0)) best = event;
      if (start[event] <= time && start[event] + duration[event] >= time) return event;
    }
    return best;
  }

  point(event) {
    const box = this.canvas.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  }

  listen() {
    const { canvas, stage, map } = this;
    canvas.addEventListener("pointerdown", (event) => this.press(event));
    canvas.addEventListener("pointermove", (event) => this.hover(event));
    canvas.addEventListener("pointerleave", () => { this.tip.hidden = true; });
    canvas.addEventListener("dblclick", (event) => {
      const found = this.at(...this.point(event));
      if (found >= 0) this.zoomTo(found);
    });
    canvas.addEventListener("wheel", (event) => {
      if (!event.ctrlKey && !event.metaKey && document.activeElement !== stage && !stage.matches(":focus")) return;
      event.preventDefault();
      if (Math.abs(event.deltaX) > Math.abs(event.deltaY)) this.move(...this.view.map((time) => time + event.deltaX / this.scale), true);
      else this.zoom(1.0016 ** Math.max(-400, Math.min(400, event.deltaY)), this.point(event)[0], true);
    }, { passive: false });
    stage.addEventListener("keydown", (event) => this.key(event));
    map.addEventListener("pointerdown", (event) => {
      map.setPointerCapture(event.pointerId);
      const go = (moved) => {
        const box = map.getBoundingClientRect();
        const time = ((moved.clientX - box.left - GUTTER) / (box.width - GUTTER)) * this.data.length + this.data.begin;
        const half = (this.view[1] - this.view[0]) / 2;
        this.move(time - half, time + half, true);
      };
      go(event);
      map.onpointermove = go;
      map.onpointerup = map.onpointercancel = () => { map.onpointermove = null; };
    });
  }

  press(event) {
    if (event.button !== 0) return;
    this.stage.focus({ preventScroll: true });
    this.canvas.setPointerCapture(event.pointerId);
    const [x, y] = this.point(event);
    this.drag = { x, y, view: this.view, far: false, measure: event.shiftKey, from: this.time(x) };
    const done = (released) => {
      this.canvas.onpointerup = this.canvas.onpointercancel = null;
      const { far, measure } = this.drag;
      this.drag = null;
      if (far && measure) this.measureView();
      if (far || released.type === "pointercancel") return;
      if (this.range) this.range = null;
      const found = this.at(x, y);
      this.inside = found >= 0;
      this.select(found);
      const mark = found < 0 ? this.markAt(x, y) : -1;
      this.chooseMark(mark);
      if (found < 0 && mark < 0) this.measureView();
    };
    this.canvas.onpointerup = this.canvas.onpointercancel = done;
  }

  hover(event) {
    const [x, y] = this.point(event);
    if (this.drag) {
      this.drag.far ||= Math.abs(x - this.drag.x) > 3;
      if (!this.drag.far) return;
      this.tip.hidden = true;
      if (this.drag.measure) {
        this.range = [this.drag.from, this.time(x)].sort((a, b) => a - b);
        this.draw();
      } else {
        const by = (this.drag.x - x) / this.scale;
        this.move(this.drag.view[0] + by, this.drag.view[1] + by, true);
      }
      return;
    }
    const found = this.at(x, y);
    const mark = found < 0 ? this.markAt(x, y) : -1;
    this.tip.hidden = found < 0 && mark < 0;
    if (this.tip.hidden) return;
    this.tip.textContent = mark < 0 ? `${this.data.label(found)}: ${formatDuration(this.data.columns.duration[found])}` : this.data.marks.sentence(mark);
    this.tip.style.left = `${Math.max(0, Math.min(x + 12, this.width - this.tip.offsetWidth - 4))}px`;
    this.tip.style.top = `${y + 18}px`;
  }

  key(event) {
    if (event.altKey || event.metaKey || event.ctrlKey || event.target !== this.stage) return;
    const action = {
      "+": () => this.zoom(0.5), "=": () => this.zoom(0.5), "-": () => this.zoom(2), "−": () => this.zoom(2),
      ArrowLeft: () => this.pan(-0.2), ArrowRight: () => this.pan(0.2),
      ArrowUp: () => this.climb(-1), ArrowDown: () => this.climb(1),
      Home: () => this.home(),
      End: () => this.move(this.data.end - (this.view[1] - this.view[0]), this.data.end),
      Enter: () => this.enter(), "/": () => this.search.focus(),
      p: () => this.partners?.length && this.select(this.partners[0], false),
      m: () => this.nextMark(1), M: () => this.nextMark(-1),
      z: () => this.selected >= 0 && this.zoomTo(this.selected),
      ...(this.data.runs.length > 1 ? {
        a: () => this.align(!this.data.aligned, true),
        "[": () => this.goStep(this.stepInView() - 1), "]": () => this.goStep(this.stepInView() + 1),
      } : {}),
      // Only once inside: otherwise Tab goes on to the next control of the page.
      Tab: this.inside ? () => this.select(this.walk(event.shiftKey ? -1 : 1, () => true), false) : null,
      Escape: this.inside || this.selected >= 0 || this.range || this.chosen >= 0 ? () => this.leave() : null,
    }[event.key];
    if (!action) return;
    event.preventDefault();
    event.stopPropagation();
    action();
  }

  enter() {
    if (!this.data.count) return;
    if (this.selected < 0) {
      // The first that begins in view; if none does, the first that reaches into it.
      let first = -1;
      const { start } = this.data.placed;
      const late = (event) => [start[event] < this.view[0], start[event]];
      const before = ([one, time], [other, then]) => (one === other ? time < then : !one);
      this.data.within(...this.view, (event) => { if (first < 0 || before(late(event), late(first))) first = event; });
      this.select(Math.max(first, 0), false);
    } else {
      this.select(this.selected);
    }
    this.inside = true;
  }

  leave() {
    this.inside = false;
    this.range = null;
    this.chosen = -1;
    this.select(-1);
    this.measureView();
  }

  climb(direction) {
    if (this.selected < 0) return;
    const { start } = this.data.placed;
    const next = this.data.tracks[this.data.trackOf[this.selected] + direction];
    if (!next) return;
    const i = this.data.starting(next, start[this.selected], 0);
    this.select(next.order[Math.min(i, next.order.length - 1)], false);
  }

  observe() {
    const observer = new ResizeObserver(() => this.resize());
    observer.observe(this.stage);
    const listen = (name, callback) => {
      this.model.on(name, callback);
      this.cleanups.push(() => this.model.off(name, callback));
    };
    listen("change:color_by", () => this.recolor(this.model.get("color_by")));
    listen("change:align", () => this.align(this.model.get("align") !== "start" && this.data.steps.some));
    listen("change:selected", () => {
      const wanted = this.model.get("selected");
      if (wanted !== this.selected && wanted < this.data.count) this.select(wanted);
    });
    this.cleanups.push(() => observer.disconnect(), watchTheme(() => this.theme()));
    this.theme();
    this.measureView();
  }

  destroy() {
    cancelAnimationFrame(this.frame);
    cancelAnimationFrame(this.flight);
    clearTimeout(this.pending);
    this.cleanups.forEach((cleanup) => cleanup());
  }
}

async function render({ model, el }) {
  const root = el.appendChild(element("div", { class: "sk sk-timeline" }));
  let timeline = null;
  let gone = false;
  let turn = 0;
  const show = async () => {
    const mine = (turn += 1);
    try {
      const unpacked = await unpack(model.get("payload"));
      if (gone || mine !== turn) return;
      timeline?.destroy();
      root.replaceChildren();
      timeline = new Timeline(model, root, new Data(unpacked, model.get("align") !== "start"));
      root.dataset.ready = "true";
    } catch (error) {
      root.replaceChildren(element("p", { role: "alert" }, `The timeline cannot be shown: ${error.message}`));
    }
  };
  model.on("change:payload", show);
  await show();
  return () => {
    gone = true;
    model.off("change:payload", show);
    timeline?.destroy();
    root.remove();
  };
}

export default { render };
