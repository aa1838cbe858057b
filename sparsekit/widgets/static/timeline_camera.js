// Moves what is in view: at once, or with a short flight.

import { stillPreferred } from "./common.js";

export class Camera {
  // `moved()` is called whenever the view has changed.
  constructor(scene, moved) { Object.assign(this, { scene, moved }); }

  home() { this.move(this.scene.data.begin, this.scene.data.begin + this.scene.data.length); }

  move(begin, end, still = false) {
    const { scene } = this;
    const { begin: first, length: most } = scene.data;
    const span = Math.min(Math.max(end - begin, most * 1e-7, 1e-3), most);
    const from = Math.min(Math.max(begin, first), first + most - span);
    const target = (scene.target = [from, from + span]);
    this.stop();
    if (still || stillPreferred()) {
      scene.view = target;
      this.moved();
      return;
    }
    const [origin, began] = [scene.view, performance.now()];
    const step = (now) => {
      const part = Math.min(1, (now - began) / 140);
      const eased = 1 - (1 - part) ** 3;
      scene.view = origin.map((value, i) => value + (target[i] - value) * eased);
      this.moved();
      if (part < 1) this.flight = requestAnimationFrame(step);
    };
    this.flight = requestAnimationFrame(step);
  }

  stop() { cancelAnimationFrame(this.flight); }

  // Around a place of the canvas, or what is selected, or the middle.
  zoom(factor, x = null, still = false) {
    const center = x === null ? this.focus() : this.scene.time(x);
    const [a, b] = this.scene.view;
    this.move(center - (center - a) * factor, center + (b - center) * factor, still);
  }

  focus() {
    const { data: { columns: { start, duration } }, selected, view } = this.scene;
    const middle = selected >= 0 ? start[selected] + duration[selected] / 2 : NaN;
    return middle >= view[0] && middle <= view[1] ? middle : (view[0] + view[1]) / 2;
  }

  pan(share) {
    const [a, b] = this.scene.view;
    this.shift((b - a) * share);
  }

  shift(by, still = false) {
    const [a, b] = this.scene.view;
    this.move(a + by, b + by, still);
  }

  end() {
    const { data, view } = this.scene;
    this.move(data.end - (view[1] - view[0]), data.end);
  }

  // Into view around a time, if it is not.
  center(time) {
    const [a, b] = this.scene.ahead;
    if (time < a || time > b) this.move(time - (b - a) / 2, time + (b - a) / 2);
  }

  zoomTo(event) {
    const { start, duration } = this.scene.data.columns;
    const margin = duration[event] * 0.15 || 0.01;
    this.move(start[event] - margin, start[event] + duration[event] + margin);
  }

  // So that an operator is in view and wide enough to be seen.
  reveal(event) {
    const { data: { columns: { start, duration } }, view: [a, b], scale } = this.scene;
    const [from, to] = [start[event], start[event] + duration[event]];
    if (from < a || to > b || (to - from) * scale < 3) {
      const wanted = (to - from) * scale < 3 ? Math.max((to - from) * 12, 1e-3) : Math.max(b - a, (to - from) * 1.3);
      this.move((from + to - wanted) / 2, (from + to + wanted) / 2);
    }
  }
}
