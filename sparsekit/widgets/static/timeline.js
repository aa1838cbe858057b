// The live timeline: one canvas of lanes, an overview, a panel of details, a table twin.
// An anywidget front-end module: render({ model, el }) builds the view and returns its cleanup.

import { element, formatCount, table, unpack, watchTheme } from "./common.js";
import { Camera } from "./timeline_camera.js";
import { Data, ROW } from "./timeline_data.js";
import { Legend } from "./timeline_legend.js";
import { MARK_KEYS, MarkPainter, markBeside, markTables } from "./timeline_marks.js";
import { Painter } from "./timeline_paint.js";
import { Pointer } from "./timeline_pointer.js";
import { Letters, Scene } from "./timeline_scene.js";
import { Details, FoldedTable, Statistics, eventTable, sentence } from "./timeline_words.js";

const KEYS = [
  ["+ −", "zoom"], ["← →", "pan"], ["Home", "whole run"], ["Enter", "step into the operators, open one"],
  ["Tab", "next operator"], ["↑ ↓", "lane above, below"], ["p", "forward ↔ backward partner"],
  ["z", "zoom to the operator"], ["/", "search"], ["Escape", "leave"],
];

// ---- the view

// Owns the scene and what is chosen in it, and answers mouse, keys and the model; its parts paint, move, and say.
class Timeline {
  constructor(model, root, data) {
    const scene = new Scene(data);
    Object.assign(this, { model, root, data, scene });
    this.inside = false;
    this.matches = null;
    this.cleanups = [];
    this.camera = new Camera(scene, () => this.moved());
    this.details = new Details(scene, {
      close: () => { this.select(-1); this.stage.focus(); },
      select: (event) => this.select(event),
      beside: (direction, event) => this.select(this.beside(direction, event)),
      zoomTo: (event) => this.camera.zoomTo(event),
    });
    this.statistics = new Statistics(scene);
    this.tables = [
      data.marks.count && new FoldedTable("Markers and counters in view as a table", "sk-marks", () => markTables(scene, (mark) => this.chooseMark(mark))),
      new FoldedTable("The events in view as a table", null, () => [eventTable(scene, (event) => this.select(event))]),
    ].filter(Boolean);
    this.legend = new Legend(scene.coloring, () => this.mark());
    this.build();
    const letters = new Letters();
    const { stage, canvas, map } = this;
    this.painter = new Painter(scene, { root, stage, canvas, map }, letters,
      new MarkPainter(scene, letters));
    this.pointer = new Pointer(scene, this.camera, { stage, canvas, map }, {
      choose: (event, mark) => this.choose(event, mark), measure: () => this.measureView(), draw: () => this.painter.draw() });
    this.legend.fill(data.columns.fallback.some((value) => value), data.readers.length > 0);
    this.observe();
  }

  build() {
    const title = this.model.get("title") || "Timeline";
    const how = this.data.shared ? "processes on one clock" : "runs that begin together";
    const runs = this.data.runs.length > 1 ? ` of ${this.data.runs.length} ${how}` : "";
    this.canvas = element("canvas", {});
    this.stage = element("div", {
      class: "sk-stage", tabindex: "0", role: "application", "aria-roledescription": "timeline",
      "aria-label": `${title}: ${formatCount(this.data.count)} events${this.data.marks.summary}${runs}. Enter steps into the operators, Escape leaves.`,
    }, this.canvas);
    this.map = element("canvas", { class: "sk-map", "aria-hidden": "true" });
    this.status = element("div", { class: "sk-status", role: "status", "aria-live": "polite" });
    this.answer = element("div", { class: "sk-fixes" });
    const main = element("div", { class: "sk-main" }, this.map, this.stage, this.details.element, this.legend.element, this.status,
      ...[this.statistics, ...this.tables].map((part) => part.element));
    this.root.append(
      element("h3", {}, title),
      element("p", {}, this.model.get("description") || ""),
      this.toolbar(),
      main,
      this.answer,
      this.help(),
    );
    this.stage.addEventListener("keydown", (event) => this.key(event));
  }

  toolbar() {
    const button = (text, label, action) => element("button", { type: "button", "aria-label": label, title: label, onclick: action }, text);
    this.search = element("input", {
      type: "search", title: "Words of operator, layer and line", "aria-label": "Search events",
      oninput: () => this.find(this.search.value),
      onkeydown: (event) => { if (event.key === "Enter") this.nextMatch(event.shiftKey ? -1 : 1); },
    });
    return element("div", { class: "sk-bar" },
      button("+", "Zoom in", () => this.camera.zoom(0.5)), button("−", "Zoom out", () => this.camera.zoom(2)),
      button("whole run", "Show the whole run", () => this.camera.home()),
      element("label", {}, "search ", this.search), this.fixing(button));
  }

  // A button that has Python try fixes, where the profile knows its program; what Python found stands below the tables.
  fixing(button) {
    if (!this.model.get("offers_fixes")) return "";
    this.fix = button("try fixes", "Try what the advice recommends on copies of the program", () => {
      this.fix.disabled = true;
      this.say("Trying fixes on copies of the program …");
      this.model.set("tries", this.model.get("tries") + 1);
      this.model.save_changes();
    });
    return this.fix;
  }

  showFixes() {
    const found = this.model.get("fixes");
    if (!this.fix || found.sentence === undefined) return;
    this.answer.replaceChildren(element("p", {}, found.sentence),
      found.rows.length ? table(found.columns, found.rows, "Fixes that were tried on copies of the program") : "",
      found.patch ? element("details", { open: "" }, element("summary", {}, "The patch"), element("pre", {}, found.patch)) : "");
    this.fix.disabled = false;
    this.say(found.sentence);
    this.answer.scrollIntoView({ block: "nearest" });
  }

  help() {
    const keys = [...KEYS, ...(this.data.marks.count ? MARK_KEYS : [])].flatMap(([key, words]) => [element("kbd", {}, key), ` ${words}   `]);
    return element("details", {}, element("summary", {}, "Keys and mouse"), element("p", { class: "sk-keys" }, ...keys,
      element("br"), "Drag to pan; the wheel zooms once the timeline has the focus (or with Ctrl); Shift and drag measures a span; double click zooms to an operator. The search looks for words in operator, layer and line."));
  }

  // ---- moving

  moved() {
    this.painter.draw();
    clearTimeout(this.pending);
    this.pending = setTimeout(() => this.measureView(), 120);
  }

  // Tables and sentence of the span.
  measureView() {
    const { selected, chosen, range } = this.scene;
    this.statistics.fill();
    if ((selected < 0 && chosen < 0) || range) this.say(this.statistics.words);
    for (const part of this.tables) part.fill();
  }

  // Scroll to a row of lanes.
  scrollTo({ y, height }) {
    const { stage } = this;
    if (y < stage.scrollTop || y + height > stage.scrollTop + stage.clientHeight) stage.scrollTop = y - 60;
  }

  // ---- choosing

  // What search and legend pick out; everything else is painted faintly.
  mark() {
    const { matches, legend: { only }, scene } = this;
    const accept = (event) => (!matches || matches[event]) && (only < 0 || scene.coloring.category(event) === only);
    scene.marked = matches || only >= 0 ? this.data.subset(accept) : null;
    this.painter.draw();
  }

  find(words) {
    const terms = words.trim().toLowerCase().split(/\s+/).filter(Boolean);
    if (terms.length) {
      this.matches = this.data.matching(terms);
      this.say(`${formatCount(this.matches.reduce((sum, value) => sum + value, 0))} events match “${words.trim()}”; Enter goes to the next.`);
    } else {
      this.matches = null;
      this.measureView();
    }
    this.mark();
  }

  // Walk from event to event in order of time.
  walk(direction, accept) {
    const { data: { count }, scene: { selected } } = this;
    let event = selected < 0 ? (direction > 0 ? -1 : count) : selected;
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

  // The next call of the same operator.
  beside(direction, event) {
    const { name } = this.data.columns;
    return this.walk(direction, (i) => name[i] === name[event]);
  }

  select(event, open = true) {
    const { data, scene, details } = this;
    scene.selected = event;
    scene.partners = event < 0 ? [] : data.partners(event);
    if (event >= 0) {
      this.camera.reveal(event);
      this.scrollTo({ y: data.tracks[data.trackOf[event]].y, height: ROW });
      if (open || details.open) details.describe(event);
      this.say(sentence(scene, event));
    } else {
      details.close();
    }
    if (this.model.get("selected") !== event) {
      this.model.set("selected", event);
      this.model.save_changes();
    }
    this.painter.draw();
  }

  chooseMark(mark) {
    this.scene.chosen = mark;
    if (mark < 0) return;
    const { marks } = this.data;
    this.camera.center(marks.time[mark]);
    const lane = marks.lanes.find(({ order }) => order.includes(mark));
    if (lane) this.scrollTo(lane);
    this.say(marks.sentence(mark));
    this.painter.draw();
  }

  nextMark(direction) {
    const mark = markBeside(this.scene, direction);
    if (mark >= 0) this.chooseMark(mark);
  }

  say(words) { this.status.textContent = words; }

  // ---- mouse, keys, page

  // What the pointer found: an operator, a mark, or neither.
  choose(event, mark) {
    this.inside = event >= 0;
    this.select(event);
    this.chooseMark(mark);
    if (event < 0 && mark < 0) this.measureView();
  }

  key(event) {
    if (event.altKey || event.metaKey || event.ctrlKey || event.target !== this.stage) return;
    const { camera, scene } = this;
    const action = {
      "+": () => camera.zoom(0.5), "=": () => camera.zoom(0.5), "-": () => camera.zoom(2), "−": () => camera.zoom(2),
      ArrowLeft: () => camera.pan(-0.2), ArrowRight: () => camera.pan(0.2),
      ArrowUp: () => this.climb(-1), ArrowDown: () => this.climb(1),
      Home: () => camera.home(), End: () => camera.end(),
      Enter: () => this.enter(), "/": () => this.search.focus(),
      p: () => scene.partners.length && this.select(scene.partners[0], false),
      ...(this.data.marks.count ? { m: () => this.nextMark(1), M: () => this.nextMark(-1) } : {}),
      z: () => scene.selected >= 0 && camera.zoomTo(scene.selected),
      // Only once inside: otherwise Tab goes on to the next control of the page.
      Tab: this.inside ? () => this.select(this.walk(event.shiftKey ? -1 : 1, () => true), false) : null,
      Escape: this.inside || scene.selected >= 0 || scene.range || scene.chosen >= 0 ? () => this.leave() : null,
    }[event.key];
    if (!action) return;
    event.preventDefault();
    event.stopPropagation();
    action();
  }

  enter() {
    const { data, scene: { selected, view } } = this;
    if (!data.count) return;
    if (selected < 0) {
      // The first that begins in view; if none does, the first that reaches into it.
      let first = -1;
      const { start } = data.columns;
      const late = (event) => [start[event] < view[0], start[event]];
      const before = ([one, time], [other, then]) => (one === other ? time < then : !one);
      data.within(...view, (event) => { if (first < 0 || before(late(event), late(first))) first = event; });
      this.select(Math.max(first, 0), false);
    } else {
      this.select(selected);
    }
    this.inside = true;
  }

  leave() {
    this.inside = false;
    Object.assign(this.scene, { range: null, chosen: -1 });
    this.select(-1);
    this.measureView();
  }

  climb(direction) {
    const { data, scene: { selected } } = this;
    if (selected < 0) return;
    const next = data.tracks[data.trackOf[selected] + direction];
    if (!next) return;
    const i = data.starting(next, data.columns.start[selected], 0);
    this.select(next.order[Math.min(i, next.order.length - 1)], false);
  }

  observe() {
    // A view is built before it is in the page, where nothing has a colour yet.
    const observer = new ResizeObserver(() => { this.painter.theme(); this.painter.resize(); });
    observer.observe(this.stage);
    const listen = (name, callback) => {
      this.model.on(name, callback);
      this.cleanups.push(() => this.model.off(name, callback));
    };
    listen("change:fixes", () => this.showFixes());
    listen("change:selected", () => {
      const wanted = this.model.get("selected");
      if (wanted !== this.scene.selected && wanted < this.data.count) this.select(wanted);
    });
    this.cleanups.push(() => observer.disconnect(), watchTheme(() => this.painter.theme()));
    this.painter.theme();
    this.measureView();
  }

  destroy() {
    this.painter.stop();
    this.camera.stop();
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
      timeline = new Timeline(model, root, new Data(unpacked));
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
