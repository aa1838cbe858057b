// What the live widgets share: figures in words, colours of the page's theme, packed columns.
// Loaded in front of each widget's module as one text, so nothing is fetched at run time.

export const SERIES = ["#0072b2", "#e69f00", "#56b4e9", "#009e73", "#cc79a7", "#f0e442"];
export const OTHER = "#a9adb2";

// ---- figures in words; the Python twin is units.py, and a test holds the two together

const BYTES = [[1e15, "PB"], [1e12, "TB"], [1e9, "GB"], [1e6, "MB"], [1e3, "kB"]];
const SECONDS = [[3.6e9, "h"], [6e7, "min"], [1e6, "s"], [1e3, "ms"], [1, "µs"], [1e-3, "ns"]];
const COUNTS = [[1e15, "P"], [1e12, "T"], [1e9, "G"], [1e6, "M"]];

export function grouped(value) {
  return Number(value).toFixed(0).replace(/\B(?=(\d{3})+(?!\d))/g, ",");
}

function three(value) {
  if (value >= 99.95) return grouped(value);
  return value.toFixed(value >= 9.995 ? 1 : 2);
}

function scaled(value, scale) {
  const found = scale.find(([size]) => value >= size * 0.9995);
  return found ? `${three(value / found[0])} ${found[1]}` : null;
}

export function formatBytes(value) {
  const sign = value < 0 ? "-" : "";
  const amount = Math.abs(value) || 0;
  return sign + (scaled(amount, BYTES) ?? `${amount.toFixed(0)} B`);
}

export function formatDuration(microseconds) {
  const sign = microseconds < 0 ? "-" : "";
  const amount = Math.abs(microseconds) || 0;
  return amount < 5e-4 ? "0 s" : sign + (scaled(amount, SECONDS) ?? "1 ns");
}

export function formatCount(value) {
  const sign = value < 0 ? "-" : "";
  const amount = Math.abs(value) || 0;
  return sign + (scaled(amount, COUNTS) ?? grouped(amount));
}

export function formatShare(part, whole = 1) {
  const share = whole > 0 ? part / whole : 0;
  return share > 0 && share < 0.005 ? "<1 %" : `${(100 * share).toFixed(0)} %`;
}

export function formatDensity(value) {
  const percent = 100 * (value || 0);
  if (percent <= 0) return "0 %";
  if (percent >= 99.95) return percent >= 100 ? "100 %" : ">99.9 %";
  const digits = Math.max(0, 1 - Math.floor(Math.log10(percent)));
  if (digits > 9) return `${percent.toExponential(1).replace(/e-(\d)$/, "e-0$1")} %`;
  const written = percent.toFixed(digits);
  return `${written.includes(".") ? written.replace(/0+$/, "").replace(/\.$/, "") : written} %`;
}

export function formatShape(shape) {
  if (!Array.isArray(shape)) return "?";
  return shape.length ? shape.map(grouped).join(" × ") : "scalar";
}

// Round positions between start and end, and the step between them.
export function ticks(start, end, most) {
  const rough = (end - start) / most;
  if (!(rough > 0)) return { step: 1, positions: [] };
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((factor) => factor * power).find((size) => size >= rough * 0.9999);
  const positions = [];
  for (let i = Math.ceil(start / step - 1e-6); i * step <= end + step * 1e-6; i += 1) positions.push(i * step);
  return { step, positions };
}

export function formatTick(microseconds, step) {
  if (Math.abs(microseconds) < step / 2) return "0";
  const [size, unit] = SECONDS.find(([limit]) => Math.abs(microseconds) >= limit * 0.9995) ?? [1e-3, "ns"];
  const digits = Math.min(12, Math.max(0, -Math.floor(Math.log10(step / size) + 1e-9)));
  return `${Number((microseconds / size).toFixed(digits))} ${unit}`;
}

// ---- the page

// Build an element; strings become text nodes, so nothing a user named is ever read as HTML.
export function element(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith("on")) node.addEventListener(key.slice(2), value);
    else if (value === true) node.setAttribute(key, "");
    else if (value !== false && value !== null && value !== undefined) node.setAttribute(key, value);
  }
  node.append(...children.filter((child) => child !== null && child !== undefined));
  return node;
}

// Narrow views fold tables of four columns or more: the style makes blocks of rows, whose roles remain.
export function table(columns, rows, caption) {
  const head = element("tr", { role: "row" }, ...columns.map((name) => element("th", { scope: "col", role: "columnheader" }, name)));
  const body = rows.map((row) => element("tr", { role: "row" }, ...row.map((cell, i) => element("td", { role: "cell", "data-column": columns[i] }, cell))));
  const title = caption ? element("caption", {}, caption) : null;
  const folds = columns.length > 3 ? "sk-folds" : null;
  return element("table", { role: "table", class: folds }, title, element("thead", {}, head), element("tbody", { role: "rowgroup" }, ...body));
}

function luminance(color) {
  const linear = [1, 3, 5].map((start) => {
    const channel = parseInt(color.slice(start, start + 2), 16) / 255;
    return channel <= 0.04045 ? channel / 12.92 : ((channel + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2];
}

// The text colour that is read on a colour: dark or white, or black where neither has a contrast of 4.5.
export function inkOn(color) {
  const light = luminance(color) + 0.05;
  const [dark, white] = [light / (luminance("#1c1f22") + 0.05), 1.05 / light];
  if (Math.max(dark, white) < 4.5) return "#000000";
  return dark >= white ? "#1c1f22" : "#ffffff";
}

// Build an SVG element; strings become text nodes.
export function shape(tag, attributes = {}, ...children) {
  const node = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith("on")) node.addEventListener(key.slice(2), value);
    else if (value !== null && value !== undefined) node.setAttribute(key, value);
  }
  node.append(...children);
  return node;
}

// The frame of a view over `data`: heading, the finding below it, and a new start whenever the data change.
// `build(root, data)` gives an object with `destroy`, or with `update(data)` if it takes new data as it stands.
export function mount(model, el, kind, build) {
  const root = el.appendChild(element("div", { class: `sk sk-${kind}` }));
  let view = null;
  const show = () => {
    try {
      const data = model.get("data") ?? {};
      if (view?.update) {
        view.update(data);
        return;
      }
      view?.destroy?.();
      root.replaceChildren(element("h3", {}, model.get("title") || ""), element("p", {}, model.get("description") || ""));
      view = build(root, data);
      root.dataset.ready = "true";
    } catch (error) {
      root.replaceChildren(element("p", { role: "alert" }, `The view cannot be shown: ${error.message}`));
    }
  };
  model.on("change:data", show);
  show();
  return () => {
    model.off("change:data", show);
    view?.destroy?.();
    root.remove();
  };
}

// Take a key press for ours: nothing else on the page reacts to it.
export function taken(event, action) {
  if (!action || event.altKey || event.ctrlKey || event.metaKey) return false;
  event.preventDefault();
  event.stopPropagation();
  action();
  return true;
}
