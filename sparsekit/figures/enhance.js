// The one enhancer of every display.  It moves, marks and replaces what Python has drawn, and draws nothing but labels of axes.
// enhance(root, given, send): root holds the SVG; given is plain data (inputs, frames, and answers for pages without Python);
// send(message) asks Python, or is null.

const UNITS = {
  time: [[3.6e12, "h"], [6e10, "min"], [1e9, "s"], [1e6, "ms"], [1e3, "µs"], [1, "ns"]],
  bytes: [[1e15, "PB"], [1e12, "TB"], [1e9, "GB"], [1e6, "MB"], [1e3, "kB"], [1, "B"]],
  count: [[1e15, "P"], [1e12, "T"], [1e9, "G"], [1e6, "M"], [1, ""]],
  share: [[0.01, "%"]], ratio: [[1, "×"]], number: [[1, ""]],
};
const KEYS = "+ and − zoom; Shift with ← and → pans; ← and → go to the previous and the next mark, ↑ and ↓ to another row; Enter selects; "
  + "/ searches; Home shows all; Escape leaves. Drag to pan, Ctrl and the wheel zoom.";
const FEW = 8; // marks of which one need not search
const SLOW = 10_000; // milliseconds until a missing answer of Python is said

function make(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith("on")) made[key] = value;
    else if (value !== false) made.setAttribute(key, value);
  }
  made.append(...children);
  return made;
}

function written(value, unit, digits = 10) {
  const units = UNITS[unit] ?? UNITS.number;
  const [size, name] = units.find(([one]) => Math.abs(value) >= one * 0.9995) ?? units.at(-1);
  const number = Number((value / size).toPrecision(digits));
  return value ? `${Math.abs(number) >= 1e4 ? number.toLocaleString("en") : number}${name && name !== "×" ? " " : ""}${name}` : "0";
}

function ticks(low, high, unit, most) {
  const rough = (high - low) / most;
  const power = 10 ** Math.floor(Math.log10(rough));
  const largest = [1, 2, 5, 10].find((factor) => factor * power >= rough * 0.999);
  const places = (size) => Math.floor(high / size + 1e-9) - Math.ceil(low / size - 1e-9);
  const step = power * ([10, 5, 2, 1].find((factor) => factor <= largest && places(factor * power) > 0) ?? 0.5);
  const found = [];
  for (let i = Math.ceil(low / step - 1e-9); i * step <= high + step * 1e-9; i += 1) found.push([i * step, written(i * step, unit)]);
  return found;
}

// One panel: its box in pixels, its range in data units, and what of it is in view.
class Panel {
  constructor(group, number, svg) {
    const [left, top, width, height] = group.dataset.box.split(" ").map(Number);
    Object.assign(this, { left, top, width, height, zoom: 1, shift: 0, unit: group.dataset.unit });
    this.range = group.dataset.x?.split(" ").map(Number);
    this.full = this.range;
    this.scaled = group.querySelector(".scaled");
    this.placed = [...group.querySelectorAll(".placed text")].map((text) => ({
      text, x: Number(text.getAttribute("x")), room: text.dataset.room?.split(" ").map(Number),
    }));
    this.labels = [...svg.querySelectorAll(`text[data-tick="${number}"]`)];
    this.lines = this.labels.map((label) => (label.parentNode ? [...svg.querySelectorAll("line.tick")] : [])
      .find((line) => line.getAttribute("x1") === label.getAttribute("x")));
    this.marks = [...this.scaled.querySelectorAll("rect, path")].filter((one) => one.querySelector("title")).map((element) => {
      const title = element.querySelector("title");
      const box = element.getBBox();
      const mark = { element, words: title.textContent, key: element.dataset.key ?? "", x: box.x, y: box.y, width: box.width, height: box.height };
      title.remove(); // this page shows its own
      return mark;
    }).sort((a, b) => a.x - b.x);
  }

  // Pixels of a value, before zoom; and the value at a pixel.
  x(value) { return this.left + (value - this.range[0]) / (this.range[1] - this.range[0]) * this.width; }

  at(pixel) { return this.range[0] + ((pixel - this.shift) / this.zoom - this.left) / this.width * (this.range[1] - this.range[0]); }

  get window() { return [this.at(this.left), this.at(this.left + this.width)]; }

  move(zoom, shift) {
    const [first, last] = this.full.map((value) => this.x(value));
    this.zoom = Math.min(Math.max(zoom, this.width / (last - first)), 1e5);
    this.shift = Math.max(Math.min(shift, this.left - first * this.zoom), this.left + this.width - last * this.zoom);
    this.scaled.setAttribute("transform", `translate(${this.shift},0) scale(${this.zoom},1)`);
    for (const label of this.placed) this.put(label);
    if (this.unit) this.relabel();
  }

  // Labels that are in view and have room; the others cost nothing.
  put(label) {
    const { text, x, room } = label;
    const at = x * this.zoom + this.shift;
    const half = room ? room[0] * this.zoom / 2 : 200;
    const seen = at + half > this.left && at - half < this.left + this.width && (!room || room[0] * this.zoom >= room[1]);
    if (seen) text.setAttribute("x", at);
    if (seen !== label.seen) text.setAttribute("display", seen ? "inline" : "none");
    label.seen = seen;
  }

  relabel() {
    const [low, high] = this.window;
    const found = this.labels.length ? ticks(low, high, this.unit, Math.max(2, Math.floor(this.width / 95))) : [];
    while (this.labels.length && this.labels.length < found.length) {
      for (const list of [this.lines, this.labels]) list.push(list[0] && list[0].parentNode.insertBefore(list[0].cloneNode(true), list[0]));
    }
    this.labels.forEach((label, i) => {
      const x = i < found.length ? this.left + (found[i][0] - low) / (high - low) * this.width : -99;
      label.setAttribute("x", x);
      label.textContent = found[i]?.[1] ?? "";
      for (const end of ["x1", "x2"]) this.lines[i]?.setAttribute(end, x);
    });
  }
}

// The controls of the inputs that a display declares; values() gives what they say now.
function controls(inputs, changed) {
  const read = new Map();
  const made = inputs.map((input) => {
    const { kind, name, label, value } = input;
    if (kind === "choice") {
      const select = make("select", { onchange: changed }, ...input.options.map((option) => make("option", { value: option }, option)));
      select.value = value;
      read.set(name, () => select.value);
      return make("label", {}, label, select);
    }
    if (kind === "switch") {
      const box = make("input", { type: "checkbox", onchange: changed });
      box.checked = value;
      read.set(name, () => box.checked);
      return make("label", {}, box, label);
    }
    if (kind === "slider") {
      const [scale, back] = input.log ? [Math.log, Math.exp] : [Number, Number];
      const [low, high] = [scale(input.low), scale(input.high)];
      const range = make("input", { type: "range", min: 0, max: 200, step: 1 });
      const place = (number) => (scale(number) - low) / (high - low || 1) * 200;
      range.value = place(value);
      const now = () => (Math.abs(range.value - place(value)) < 0.51 ? value : back(low + range.value / 200 * (high - low)));
      const shown = make("output", {}, written(value, input.unit, 3));
      range.oninput = () => {
        shown.textContent = written(now(), input.unit, 3);
        range.setAttribute("aria-valuetext", shown.textContent);
        changed();
      };
      read.set(name, now);
      return make("label", {}, label, range, shown);
    }
    const number = (at, words) => {
      const field = make("input", { type: "number", step: "any", value: at, "aria-label": words, class: at ? "" : "zero" });
      field.oninput = () => { field.className = Number(field.value) ? "" : "zero"; changed(); };
      return field;
    };
    if (kind === "grid") {
      const rows = value.map((row, i) => row.map((at, j) => number(at, `${label}, row ${i}, column ${j}`)));
      read.set(name, () => rows.map((row) => row.map((field) => Number(field.value))));
      const body = rows.map((row) => make("tr", {}, ...row.map((field) => make("td", {}, field))));
      return make("table", { class: "grid-input", role: "group", "aria-label": label }, ...body);
    }
    const field = number(value, label);
    read.set(name, () => Number(field.value));
    return make("label", {}, label, field);
  });
  return { made, values: () => Object.fromEntries([...read].map(([name, get]) => [name, get()])) };
}

export function enhance(root, given, send) {
  const still = window.matchMedia("(prefers-reduced-motion: reduce)").matches;
  const view = { panels: [], panel: null, current: null, window: null, full: null, waiting: false, next: null, held: false, pressed: false, later: null, details: given.details ?? {} };
  const tip = make("div", { class: "tip", hidden: true });
  const status = make("div", { class: "status", role: "status" });
  const details = make("div", { class: "details", "aria-live": "polite" });
  const filter = make("input", { type: "search", placeholder: "search", "aria-label": "Show only marks whose words contain this text" });
  const bar = make("div", { class: "bar" });
  const over = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  const button = (words, label, action) => make("button", { type: "button", title: label, "aria-label": label, onclick: action }, words);
  let svg;
  let timer;
  let slow;

  // ---- asking Python: one question at a time, and then the latest

  function draw(delay = 120) {
    clearTimeout(timer);
    if (!send) return;
    timer = setTimeout(() => ask({ ask: "draw", window: view.window, width: Math.round(root.clientWidth - 22), values: inputs.values() }), delay);
  }

  function ask(message) {
    if (view.waiting) {
      view.next = message;
      return;
    }
    view.waiting = true;
    root.setAttribute("aria-busy", "true");
    slow = setTimeout(() => {
      status.textContent = "Python has not answered. If no kernel runs, run the cell again.";
      view.waiting = false; // the answer may be lost with its kernel: what was asked meanwhile is tried
      askNext();
    }, SLOW);
    try {
      send(message);
    } catch { // the kernel that made this view was restarted or is gone
      view.next = null;
      answered();
      status.textContent = "No kernel answers for this display: run the cell again.";
    }
  }

  function answered() {
    clearTimeout(slow);
    view.waiting = false;
    root.removeAttribute("aria-busy");
    if (status.textContent.startsWith("Python has not")) status.textContent = "";
    askNext();
  }

  function askNext() {
    if (view.next) {
      const message = view.next;
      view.next = null;
      ask(message);
    }
  }

  // ---- what is in view

  function zoomBy(factor, pixel) {
    const { panel } = view;
    if (!panel) return;
    const at = pixel ?? panel.left + panel.width / 2;
    const [zoom, shift] = [panel.zoom, panel.shift];
    panel.move(zoom * factor, shift);
    panel.move(panel.zoom, at - (at - shift) * (panel.zoom / zoom));
    moved();
  }

  function pan(pixels) {
    view.panel?.move(view.panel.zoom, view.panel.shift + pixels);
    moved();
  }

  function home() {
    for (const panel of view.panels) if (panel.range) panel.move(0, 0);
    moved();
    view.window = null;
    if (given.draws) draw(0);
  }

  function show(first, last) {
    const { panel } = view;
    const zoom = panel.width / (panel.x(last) - panel.x(first));
    panel.move(zoom, panel.left - panel.x(first) * zoom);
    moved();
  }

  // Hatches keep their angle; and after a pause, Python draws what is in view in more detail.
  function moved() {
    const { panel } = view;
    tip.hidden = true;
    if (view.zoom !== panel?.zoom) for (const pattern of svg.querySelectorAll("pattern")) pattern.setAttribute("patternTransform", `scale(${1 / (panel?.zoom ?? 1)},1) rotate(45)`);
    view.zoom = panel?.zoom;
    if (!panel) return;
    const [first, last] = panel.window;
    const [low, high] = view.full;
    over.querySelector(".window")?.setAttribute("x", (first - low) / (high - low) * 1000);
    over.querySelector(".window")?.setAttribute("width", Math.max((last - first) / (high - low) * 1000, 2));
    over.toggleAttribute("hidden", (last - first) / (high - low) > 0.995);
    if (panel === view.panels.find(({ range }) => range)) view.window = panel.window;
    if (given.draws && !view.held) draw(250);
  }

  // The whole of the first panel that zooms, small, with a frame around what is in view.
  function overview() {
    const panel = view.panel;
    over.setAttribute("class", "over sk");
    over.setAttribute("aria-hidden", "true"); // the keys do the same
    over.setAttribute("viewBox", `0 0 1000 ${panel.height}`);
    over.setAttribute("preserveAspectRatio", "none");
    const copy = panel.scaled.cloneNode(true);
    copy.setAttribute("transform", `scale(${1000 / panel.width},1) translate(${-panel.left},${-panel.top})`);
    copy.querySelectorAll("[data-key]").forEach((one) => one.removeAttribute("data-key"));
    const frame = document.createElementNS(over.namespaceURI, "rect");
    for (const [name, value] of [["class", "window"], ["x", 0], ["y", 0], ["width", 1000], ["height", panel.height]]) frame.setAttribute(name, value);
    over.replaceChildren(copy, frame);
    const go = (event) => {
      const box = over.getBoundingClientRect();
      const [low, high] = view.full;
      const half = (view.panel.window[1] - view.panel.window[0]) / 2;
      const middle = low + (event.clientX - box.left) / box.width * (high - low);
      show(middle - half, middle + half);
    };
    over.onpointerdown = (event) => { over.setPointerCapture(event.pointerId); over.onpointermove = go; go(event); };
    over.onpointerup = () => { over.onpointermove = null; };
    over.setAttribute("hidden", "");
    svg.after(over);
  }

  // ---- marks: at the pointer, by keys, by words

  const place = (panel, mark) => mark.x * panel.zoom + panel.shift * (panel.range ? 1 : 0);

  function light(found, where) {
    view.lit = found?.key;
    for (const { element } of view.panels.flatMap(({ marks }) => marks)) {
      element.classList.toggle("on", Boolean(found) && (element === found.element || (found.key !== "" && element.dataset.key === found.key)));
    }
    tip.hidden = !found;
    if (!found) return;
    tip.textContent = status.textContent = found.words;
    const box = root.getBoundingClientRect();
    const mark = found.element.getBoundingClientRect();
    const [x, y] = where ?? [Math.max(mark.left, box.left), mark.bottom];
    tip.style.left = `${Math.max(4, Math.min(x - box.left + 10, box.width - tip.offsetWidth - 6))}px`;
    tip.style.top = `${y - box.top + 14}px`;
  }

  function select(found) {
    light(found);
    if (!found?.key) return;
    if (send && given.selects) ask({ ask: "select", key: found.key, values: inputs.values() });
    else if (view.details[found.key]) details.innerHTML = view.details[found.key]; // made and escaped by Python
  }

  // The next mark that is not filtered out: along its panel in order of x, or the nearest one below or above.
  function walk(along, down) {
    const shown = ({ marks }) => marks.filter(({ element }) => !element.classList.contains("off"));
    const { found: from, panel: here = view.panels.find((panel) => shown(panel).length) } = view.current ?? {};
    if (!here) return;
    const list = shown(here);
    let next = { panel: here, found: list[from ? (list.indexOf(from) + along + list.length) % list.length : 0] };
    if (from && down) {
      const gap = (one) => (down > 0 ? one.y - from.y - from.height : from.y - one.y - one.height);
      const far = ({ panel, found }) => gap(found) * 1e4 + Math.abs(place(panel, found) - place(here, from));
      const all = view.panels.flatMap((panel) => shown(panel).map((found) => ({ panel, found }))).filter(({ found }) => gap(found) > -1);
      if (!all.length) return;
      next = all.reduce((one, other) => (far(one) <= far(other) ? one : other));
    }
    view.current = next;
    const { panel, found } = next;
    if (!found) return;
    const x = place(panel, found);
    if (panel.range && (x + found.width * panel.zoom < panel.left || x > panel.left + panel.width)) {
      panel.move(panel.zoom, panel.shift - x + panel.left + panel.width / 3);
      moved();
    }
    light(found);
  }

  function keep(said = true) {
    const words = filter.value.trim().toLowerCase();
    const all = view.panels.flatMap(({ marks }) => marks);
    let count = 0;
    for (const one of all) {
      const fits = !words || one.words.toLowerCase().includes(words);
      one.element.classList.toggle("off", !fits);
      count += fits;
    }
    if (words && said) status.textContent = `${count} of ${all.length} contain “${filter.value.trim()}”.`;
  }

  function leave() {
    view.current = null;
    light(null);
  }

  function key(event) {
    if (event.altKey || event.metaKey || event.ctrlKey) return;
    const sides = { ArrowLeft: [-1, 80], ArrowRight: [1, -80] };
    const zooms = Boolean(view.panel);
    const action = {
      "+": zooms && (() => zoomBy(2)), "=": zooms && (() => zoomBy(2)), "-": zooms && (() => zoomBy(0.5)), Home: zooms && home,
      "/": () => filter.focus(), ArrowUp: () => walk(0, -1), ArrowDown: () => walk(0, 1), Enter: () => select(view.current?.found),
      ArrowLeft: () => (event.shiftKey ? pan(80) : walk(-1, 0)), ArrowRight: () => (event.shiftKey ? pan(-80) : walk(1, 0)),
      Escape: (view.current || !tip.hidden) && leave,
    }[event.key];
    if (!action || (event.shiftKey && !(event.key in sides) && !"+/".includes(event.key))) return;
    event.preventDefault();
    event.stopPropagation();
    action();
  }

  // ---- the pointer

  const local = (event) => {
    const box = svg.getBoundingClientRect();
    const scale = svg.viewBox.baseVal.width / box.width;
    return [(event.clientX - box.left) * scale, (event.clientY - box.top) * scale];
  };
  const panelAt = ([x, y]) => view.panels.filter(({ range, left, top, width, height }) => range && x >= left && x <= left + width && y >= top && y <= top + height).at(-1);
  const foundAt = (event) => {
    for (const panel of view.panels) {
      const found = panel.marks.find(({ element }) => element === event.target);
      if (found) return { panel, found };
    }
    return null;
  };
  const hover = (event) => light(foundAt(event)?.found ?? null, [event.clientX, event.clientY]);

  // While a button is held, the SVG stays: an answer that comes meanwhile is shown afterwards.
  function press(down) {
    const start = local(down);
    const panel = panelAt(start);
    svg.focus({ preventScroll: true });
    svg.setPointerCapture(down.pointerId); // it is told of the release, wherever that is
    view.pressed = true;
    view.current = foundAt(down);
    if (panel) view.panel = panel;
    const from = panel?.shift;
    let far = false;
    svg.onpointermove = (event) => {
      const by = local(event)[0] - start[0];
      far ||= Math.abs(by) > 3;
      if (!far || !panel) return;
      view.held = true;
      panel.move(panel.zoom, from + by);
      moved();
    };
    svg.onpointerup = svg.onpointercancel = () => {
      svg.onpointermove = hover;
      svg.onpointerup = svg.onpointercancel = null;
      view.pressed = false;
      if (!far) select(view.current?.found);
      else if (view.held) { view.held = false; moved(); }
      if (view.later) replace(...view.later);
    };
  }

  // The mark with a key in another drawing.
  function again(key) {
    const all = view.panels.flatMap((panel) => panel.marks.map((found) => ({ panel, found })));
    return (key && all.find(({ found }) => found.key === key)) || null;
  }

  // Take the SVG that is there now, which may have been drawn anew.
  function attach() {
    svg = root.querySelector("svg:not(.over)");
    svg.setAttribute("tabindex", "0");
    svg.setAttribute("role", "application");
    view.panels = [...svg.querySelectorAll("g.panel")].map((group, number) => new Panel(group, number, svg));
    view.panel = view.panels.find(({ range }) => range) ?? null;
    view.full ??= view.panel?.range;
    if (view.panel && given.draws && send) view.panel.full = view.full; // Python draws what lies outside
    view.current = again(view.current?.found?.key);
    view.zoom = null;
    svg.onkeydown = key;
    svg.onpointermove = hover;
    svg.onpointerleave = () => { if (!view.current) light(null); };
    svg.onpointerdown = (event) => event.button === 0 && press(event);
    svg.addEventListener("wheel", (event) => {
      if (!event.ctrlKey && !event.metaKey) return;
      event.preventDefault();
      view.panel = panelAt(local(event)) ?? view.panel;
      zoomBy(1.002 ** -event.deltaY, local(event)[0]);
    }, { passive: false });
    if (filter.value) keep(false); // what the status says of the mark chosen stays
  }

  // Put another SVG in the place of this one; what had the focus keeps it.
  function replace(text, table) {
    view.later = view.pressed ? [text, table] : null;
    if (view.pressed) return;
    const focused = document.activeElement === svg;
    svg.outerHTML = text; // made and escaped by Python
    attach();
    for (const { element } of view.lit ? view.panels.flatMap(({ marks }) => marks) : []) element.classList.toggle("on", element.dataset.key === view.lit);
    if (focused) svg.focus({ preventScroll: true });
    const old = root.querySelector(".the-table");
    if (old && table !== undefined) old.innerHTML = table;
  }

  // ---- frames that are played

  function player(frames, seconds) {
    const range = make("input", { type: "range", min: 0, max: frames.length - 1, value: frames.length - 1, "aria-label": "Step" });
    const shown = make("output", {});
    let playing = 0;
    const step = (number) => {
      range.value = number;
      shown.textContent = `${number + 1} of ${frames.length}`;
      replace(frames[number]);
    };
    const stop = () => { clearInterval(playing); playing = 0; toggle.textContent = "play"; };
    const play = () => {
      let number = Number(range.value) + 1 < frames.length ? Number(range.value) : -1;
      toggle.textContent = "pause";
      playing = setInterval(() => { number += 1; step(number); if (number + 1 >= frames.length) stop(); }, 1000 * seconds);
    };
    const toggle = button("play", "Play or pause", () => (playing ? stop() : play()));
    range.oninput = () => { stop(); step(Number(range.value)); };
    bar.append(toggle, range, shown);
    shown.textContent = `${frames.length} of ${frames.length}`;
    if (!still) new IntersectionObserver(([seen], watch) => { if (seen.isIntersecting) { watch.disconnect(); play(); } }).observe(svg);
    return stop;
  }

  // ---- build

  root.classList.add("sk-live", "sk");
  keepKeys(root);
  attach();
  const hasMarks = view.panels.some(({ marks }) => marks.length);
  const inputs = controls(send ? given.inputs ?? [] : [], () => draw());
  const fields = make("div", { class: "bar" }, ...inputs.made);
  if (!send && given.answers && Object.keys(given.answers).length) {
    const pick = make("select", { "aria-label": "Answers computed beforehand" }, ...Object.keys(given.answers).map((name) => make("option", {}, name)));
    pick.onchange = () => { const answer = given.answers[pick.value]; view.details = answer.details; replace(answer.svg, answer.table); details.replaceChildren(); };
    fields.append(make("label", {}, "Computed beforehand:", pick));
  }
  if (view.panel) bar.append(button("+", "Zoom in", () => zoomBy(2)), button("−", "Zoom out", () => zoomBy(0.5)), button("all", "Show all", home));
  if (view.panels.flatMap(({ marks }) => marks).length > FEW) bar.append(filter);
  if (hasMarks) bar.append(make("details", {}, make("summary", {}, "keys"), KEYS));
  root.prepend(fields, bar);
  svg.after(status, details);
  root.append(tip);
  if (view.panel) overview();
  const stop = given.frames?.length ? player(given.frames, given.seconds ?? 0.8) : () => {};
  filter.oninput = () => keep();
  filter.onkeydown = (event) => {
    if (event.key === "Escape") { filter.value = ""; keep(); svg.focus(); event.stopPropagation(); }
    if (event.key === "Enter") { walk(1, 0); event.preventDefault(); }
  };
  const observer = new ResizeObserver(() => {
    if (Math.abs(root.clientWidth - 22 - svg.viewBox.baseVal.width) > 40 && root.clientWidth > 260) draw(250);
  });
  if (send) observer.observe(root);
  root.dataset.ready = "true";
  return { replace, answered, details, end: () => { stop(); clearTimeout(timer); clearTimeout(slow); observer.disconnect(); root.remove(); } };
}

function render({ model, el }) {
  const root = el.appendChild(make("section"));
  root.innerHTML = `${model.get("svg")}<div class="the-table">${model.get("table")}</div>`; // made and escaped by Python
  const made = enhance(root, model.get("given"), (message) => model.send(message));
  const redraw = () => made.replace(model.get("svg"), model.get("table"));
  const tell = () => { made.details.innerHTML = model.get("details"); };
  model.on("change:svg", redraw);
  model.on("change:details", tell);
  model.on("change:answered", made.answered);
  return () => {
    made.end();
    for (const [name, action] of [["svg", redraw], ["details", tell], ["answered", made.answered]]) model.off(`change:${name}`, action);
  };
}

export default { render, enhance };
