// Markers, counters and densifications in the timeline: signs with their names, step lines, their table, and the way to them.

import { ALARM, element, formatCount, formatDuration, formatValue, table } from "./common.js";
import { COUNTER, DENSE } from "./mark_lanes.js";
import { GUTTER } from "./timeline_scene.js";

export const MARK_KEYS = [["m", "next mark (Shift: the one before)"]];

const SIGN = 6;

// The mark after or before the chosen one, or the first in view; -1 for none.  Signs one by one; where there are none, the
// values of the counters.
export function markBeside({ data: { marks }, chosen, view }, direction) {
  const order = marks.signs.length ? marks.signs : Int32Array.from(marks.kind.keys());
  if (!order.length) return -1;
  const known = order.indexOf(chosen);
  const first = marks.from(order, view[0]);
  const next = known >= 0 ? known + direction : first - (direction < 0 ? 1 : 0);
  return order[(next + order.length) % order.length];
}

// The mark under the pointer: the nearest sign, or the value that a counter has there; -1 for none.
export function markAt(scene, x, y) {
  const { marks } = scene.data;
  const lane = marks.lanes.find((one) => y >= one.y && y < one.y + one.height);
  if (!lane || x < GUTTER) return -1;
  const time = scene.time(x);
  const after = marks.from(lane.order, time);
  if (lane.kind === COUNTER) return lane.order[after - 1] ?? -1;
  const near = [lane.order[after - 1], lane.order[after]].filter((i) => i !== undefined && Math.abs(scene.x(marks.time[i]) - x) < SIGN + 3);
  return near.sort((i, j) => Math.abs(marks.time[i] - time) - Math.abs(marks.time[j] - time))[0] ?? -1;
}

// Counters in view, and all marks; `choose(mark)` is called when one is pressed.
export function markTables({ data: { marks }, span: [a, b] }, choose) {
  const counters = marks.counters.map((lane) => {
    const seen = lane.order.subarray(marks.from(lane.order, a), marks.from(lane.order, b + 1e-6));
    if (!seen.length) return [lane.label, "0", "", "", "", marks.at(b) && lastBefore(marks, lane, b)];
    const [least, most] = marks.extremes(seen);
    const mean = seen.reduce((sum, i) => sum + marks.value[i] / seen.length, 0);
    return [lane.label, formatCount(seen.length), formatValue(least), formatValue(mean), formatValue(most), marks.said(seen.at(-1))];
  });
  const all = Int32Array.from(marks.kind.keys());
  const [first, last] = [marks.from(all, a), marks.from(all, b + 1e-6)];
  const rows = [...all.subarray(first, Math.min(last, first + 200))].map((i) => [
    element("button", { type: "button", onclick: () => choose(i) }, marks.label(i)),
    marks.kindOf(i), formatDuration(marks.time[i]), marks.said(i),
  ]);
  const caption = last - first > 200 ? `The first 200 of ${formatCount(last - first)}; zoom in for the others` : "";
  return [
    ...(counters.length ? [table(["counter", "values", "least", "mean", "most", "last"], counters, "Counters in view")] : []),
    table(["mark", "kind", "time", "value"], rows, caption),
  ];
}

function lastBefore(marks, lane, time) {
  const i = lane.order[marks.from(lane.order, time) - 1];
  return i === undefined ? "" : marks.said(i);
}

export class MarkPainter {
  constructor(scene, letters) { Object.assign(this, { scene, letters }); }

  paint(context, colors) {
    const { scene } = this;
    const { data: { marks, height }, chosen } = scene;
    for (const lane of marks.lanes) {
      if (lane.kind === COUNTER) this.paintCounter(context, colors, lane);
      else this.paintSigns(context, colors, lane);
    }
    if (chosen < 0) return;
    const x = scene.x(marks.time[chosen]);
    context.fillStyle = colors.accent;
    context.fillRect(x - 0.75, 0, 1.5, height);
  }

  paintSigns(context, colors, lane) {
    const { scene } = this;
    const { data: { marks }, view, width, scale, chosen } = scene;
    const y = lane.y + lane.height / 2;
    const reach = SIGN / scale;
    for (let i = marks.from(lane.order, view[0] - reach); i < lane.order.length; i += 0) {
      const mark = lane.order[i];
      if (marks.time[mark] > view[1] + reach) break;
      const x = scene.x(marks.time[mark]);
      // Whatever comes within the same few pixels would be painted over itself.
      i = Math.max(i + 1, marks.from(lane.order, marks.time[mark] + 3 / scale));
      const next = i < lane.order.length ? scene.x(marks.time[lane.order[i]]) : width;
      this.paintSign(context, colors, lane.kind, x, y, mark === chosen);
      const words = this.letters.cut(context, marks.label(mark), Math.min(next, width) - x - 2 * SIGN - 6);
      context.fillStyle = colors.fg;
      context.textAlign = "left";
      if (words) context.fillText(words, x + SIGN + 4, y + 0.5);
    }
  }

  // A diamond for a marker, a triangle for what became dense: told apart without their colours.
  paintSign(context, colors, kind, x, y, chosen) {
    const size = chosen ? SIGN + 2 : SIGN;
    const corners = kind === DENSE ? [[-size, -size + 1], [size, -size + 1], [0, size]] : [[0, -size], [size - 1, 0], [0, size], [1 - size, 0]];
    context.beginPath();
    corners.forEach(([right, down]) => context.lineTo(x + right, y + down));
    context.closePath();
    context.fillStyle = kind === DENSE ? ALARM : colors.fg;
    context.fill();
    context.strokeStyle = chosen ? colors.accent : colors.fg;
    context.lineWidth = chosen ? 3 : 1;
    context.stroke();
  }

  paintCounter(context, colors, lane) {
    const { scene } = this;
    const { data: { marks }, view, width } = scene;
    const { order, least, most, y, height } = lane;
    const [top, tall] = [y + 6, height - 14];
    const place = (value) => (most > least && most - least < Infinity ? top + tall * (1 - (value - least) / (most - least)) : top + tall / 2);
    context.fillStyle = colors.line;
    context.fillRect(GUTTER, y + height - 4, width - GUTTER, 1);
    const first = marks.from(order, view[0]) - 1;
    let i = Math.max(first, 0);
    if (i >= order.length || marks.time[order[i]] > view[1]) return;
    context.beginPath();
    context.strokeStyle = colors.fg;
    context.lineWidth = 1.75;
    context.moveTo(Math.max(scene.x(marks.time[order[i]]), GUTTER), place(marks.value[order[i]]));
    let at = place(marks.value[order[i]]);
    while ((i += 1) < order.length && marks.time[order[i]] <= view[1]) {
      // The lowest and highest value of a column of pixels are kept, however many values it has.
      const x = scene.x(marks.time[order[i]]);
      let [low, high] = [marks.value[order[i]], marks.value[order[i]]];
      while (i + 1 < order.length && scene.x(marks.time[order[i + 1]]) < x + 0.7) {
        i += 1;
        low = Math.min(low, marks.value[order[i]]);
        high = Math.max(high, marks.value[order[i]]);
      }
      context.lineTo(x, at);
      if (low < high) [low, high].forEach((value) => context.lineTo(x, place(value)));
      at = place(marks.value[order[i]]);
      context.lineTo(x, at);
    }
    context.lineTo(width, at);
    context.stroke();
  }

  paintMap(map, colors) {
    const { data } = this.scene;
    const { marks } = data;
    const context = map.getContext("2d");
    const scale = (map.clientWidth - GUTTER) / data.length;
    for (const lane of marks.lanes) {
      context.fillStyle = lane.kind === DENSE ? ALARM : colors.fg;
      for (let i = 0; lane.kind !== COUNTER && i < lane.order.length;) {
        const time = marks.time[lane.order[i]];
        context.fillRect(GUTTER + (time - data.begin) * scale - 1, 27, 2, 7);
        i = Math.max(i + 1, marks.from(lane.order, time + 1 / scale));
      }
    }
  }
}
