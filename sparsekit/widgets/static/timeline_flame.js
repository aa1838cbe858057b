// Where the time in view goes, from lane to source line to layer to operator: boxes as wide as their own time.

import { OTHER, element, formatDuration, formatShare, inkOn } from "./common.js";

const HIGH = 26;

export class Flame {
  // `pick(query)` is called with what finds the events of a box.
  constructor(scene, pick) {
    Object.assign(this, { scene, pick });
    this.boxes = element("div", { class: "sk-flame", role: "group", "aria-label": "Time in view by lane, source line, layer and operator; Enter searches for a box's events" });
    this.element = element("details", { ontoggle: () => this.fill() }, element("summary", {}, "Flame graph of the time in view: lane, source line, layer, operator"), this.boxes);
  }

  // The own time of what is in view, as a tree.
  tree() {
    const { data, span } = this.scene;
    const { own, start, duration, line, layer } = data.columns;
    const root = { name: "in view", time: 0, parts: new Map(), query: "", event: -1 };
    data.within(...span, (event) => {
      const inside = Math.min(span[1], start[event] + duration[event]) - Math.max(span[0], start[event]);
      const time = duration[event] > 0 ? own[event] * Math.max(0, Math.min(1, inside / duration[event])) : 0;
      let at = root;
      root.time += time;
      for (const [key, name] of [["lane", data.lane(event)], ["line", data.strings[line[event]]], ["layer", data.strings[layer[event]]], ["op", data.name(event)]]) {
        if (!name) continue;
        if (!at.parts.has(name)) at.parts.set(name, { name, time: 0, parts: new Map(), query: `${at.query} ${key}:${name.toLowerCase().replace(/[\s,]+.*/, "")}`, event, leaf: key === "op" });
        at = at.parts.get(name);
        at.time += time;
      }
    });
    return root;
  }

  fill() {
    if (!this.element.open) return;
    const { coloring } = this.scene;
    const root = this.tree();
    const made = [];
    let deepest = 0;
    const place = (node, left, depth) => {
      const share = root.time > 0 ? node.time / root.time : 0;
      if (share < 0.004) return;
      deepest = Math.max(deepest, depth);
      const color = node.leaf ? coloring.of(node.event) : OTHER;
      const words = `${node.name}: ${formatDuration(node.time)}, ${formatShare(node.time, root.time)}`;
      made.push(element("button", { type: "button", title: words, "aria-label": words, onclick: () => this.pick(node.query.trim()),
        style: `left:${100 * left}%;width:${100 * share}%;top:${depth * HIGH}px;height:${HIGH - 2}px;background:${color};color:${inkOn(color)}` }, share > 0.03 ? node.name : ""));
      let at = left;
      for (const part of [...node.parts.values()].sort((one, other) => other.time - one.time)) {
        place(part, at, depth + 1);
        at += root.time > 0 ? part.time / root.time : 0;
      }
    };
    place(root, 0, 0);
    this.boxes.style.height = `${(deepest + 1) * HIGH}px`;
    this.boxes.replaceChildren(...made);
  }
}
