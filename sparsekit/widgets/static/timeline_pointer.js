// The mouse on the lanes and on the overview: drags, wheels, clicks, and the tip below the pointer.

import { element, formatDuration } from "./common.js";
import { markAt } from "./timeline_marks.js";
import { GUTTER } from "./timeline_scene.js";

export class Pointer {
  // `page` has the elements stage, canvas and map.  `actions` has choose(event, mark), where -1 is none, and measure() and
  // draw() for a span that was, or is being, measured.
  constructor(scene, camera, page, actions) {
    Object.assign(this, { scene, camera, page, actions, drag: null });
    const { canvas, map } = page;
    this.tip = element("div", { class: "sk-tip", hidden: true });
    page.stage.append(this.tip);
    canvas.addEventListener("pointerdown", (event) => this.press(event));
    canvas.addEventListener("pointermove", (event) => this.hover(event));
    canvas.addEventListener("pointerleave", () => { this.tip.hidden = true; });
    canvas.addEventListener("dblclick", (event) => {
      const found = scene.at(...this.point(event));
      if (found >= 0) camera.zoomTo(found);
    });
    canvas.addEventListener("wheel", (event) => this.wheel(event), { passive: false });
    map.addEventListener("pointerdown", (event) => this.steer(event));
  }

  point(event) {
    const box = this.page.canvas.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  }

  // The operator at a place, or else the mark there.
  at(x, y) {
    const found = this.scene.at(x, y);
    return [found, found < 0 ? markAt(this.scene, x, y) : -1];
  }

  wheel(event) {
    const { camera, scene, page: { stage } } = this;
    if (!event.ctrlKey && !event.metaKey && document.activeElement !== stage && !stage.matches(":focus")) return;
    event.preventDefault();
    if (Math.abs(event.deltaX) > Math.abs(event.deltaY)) camera.shift(event.deltaX / scene.scale, true);
    else camera.zoom(1.0016 ** Math.max(-400, Math.min(400, event.deltaY)), this.point(event)[0], true);
  }

  // On the overview: what is in view follows the pointer.
  steer(event) {
    const { camera, scene, page: { map } } = this;
    map.setPointerCapture(event.pointerId);
    const go = (moved) => {
      const box = map.getBoundingClientRect();
      const time = ((moved.clientX - box.left - GUTTER) / (box.width - GUTTER)) * scene.data.length + scene.data.begin;
      const half = (scene.view[1] - scene.view[0]) / 2;
      camera.move(time - half, time + half, true);
    };
    go(event);
    map.onpointermove = go;
    map.onpointerup = map.onpointercancel = () => { map.onpointermove = null; };
  }

  press(event) {
    if (event.button !== 0) return;
    const { scene, actions, page: { canvas, stage } } = this;
    stage.focus({ preventScroll: true });
    canvas.setPointerCapture(event.pointerId);
    const [x, y] = this.point(event);
    this.drag = { x, view: scene.view, far: false, measure: event.shiftKey, from: scene.time(x) };
    const done = (released) => {
      canvas.onpointerup = canvas.onpointercancel = null;
      const { far, measure } = this.drag;
      this.drag = null;
      if (far && measure) actions.measure();
      if (far || released.type === "pointercancel") return;
      scene.range = null;
      actions.choose(...this.at(x, y));
    };
    canvas.onpointerup = canvas.onpointercancel = done;
  }

  hover(event) {
    const [x, y] = this.point(event);
    if (this.drag) this.pull(x);
    else this.show(x, y);
  }

  // Dragged to a place: the view is panned, or a span measured.
  pull(x) {
    const { drag, scene } = this;
    drag.far ||= Math.abs(x - drag.x) > 3;
    if (!drag.far) return;
    this.tip.hidden = true;
    if (drag.measure) {
      scene.range = [drag.from, scene.time(x)].sort((a, b) => a - b);
      this.actions.draw();
    } else {
      const by = (drag.x - x) / scene.scale;
      this.camera.move(drag.view[0] + by, drag.view[1] + by, true);
    }
  }

  show(x, y) {
    const { tip, scene: { data, width } } = this;
    const [found, mark] = this.at(x, y);
    tip.hidden = found < 0 && mark < 0;
    if (tip.hidden) return;
    tip.textContent = mark < 0 ? `${data.label(found)}: ${formatDuration(data.columns.duration[found])}` : data.marks.sentence(mark);
    tip.style.left = `${Math.max(0, Math.min(x + 12, width - tip.offsetWidth - 4))}px`;
    tip.style.top = `${y + 18}px`;
  }
}
