// What is typed into the search of the timeline: words, and conditions such as lane:backward, time>1ms, density<1%.

import { formatDuration } from "./common.js";

const UNITS = { "": 1, ns: 1e-3, us: 1, µs: 1, ms: 1e3, s: 1e6, b: 1, kb: 1e3, mb: 1e6, gb: 1e9, "%": 0.01 };
const COMPARE = { "<": (one, other) => one < other, "<=": (one, other) => one <= other, ">": (one, other) => one > other, ">=": (one, other) => one >= other };
// A condition's name, what it looks at, and how it is explained.
const NUMBERS = { time: "duration", own: "own", start: "start", moved: "bytes", bytes: "bytes", density: "density" };
const TEXTS = ["op", "lane", "layer", "line", "stype"];
export const EXAMPLE = "dot, lane:backward, time>1ms, dense";
export const CONDITIONS = `Words are looked for in operator, layer and line. Conditions, which all have to hold: ${TEXTS.map((name) => `${name}:…`).join(", ")}; time, own, moved, density with < or > and a number, such as time>${formatDuration(1000).replace(" ", "")} or density<1%; dense, for what became dense.`;

function numeric(term) {
  const found = /^([a-z]+)([<>]=?)([\d.]+)\s*([a-zµ%]*)$/.exec(term);
  if (!found || !Object.hasOwn(NUMBERS, found[1]) || !Object.hasOwn(UNITS, found[4])) return null;
  return { name: NUMBERS[found[1]], holds: COMPARE[found[2]], limit: Number(found[3]) * UNITS[found[4]] };
}

// Storage types among an event's arrays, as one text for each event that is looked at.
function storage(data, event) {
  const { inputs, outputs } = data.arrays(event);
  return [...inputs, ...outputs].map(([stype]) => (stype === "default" ? "dense" : stype)).join(" ");
}

function texts(data, name) {
  const { columns, strings, lanes } = data;
  const looked = { op: [columns.name, strings], layer: [columns.layer, strings], line: [columns.line, strings], lane: [columns.lane, lanes] }[name];
  return looked ? (wanted) => {
    const hit = looked[1].map((text) => text.toLowerCase().includes(wanted));
    return (event) => hit[looked[0][event]];
  } : (wanted) => (event) => storage(data, event).includes(wanted);
}

// A function that says of an event whether it fits all that was typed; null where nothing was.
export function accepting(data, typed) {
  const terms = typed.trim().toLowerCase().split(/[\s,]+/).filter(Boolean);
  if (!terms.length) return null;
  const { columns } = data;
  const checks = terms.map((term) => {
    const limit = numeric(term);
    // What has no density has -1.
    if (limit) return (event) => columns[limit.name][event] >= 0 && limit.holds(columns[limit.name][event], limit.limit);
    if (term === "dense") return (event) => columns.fallback[event] > 0;
    const [name, ...rest] = term.split(":");
    if (rest.length && TEXTS.includes(name)) return texts(data, name)(rest.join(":"));
    const found = ["op", "layer", "line"].map((where) => texts(data, where)(term));
    return (event) => found.some((fits) => fits(event));
  });
  return (event) => checks.every((fits) => fits(event));
}
