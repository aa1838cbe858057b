// The colours of the timeline with their names; pressing one picks out its events.

import { ALARM, element, inkOn } from "./common.js";

export class Legend {
  // `pick()` is called when another colour is picked out, or none.
  constructor(coloring, pick) {
    Object.assign(this, { coloring, pick, only: -1 });
    this.element = element("div", { class: "sk-legend", role: "group", "aria-label": "Legend; press one to show only it" });
  }

  // `dense` says whether anything was made dense, which is hatched, and `read` whether anything reads it, which has an arrow.
  fill(dense, read) {
    const { names, colors, codes, shown } = this.coloring;
    this.element.replaceChildren(...names.map((name, i) => (!shown[i] ? "" : element("button", {
      type: "button", class: "sk-chip", "aria-pressed": "false", title: name, onclick: (event) => this.press(i, event.currentTarget),
    }, element("i", { style: `background:${colors[i]};color:${inkOn(colors[i])}` }, codes[i]), element("span", {}, name)))));
    const hatch = `repeating-linear-gradient(135deg, ${ALARM} 0 2px, transparent 2px 5px)`;
    if (dense) this.element.append(element("span", { class: "sk-chip" }, element("i", { style: `background:${hatch};border:2px solid ${ALARM}` }), element("span", {}, "became dense")));
    if (read) this.element.append(element("span", { class: "sk-chip" }, element("i", {}, "→"), element("span", {}, "is read by")));
  }

  press(category, chip) {
    this.only = this.only === category ? -1 : category;
    for (const other of this.element.querySelectorAll("button")) other.setAttribute("aria-pressed", String(other === chip && this.only >= 0));
    this.pick();
  }
}
