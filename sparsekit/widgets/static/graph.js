// The live graph: cards and edges where Python placed them, to pan, zoom and search in, with the details of each.
// An anywidget front-end module: render({ model, el }) builds the view and returns its cleanup.

import { ALARM, OTHER, element, inkOn, shape, stillPreferred, table } from "./common.js";

const COLORS = { default: OTHER, csr: "#0072b2", row_sparse: "#009e73", coo: "#cc79a7" };
const LETTERS = { default: "D", csr: "C", row_sparse: "R", coo: "O" };
const DASHES = { csr: "7 3", row_sparse: "2 3", coo: "8 2 2 2" };
const own = (map, key, other) => (Object.hasOwn(map, key) ? map[key] : other);
const KEYS = [["↑ ↓", "to inputs and users"], ["← →", "along the row"], ["Enter", "details"], ["+ −", "zoom"], ["0", "all"], ["f", "next fallback"], ["Esc", "close"]];

class GraphView {
  constructor(model, root) {
    this.model = model;
    this.root = root;
    const graph = model.get("graph") ?? {};
    this.cards = graph.cards ?? [];
    this.edges = graph.edges ?? [];
    this.size = { w: Math.max(graph.width ?? 0, 200), h: Math.max(graph.height ?? 0, 100) };
    this.note = graph.note ?? "";
    this.said = graph.said ?? "";
    this.alarms = this.cards.map((card, i) => (card.dense.length ? i : -1)).filter((i) => i >= 0);
    this.at = 0;
    this.build();
    this.observer = new ResizeObserver(() => this.resize());
    this.observer.observe(this.svg);
    this.onSelect = () => this.choose(this.model.get("selected"), false);
    model.on("change:selected", this.onSelect);
    this.resize();
    if (model.get("selected") >= 0) this.onSelect();
  }

  // ---- building

  build() {
    const button = (words, label, onclick) => element("button", { type: "button", "aria-label": label, title: label, onclick }, words);
    const count = this.alarms.length;
    this.search = element("input", { type: "search", placeholder: "name or operator", "aria-label": "Search by name or operator",
      oninput: () => this.find(), onkeydown: (event) => { if (event.key === "Enter") this.nextMatch(); } });
    this.status = element("div", { class: "sk-status", role: "status", "aria-live": "polite" });
    this.panel = element("div", { class: "sk-panel", hidden: true });
    this.svg = shape("svg", { role: "group", "aria-label": "Graph of operators; arrow keys move along it, Enter reads one out" });
    this.stage = element("div", { class: "sk-main" }, this.svg, this.status);
    const keys = KEYS.flatMap(([key, words]) => [element("kbd", {}, key), ` ${words}   `]);
    this.root.append(
      element("h3", {}, this.model.get("title") || "Graph"),
      element("p", {}, this.model.get("description") || "", this.note ? ` ${this.note}` : null),
      element("div", { class: "sk-bar" },
        button("+", "Zoom in", () => this.zoom(0.7)), button("−", "Zoom out", () => this.zoom(1 / 0.7)), button("All", "Show all", () => this.all()),
        element("button", { type: "button", disabled: !count, onclick: () => this.nextAlarm() }, count ? `Next fallback (${count})` : "No fallbacks"),
        this.search),
      this.legend(),
      element("div", { class: "sk-body" }, this.stage, this.panel),
      element("details", { class: "sk-keys" }, element("summary", {}, "Keys"), element("p", {}, ...keys, "Drag to pan. The wheel zooms with Ctrl, or when a card has the focus.")));
    this.draw();
    this.listen();
  }

  legend() {
    const present = Object.keys(COLORS).filter((stype) => this.cards.some((card) => card.lines.some(([kind]) => kind === stype)));
    const chips = present.map((stype) => element("span", { class: "sk-chip" },
      element("i", { style: `background:${COLORS[stype]};color:${inkOn(COLORS[stype])}` }, LETTERS[stype]), element("span", {}, stype === "default" ? "dense" : stype)));
    const alarm = this.alarms.length ? element("span", { class: "sk-chip" }, element("i", { style: `background:${ALARM};color:${inkOn(ALARM)}` }, "!"), element("span", {}, "becomes dense")) : null;
    return element("div", { class: "sk-legend" }, ...chips, alarm, element("small", {}, this.said));
  }

  draw() {
    this.lines = this.edges.map((edge) => {
      const color = edge.dense ? ALARM : own(COLORS, edge.stype, OTHER);
      const [x, y] = edge.end;
      const size = edge.dense ? 7 : 4.5;
      return shape("g", { "aria-hidden": "true" }, shape("title", {}, `${this.cards[edge.from].name} → ${this.cards[edge.to].name}: ${edge.words}`),
        shape("path", { d: edge.path, fill: "none", stroke: own(COLORS, edge.stype, OTHER), "stroke-width": edge.width, "stroke-dasharray": own(DASHES, edge.stype, null) }),
        shape("path", { d: `M${x - size} ${y - 1.6 * size}h${2 * size}L${x} ${y}z`, fill: color }));
    });
    this.nodes = this.cards.map((card, i) => this.card(card, i));
    this.svg.append(...this.lines, ...this.nodes);
  }

  chip(x, y, stype) {
    const color = own(COLORS, stype, OTHER);
    return [shape("rect", { x, y, width: 16, height: 16, rx: 3, fill: color }),
      shape("text", { x: x + 8, y: y + 12, "text-anchor": "middle", style: `fill:${inkOn(color)};font-weight:700;font-size:11px` }, own(LETTERS, stype, "?"))];
  }

  card(card, i) {
    const { x, y, w, h } = card;
    const clip = (words, room) => (words.length > room ? `${words.slice(0, room - 1)}…` : words);
    const words = [card.name, card.kind, ...card.alarms, ...card.outputs.map((pair) => pair.join(", "))].join("; ");
    const node = shape("g", { class: `sk-node${card.variable ? " sk-leaf" : ""}${card.backward ? " sk-backward" : ""}${card.dense.length ? " sk-dense" : ""}`, role: "button", tabindex: i === this.at ? 0 : -1, "aria-label": words, "data-number": i },
      shape("title", {}, words), shape("rect", { class: "sk-box", x, y, width: w, height: h, rx: card.variable ? 16 : 6 }),
      shape("rect", { x: x + 3, y: y + 8, width: 4, height: h - 16, rx: 2, fill: own(COLORS, card.lines[0]?.[0], OTHER) }),
      shape("text", { class: "sk-name", x: x + 14, y: y + 18 }, clip(card.name, 26)),
      shape("text", { class: "sk-soft", x: x + 14, y: y + 33 }, clip(card.kind, 32)));
    let at = y + 38;
    for (const alarm of card.alarms) {
      node.append(shape("rect", { x: x + 11, y: at, width: w - 16, height: 17, rx: 3, fill: ALARM }),
        shape("text", { x: x + 16, y: at + 12.5, style: `fill:${inkOn(ALARM)};font-weight:700` }, clip(alarm, 33)));
      at += 20;
    }
    for (const [stype, what, size] of card.lines) {
      node.append(...this.chip(x + 12, at + 2, stype), shape("text", { x: x + 34, y: at + 13 }, clip(what, 31)), shape("text", { class: "sk-soft", x: x + 34, y: at + 27 }, clip(size, 33)));
      at += 31;
    }
    if (card.gradient) node.append(...this.chip(x + 12, at + 1, card.gradient), shape("text", { x: x + 34, y: at + 13 }, `gradient ${card.gradient}`));
    return node;
  }

  // ---- moving; the view is [x, y, width] in the graph's own measure

  ratio() { return (this.svg.clientHeight || 520) / (this.svg.clientWidth || 800); }

  all(still = false) {
    const w = Math.max(this.size.w + 40, (this.size.h + 40) / this.ratio());
    this.move([(this.size.w - w) / 2, -20, w], still);
    this.whole = true;
  }

  // As high as the whole graph needs at this width, within bounds; what showed all of it goes on to.
  resize() {
    const height = ((this.svg.clientWidth || 800) * (this.size.h + 40)) / (this.size.w + 40);
    this.svg.style.height = `${Math.min(560, Math.max(240, Math.round(height)))}px`;
    if (this.whole ?? true) this.all(true);
    else this.move(this.view, true);
  }

  move(view, still = false) {
    this.whole = false;
    const most = Math.max(this.size.w + 40, (this.size.h + 40) / this.ratio()) * 1.5;
    const w = Math.min(Math.max(view[2], 160), most);
    const target = [view[0], view[1], w];
    cancelAnimationFrame(this.flight);
    const show = (at) => { this.view = at; this.svg.setAttribute("viewBox", `${at[0]} ${at[1]} ${at[2]} ${at[2] * this.ratio()}`); };
    if (still || !this.view || stillPreferred()) { show(target); return; }
    const [from, start] = [this.view, performance.now()];
    const step = (now) => {
      const share = Math.min(1, (now - start) / 220);
      const eased = share * (2 - share);
      show(from.map((value, i) => value + (target[i] - value) * eased));
      if (share < 1) this.flight = requestAnimationFrame(step);
    };
    this.flight = requestAnimationFrame(step);
  }

  zoom(factor, point = null, still = false) {
    const [x, y, w] = this.view;
    const [px, py] = point ?? [x + w / 2, y + (w * this.ratio()) / 2];
    const wider = Math.max(160, w * factor);
    this.move([px - ((px - x) * wider) / w, py - ((py - y) * wider) / w, wider], still);
  }

  point(event) {
    const box = this.svg.getBoundingClientRect();
    const scale = this.view[2] / box.width;
    return [this.view[0] + (event.clientX - box.left) * scale, this.view[1] + (event.clientY - box.top) * scale];
  }

  // Bring a card into view, large enough to be read.
  reveal(i) {
    const card = this.cards[i];
    const w = Math.min(this.view[2], Math.max(900, card.w * 3));
    const tall = w * this.ratio();
    const [x, y] = this.view;
    const inside = w === this.view[2] && card.x > x && card.x + card.w < x + w && card.y > y && card.y + card.h < y + tall;
    if (!inside) this.move([card.x + card.w / 2 - w / 2, card.y + card.h / 2 - tall / 2, w]);
  }

  focus(i) {
    if (!this.nodes[i]) return;
    this.nodes[this.at]?.setAttribute("tabindex", "-1");
    this.at = i;
    this.nodes[i].setAttribute("tabindex", "0");
    this.reveal(i);
    this.nodes[i].focus({ preventScroll: true });
    const card = this.cards[i];
    this.status.textContent = [card.name, card.kind, ...card.alarms, ...card.outputs.map((pair) => pair.join(", "))].join("; ");
  }

  // ---- input

  listen() {
    this.svg.addEventListener("wheel", (event) => {
      if (!event.ctrlKey && !event.metaKey && !this.svg.contains(document.activeElement)) return;
      event.preventDefault();
      this.zoom(1.0016 ** Math.max(-400, Math.min(400, event.deltaY)), this.point(event), true);
    }, { passive: false });
    this.svg.addEventListener("pointerdown", (event) => this.drag(event));
    this.svg.addEventListener("keydown", (event) => this.key(event));
  }

  drag(event) {
    if (event.button !== 0) return;
    const number = event.target.closest?.("[data-number]")?.dataset.number;
    const [from, view] = [[event.clientX, event.clientY], this.view];
    let moved = false;
    const go = (now) => {
      const [dx, dy] = [now.clientX - from[0], now.clientY - from[1]];
      if (!moved && Math.hypot(dx, dy) < 4) return;
      if (!moved) this.svg.setPointerCapture(event.pointerId);
      moved = true;
      const scale = view[2] / (this.svg.clientWidth || 1);
      this.move([view[0] - dx * scale, view[1] - dy * scale, view[2]], true);
    };
    const stop = (end) => {
      for (const [name, listener] of [["pointermove", go], ["pointerup", stop], ["pointercancel", stop]]) this.svg.removeEventListener(name, listener);
      if (moved || end.type === "pointercancel") return;
      if (number === undefined) this.choose(-1);
      else { this.focus(Number(number)); this.choose(Number(number)); }
    };
    this.svg.addEventListener("pointermove", go);
    this.svg.addEventListener("pointerup", stop);
    this.svg.addEventListener("pointercancel", stop);
  }

  key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const actions = {
      ArrowUp: () => this.focus(this.edges.find((edge) => edge.to === this.at)?.from ?? this.at),
      ArrowDown: () => this.focus(this.edges.find((edge) => edge.from === this.at)?.to ?? this.at),
      ArrowLeft: () => this.focus(this.beside(-1)), ArrowRight: () => this.focus(this.beside(1)),
      Enter: () => this.choose(this.at), " ": () => this.choose(this.at), Escape: () => this.choose(-1),
      "+": () => this.zoom(0.7), "=": () => this.zoom(0.7), "-": () => this.zoom(1 / 0.7), 0: () => this.all(), f: () => this.nextAlarm(),
    };
    if (!Object.hasOwn(actions, event.key)) return;
    event.preventDefault();
    event.stopPropagation();
    actions[event.key]();
  }

  beside(step) {
    const here = this.cards[this.at];
    const row = this.cards.map((card, i) => i).filter((i) => this.cards[i].y === here.y).sort((a, b) => this.cards[a].x - this.cards[b].x);
    return row[row.indexOf(this.at) + step] ?? this.at;
  }

  nextAlarm() {
    if (!this.alarms.length) return;
    const next = this.alarms.find((i) => i > this.at) ?? this.alarms[0];
    this.focus(next);
    this.choose(next);
  }

  matches() {
    const words = this.search.value.trim().toLowerCase();
    return words ? this.cards.map((card, i) => i).filter((i) => `${this.cards[i].name} ${this.cards[i].kind}`.toLowerCase().includes(words)) : [];
  }

  find() {
    const found = new Set(this.matches());
    const asked = this.search.value.trim() !== "";
    this.nodes.forEach((node, i) => node.classList.toggle("sk-faint", asked && !found.has(i)));
    this.status.textContent = asked ? `${found.size} of ${this.cards.length} found; Enter goes to the next.` : "";
  }

  nextMatch() {
    const found = this.matches();
    if (found.length) this.reveal(this.at = found.find((i) => i > this.at) ?? found[0]);
  }

  // ---- details

  choose(i, tell = true) {
    const card = this.cards[i];
    this.nodes.forEach((node, number) => node.classList.toggle("sk-chosen", number === i));
    this.panel.hidden = !card;
    if (tell && this.model.get("selected") !== (card ? i : -1)) {
      this.model.set("selected", card ? i : -1);
      this.model.save_changes();
    }
    if (card) this.panel.replaceChildren(...this.details(card, i));
  }

  details(card, i) {
    const close = element("button", { type: "button", "aria-label": "Close", onclick: () => { this.choose(-1); this.nodes[i].focus({ preventScroll: true }); } }, "×");
    const alarms = card.dense.flatMap(([what, bytes, remedy, refused]) => [
      element("p", { class: "sk-alarm" }, `${what} → ${bytes}${refused ? ": more than the limit allows, so it would raise" : ""}`), element("p", {}, remedy)]);
    const inputs = this.edges.filter((edge) => edge.to === i).map((edge) => [edge.input || "", this.cards[edge.from].name, edge.words]);
    const users = this.edges.filter((edge) => edge.from === i).map((edge) => this.cards[edge.to].name);
    const outputs = card.outputs.map((pair, place) => [String(place), ...pair]);
    const attrs = card.attrs.flatMap(([key, value]) => [element("dt", {}, key), element("dd", {}, value)]);
    return [
      element("div", { class: "sk-head" }, element("h4", {}, card.name), close), element("p", {}, card.kind), ...alarms,
      inputs.length ? table(["input", "from", "array"], inputs) : null, table(["output", "array", "bytes"], outputs),
      card.gradient ? element("p", {}, `Gradient: ${card.gradient}.`) : null,
      users.length ? element("p", {}, `Used by ${users.join(", ")}.`) : null, attrs.length ? element("dl", {}, ...attrs) : null,
    ].filter((part) => part !== null);
  }

  destroy() {
    cancelAnimationFrame(this.flight);
    this.observer.disconnect();
    this.model.off("change:selected", this.onSelect);
  }
}

async function render({ model, el }) {
  const root = el.appendChild(element("div", { class: "sk sk-graph" }));
  let view = null;
  const show = () => {
    view?.destroy();
    root.replaceChildren();
    try {
      view = new GraphView(model, root);
      root.dataset.ready = "true";
    } catch (error) {
      root.replaceChildren(element("p", { role: "alert" }, `The graph cannot be shown: ${error.message}`));
    }
  };
  model.on("change:graph", show);
  show();
  return () => {
    model.off("change:graph", show);
    view?.destroy();
    root.remove();
  };
}

export default { render };
