// Two squares of the same million rows.  All figures and places come from Python; this file draws points and counts bytes up.

const DROP = 2200, FLOOD = 6000, END = DROP + FLOOD; // milliseconds: the words find their rows, then both gradients are written
const STOPS = [0, DROP, DROP + FLOOD / 3, END];
const RING = 4.5, MOST_RINGS = 400, NEAR = 14; // pixels, rows, pixels
const SLOW = 10_000; // milliseconds until a missing answer of Python is said
const LOUPE = 11, ZOOM = 12; // rows across, and pixels of each
const ROWS = [["10 thousand", 1e4], ["100 thousand", 1e5], ["1 million", 1e6], ["10 million", 1e7]];

const grouped = (value) => Math.round(value).toLocaleString("en-US");

function formatBytes(value) {
  const [size, unit] = [[1e9, "GB"], [1e6, "MB"], [1e3, "kB"]].find(([limit]) => value >= limit * 0.9995) ?? [1, "B"];
  const amount = value / size;
  return `${size === 1 || amount >= 99.95 ? grouped(amount) : amount.toFixed(amount >= 9.995 ? 1 : 2)} ${unit}`;
}

function make(name, attributes = {}, ...children) { // strings become text nodes: no text is ever read as HTML
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith("on")) made[key] = value;
    else made.setAttribute(key, value);
  }
  made.append(...children);
  return made;
}

// One gradient: its caption with the bytes, and its square.
class Square {
  constructor(dense, handlers) {
    this.dense = dense;
    this.bytes = make("strong", { class: dense ? "dense" : "sparse" });
    this.note = make("span");
    this.canvas = make("canvas", { tabindex: 0, role: "application", ...handlers }); // one that is read as a picture gets no arrow keys
    const name = make("div", {}, make("b", {}, dense ? "dense gradient" : "row-sparse gradient"), this.note);
    this.figure = make("figure", {}, make("figcaption", {}, this.bytes, name), this.canvas);
  }

  resize(rows, colors) {
    this.ratio = window.devicePixelRatio || 1;
    this.canvas.width = this.canvas.height = Math.max(1, Math.round(this.canvas.clientWidth * this.ratio));
    this.rows = rows;
    this.across = Math.ceil(Math.sqrt(rows));
    this.cell = this.canvas.width / this.across;
    this.colors = colors;
    this.pen = this.canvas.getContext("2d");
    this.hatch = this.hatched();
  }

  hatched() {
    const size = Math.round(8 * this.ratio);
    const tile = make("canvas", { width: size, height: size });
    const pen = tile.getContext("2d");
    pen.strokeStyle = this.colors.paper;
    pen.globalAlpha = 0.4;
    pen.lineWidth = 1.3 * this.ratio;
    for (const at of [-size, 0, size]) { pen.moveTo(at, size); pen.lineTo(at + size, 0); }
    pen.stroke();
    return this.pen.createPattern(tile, "repeat");
  }

  place(row) { return [(row % this.across) * this.cell, Math.floor(row / this.across) * this.cell]; }

  // Pixels of the page from the square's corner.
  shown(row) { return this.place(row).map((at) => (at + this.cell / 2) / this.ratio); }

  covers(row, share) { return this.dense && row / this.across < share * this.across; }

  paint(share, marks, current, stored) {
    const { pen, cell, colors, ratio } = this, size = this.canvas.width;
    pen.fillStyle = colors.lens;
    pen.fillRect(0, 0, size, size);
    if (this.dense && share > 0) this.flood(share, size);
    const point = Math.max(ratio, cell);
    for (const [row, ring] of marks) {
      const [x, y] = this.place(row);
      pen.fillStyle = pen.strokeStyle = this.covers(row, share) ? colors["on-dense"] : colors.sparse;
      pen.fillRect(Math.floor(x), Math.floor(y), point, point);
      if (!ring || cell > ring * ratio) continue;
      pen.lineWidth = 1.5 * ratio;
      pen.beginPath();
      pen.arc(x + cell / 2, y + cell / 2, ring * ratio, 0, 7);
      pen.stroke();
    }
    if (current >= 0) this.magnify(current, share, stored);
  }

  flood(share, size) {
    const lines = share * this.across, whole = Math.floor(lines);
    for (const fill of [this.colors.dense, this.hatch]) {
      this.pen.fillStyle = fill;
      this.pen.fillRect(0, 0, size, whole * this.cell);
      this.pen.fillRect(0, whole * this.cell, (lines - whole) * size, Math.max(1, this.cell));
    }
  }

  magnify(row, share, stored) { // the rows around one
    const { pen, ratio, across, colors } = this, each = ZOOM * ratio, wide = LOUPE * each, size = this.canvas.width, [x, y] = this.place(row);
    const left = x + 18 * ratio + wide < size ? x + 18 * ratio : x - 18 * ratio - wide;
    const top = Math.min(size - wide - 2 * ratio, Math.max(2 * ratio, y - wide / 2));
    const first = (row % across) - (LOUPE >> 1), line = Math.floor(row / across) - (LOUPE >> 1);
    pen.fillStyle = colors.paper;
    pen.fillRect(left - 2 * ratio, top - 2 * ratio, wide + 3 * ratio, wide + 3 * ratio);
    for (let a = 0; a < LOUPE; a += 1) {
      for (let b = 0; b < LOUPE; b += 1) {
        const at = (line + b) * across + first + a;
        if (first + a < 0 || first + a >= across || at < 0 || at >= this.rows) continue;
        const covered = this.covers(at, share);
        pen.fillStyle = stored.has(at) ? colors[covered ? "on-dense" : "sparse"] : colors[covered ? "dense" : "line"];
        pen.fillRect(left + a * each, top + b * each, each - ratio, each - ratio);
      }
    }
    pen.strokeStyle = colors.ink;
    pen.lineWidth = 1.5 * ratio;
    pen.strokeRect(left - 2 * ratio, top - 2 * ratio, wide + 3 * ratio, wide + 3 * ratio);
  }
}

function render({ model, el }) {
  const still = window.matchMedia("(prefers-reduced-motion: reduce)").matches;
  const view = { time: still ? END : 0, playing: !still, current: -1, frame: 0, last: 0, seen: true, typing: 0, slow: 0, mine: false, told: "", from: null, word: -1 };
  let data, stored, colors;

  // ---- the page

  const button = (words, label, action) => make("button", { type: "button", title: label, "aria-label": label, onclick: action }, words);
  const title = make("h3");
  const text = make("textarea", { maxlength: 20000, dir: "auto", spellcheck: "false", "aria-label": "The text: write your own", oninput: typed, onkeydown: entered });
  const handlers = { onpointermove: point, onpointerleave: () => look(-1), onclick: (event) => { point(event); choose(); }, onkeydown: keys, onblur: () => look(-1) };
  const squares = [true, false].map((dense) => new Square(dense, handlers));
  const said = make("p", { class: "said", role: "status" });
  const play = button("Pause", "Play or pause (Space)", toggle);
  play.hidden = still; // nothing moves by itself
  const rows = make("select", { onchange: () => ask() }, ...ROWS.map(([words, value]) => make("option", { value }, words)));
  const details = make("div", { class: "details", tabindex: -1, role: "region", "aria-label": "Inside the row", onkeydown: back });
  const table = make("div");
  const fall = make("canvas", { class: "fall", "aria-hidden": "true" });
  const root = make("section", { class: "sk sk-rows" }, title, text,
    make("p", { class: "hint" }, "Write a text of your own and press Enter: each different word has one row of the weight. Point at a dot for its word, click it to look inside."),
    make("div", { class: "squares" }, ...squares.map((one) => one.figure)), said,
    make("div", { class: "bar" }, button("Back", "One step back (,)", () => step(-1)), play, button("Step", "One step on (.)", () => step(1)),
      make("label", {}, "Rows of the weight", rows)), details, table, fall);
  keepKeys(root);
  el.append(root);

  // ---- asking Python

  // film: whether the words fall and both gradients are written again; who types sees the rows of each letter.
  function ask(message = { ask: "text", text: text.value, rows: Number(rows.value), film: !view.mine }) {
    view.mine = false;
    clearTimeout(view.typing);
    try {
      model.send(message);
    } catch { // the kernel that made this view was restarted or is gone
      warn("No kernel answers for this display: run the cell again.");
      return;
    }
    clearTimeout(view.slow);
    view.slow = setTimeout(() => warn("Python has not answered. If no kernel runs, run the cell again."), SLOW);
  }

  function warn(words) { // until the next answer, or until the film is moved
    view.playing = false;
    view.told = said.textContent = words;
    if (data) {
      rows.value = data.rows;
      run();
    }
  }

  function typed() {
    view.mine = true;
    clearTimeout(view.typing);
    view.typing = setTimeout(ask, 150);
  }

  function entered(event) {
    if (event.key !== "Enter") return;
    event.stopPropagation(); // Shift and Enter, which begins a line here, runs the cell in a notebook
    if (event.shiftKey) return;
    event.preventDefault();
    view.mine = false; // the film is wanted
    ask();
  }

  function take() {
    clearTimeout(view.slow);
    const given = model.get("data");
    if (given.error && data) { // what is shown stays
      warn(`${given.error} The squares stay as they were.`);
      return;
    }
    data = given;
    view.told = "";
    stored = new Set(data.stored);
    title.textContent = data.title;
    if (document.activeElement !== text) text.value = data.text;
    if (![...rows.options].some((one) => Number(one.value) === data.rows)) rows.add(make("option", { value: data.rows }, grouped(data.rows)));
    rows.value = data.rows;
    squares[0].canvas.setAttribute("aria-label", `Square of ${grouped(data.rows)} rows, all written: ${formatBytes(data.dense_bytes)}, `
      + `${grouped(data.rows - data.count)} rows are zeros. Arrow keys go from word to word, Enter looks inside.`);
    squares[1].canvas.setAttribute("aria-label", `Square of ${grouped(data.rows)} rows, ${grouped(data.count)} of them written: `
      + `${formatBytes(data.stored_bytes)}. Arrow keys go from word to word, Enter looks inside.`);
    table.innerHTML = model.get("table"); // made and escaped by Python
    view.current = -1;
    [view.time, view.playing] = still ? [END, false] : data.film ? [0, true] : [DROP, false];
    resize();
    run();
  }

  function tell() {
    clearTimeout(view.slow);
    details.innerHTML = model.get("details"); // made and escaped by Python
    if (!details.childElementCount || document.activeElement !== view.from) return;
    details.focus({ preventScroll: true });
    details.scrollIntoView({ block: "nearest" });
  }

  // ---- time

  function run() {
    if (view.frame) return;
    view.last = performance.now();
    view.frame = requestAnimationFrame(tick);
  }

  function tick(now) {
    view.frame = 0;
    if (view.playing && view.seen) view.time = Math.min(END, view.time + Math.min(100, now - view.last));
    view.last = now;
    if (view.time >= END) view.playing = false;
    draw();
    if (view.playing && view.seen) view.frame = requestAnimationFrame(tick);
  }

  function toggle() {
    view.told = "";
    if (view.time >= END) view.time = 0;
    if (still) view.time = END;
    else view.playing = !view.playing;
    run();
  }

  function step(by) {
    view.playing = false;
    view.told = "";
    view.time = by > 0 ? STOPS.find((stop) => stop > view.time) ?? END : STOPS.findLast((stop) => stop < view.time) ?? 0;
    run();
  }

  const landing = (i) => 500 + (DROP - 700) * ((i + 1) / data.places.length);

  // ---- pixels

  function resize() {
    const css = getComputedStyle(root);
    colors = Object.fromEntries(["dense", "sparse", "lens", "line", "ink", "paper", "on-dense"].map((name) => [name, css.getPropertyValue(`--${name}`).trim()]));
    for (const one of squares) one.resize(data.rows, colors);
    fall.width = Math.round(root.clientWidth * squares[0].ratio);
    fall.height = Math.round(root.clientHeight * squares[0].ratio);
    draw();
  }

  function draw() {
    const share = Math.max(0, (view.time - DROP) / FLOOD), written = share * Math.max(data.dense_bytes, data.stored_bytes);
    const rings = data.places.length <= MOST_RINGS;
    const marks = [];
    data.places.forEach((row, i) => {
      const age = view.time - landing(i);
      if (age >= 0) marks.push([row, rings || age < 300 ? RING * (1 + 3 * Math.max(0, 1 - age / 400)) : 0]);
    });
    const current = data.places[view.current] ?? -1;
    for (const one of squares) one.paint(share, marks, current, stored);
    caption(share, written);
    play.textContent = view.playing ? "Pause" : view.time >= END ? "Replay" : "Play";
    if (current < 0 && !view.told) lead(share, written >= data.stored_bytes);
    drop();
  }

  function caption(share, written) {
    const [dense, sparse] = squares, done = written >= data.stored_bytes;
    dense.bytes.textContent = formatBytes(Math.min(written, data.dense_bytes));
    sparse.bytes.textContent = formatBytes(Math.min(written, data.stored_bytes));
    dense.note.textContent = share >= 1 ? `${grouped(data.rows - data.count)} of its rows are zeros` : `row ${grouped(share * data.rows)} of ${grouped(data.rows)}`;
    sparse.note.textContent = `${done ? "finished: " : ""}${grouped(data.count)} row${data.count === 1 ? "" : "s"}${done ? "" : " to write"}`;
    sparse.figure.classList.toggle("done", done);
  }

  function lead(share, done) {
    const words = view.time < DROP ? "The words find their rows …"
      : share === 0 ? "These rows change. Press Play: a step writes the gradient of the weight."
        : share < 1 ? (done ? `Both write as fast. Row-sparse is finished; dense is at ${Math.floor(100 * share)} %.` : "A step writes the gradient of the weight.")
          : (data.stored_bytes < data.dense_bytes ? `${grouped(data.dense_bytes / data.stored_bytes)} times fewer bytes, and the same rows change.`
            : "Nearly all rows are stored, each with its index: here row-sparse saves nothing.")
            + (data.made ? "" : " (The dense gradient was not computed: its bytes are those of its shape.)");
    if (said.textContent !== words) said.textContent = words;
  }

  function drop() { // the words on their way from the text to their rows
    const pen = fall.getContext("2d"), { ratio } = squares[0];
    pen.clearRect(0, 0, fall.width, fall.height);
    if (view.time <= 0 || view.time >= DROP) return;
    const home = root.getBoundingClientRect(), box = text.getBoundingClientRect();
    const corners = squares.map((one) => one.canvas.getBoundingClientRect());
    pen.fillStyle = colors.sparse;
    pen.font = `${12 * ratio}px sans-serif`;
    squares.forEach((one, k) => { // seen in the squares only: over numbers and borders they would hide what is read
      pen.save();
      pen.beginPath();
      pen.rect((corners[k].left - home.left) * ratio, (corners[k].top - home.top) * ratio, corners[k].width * ratio, corners[k].height * ratio);
      pen.clip();
      data.places.slice(0, 800).forEach((row, i) => {
        const share = 1 - (landing(i) - view.time) / 500;
        if (share <= 0 || share >= 1) return;
        const start = [box.left + (box.width - 60) * (((i * 37) % 101) / 101), box.bottom], end = one.shown(row);
        const x = start[0] + (corners[k].left + end[0] - start[0]) * share * share;
        const y = start[1] + (corners[k].top + end[1] - start[1]) * share * share;
        pen.globalAlpha = 1 - 0.6 * share * share;
        pen.fillText(data.words[i].slice(0, 24), (x - home.left) * ratio, (y - home.top) * ratio);
      });
      pen.restore();
    });
  }

  // ---- pointer and keys

  function look(i) {
    if (i === view.current) return;
    view.current = i;
    if (i >= 0) {
      const row = data.places[i];
      const words = data.words.filter((_, k) => data.places[k] === row).map((word) => `“${word}”`).join(" and ");
      said.replaceChildren(make("bdi", {}, words), ` is row ${grouped(row)}: ${grouped(data.units)} values and one index, `
        + `${formatBytes(data.stored_bytes / data.count)} of the row-sparse gradient.`);
    }
    run();
  }

  function point(event) {
    const one = squares.find(({ canvas }) => canvas === event.currentTarget), box = one.canvas.getBoundingClientRect();
    let best = -1, nearest = NEAR ** 2;
    data.places.forEach((row, i) => {
      const [x, y] = one.shown(row), far = (x + box.left - event.clientX) ** 2 + (y + box.top - event.clientY) ** 2;
      if (far < nearest) [best, nearest] = [i, far];
    });
    look(best);
  }

  function choose() {
    if (view.current < 0) return;
    [view.from, view.word] = [document.activeElement, view.current];
    ask({ ask: "row", row: data.places[view.current], width: details.clientWidth - 24 });
  }

  function leave() {
    look(-1);
    details.replaceChildren();
    squares[0].figure.scrollIntoView({ block: "nearest" });
  }

  function back(event) { // from inside the row to the square
    if (event.key !== "Escape") return;
    event.stopPropagation();
    leave();
    view.from.focus();
    look(view.word);
  }

  function keys(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const count = data.places.length, next = () => look((view.current + 1) % count);
    const back = () => look((view.current <= 0 ? count : view.current) - 1);
    const does = { ArrowRight: next, ArrowDown: next, ArrowLeft: back, ArrowUp: back, Enter: choose, " ": toggle, ".": () => step(1),
      ",": () => step(-1), Escape: (view.current >= 0 || details.childElementCount) && leave }[event.key];
    if (!does) return;
    does();
    event.preventDefault();
    event.stopPropagation();
  }

  // ---- what changes around it

  const seen = new IntersectionObserver(([entry]) => { view.seen = entry.isIntersecting; if (view.seen) run(); });
  const sized = new ResizeObserver(resize);
  const themed = new MutationObserver(resize);
  const scheme = window.matchMedia("(prefers-color-scheme: dark)");
  const answered = () => clearTimeout(view.slow);
  take();
  seen.observe(root);
  for (const { canvas } of squares) sized.observe(canvas);
  for (const node of [document.body, document.documentElement]) themed.observe(node, { attributes: true });
  scheme.addEventListener("change", resize);
  const heard = { "change:data": take, "change:details": tell, "change:answered": answered };
  for (const [name, action] of Object.entries(heard)) model.on(name, action);
  root.dataset.ready = "true";
  return () => {
    cancelAnimationFrame(view.frame);
    clearTimeout(view.typing);
    clearTimeout(view.slow);
    for (const observer of [seen, sized, themed]) observer.disconnect();
    scheme.removeEventListener("change", resize);
    for (const [name, action] of Object.entries(heard)) model.off(name, action);
  };
}

export default { render };
