// What every part of the timeline looks at: the data, the span in view and its place on the canvas, and what is picked out.

import { Coloring, ROW } from "./timeline_data.js";

export const GUTTER = 92;
export const FONT = '12px system-ui, "Helvetica Neue", Arial, sans-serif';
export const BOLD = `bold ${FONT.replace("12px", "13px")}`;

// The view in timeline.js and the camera write it; painters and tables read it.
export class Scene {
  constructor(data) {
    const { view } = data;
    Object.assign(this, {
      data, view: view[1] > view[0] ? view : [data.begin, data.begin + data.length], target: null, width: NaN,
      range: null, selected: -1, partners: [], chosen: -1, coloring: new Coloring(data), marked: null,
    });
  }

  get scale() { return (this.width - GUTTER) / (this.view[1] - this.view[0]); }

  x(time) { return GUTTER + (time - this.view[0]) * this.scale; }

  time(x) { return this.view[0] + (x - GUTTER) / this.scale; }

  // What is in view, or will be: on the way to somewhere, it is there that counts.
  get ahead() { return this.target ?? this.view; }

  // The span that tables and sentences are about.
  get span() { return this.range ?? this.view; }

  // The operator at a place of the canvas; -1 for none.
  at(x, y) {
    const { data } = this;
    const track = data.tracks.find((candidate) => y >= candidate.y && y < candidate.y + ROW);
    if (!track || x < GUTTER) return -1;
    const reach = 2 / this.scale;
    const [time, { start, duration }] = [this.time(x), data.columns];
    let best = -1;
    for (let i = data.first(track, time - reach); i < track.order.length; i += 1) {
      const event = track.order[i];
      if (start[event] > time + reach) break;
      if (best < 0 || (start[event] <= time && duration[event] > 0)) best = event;
      if (start[event] <= time && start[event] + duration[event] >= time) return event;
    }
    return best;
  }
}

// How wide words are, each measured once.
export class Letters {
  constructor() { this.widths = new Map(); }

  measure(context, text) {
    let width = this.widths.get(text);
    if (width === undefined) this.widths.set(text, (width = context.measureText(text).width));
    return width;
  }

  // As much of a name as there is room for.
  cut(context, text, room) {
    const width = this.measure(context, text);
    if (width <= room) return text;
    const letters = Math.floor((text.length * (room - 12)) / width);
    return letters > 2 ? `${text.slice(0, letters)}…` : "";
  }
}
