// Runs in a saved report: gives each live view a model without a kernel, and the page its theme button.
// A classic script, so that it is there before the views' modules run.

const sparsekitReport = (() => {
  // The part of an anywidget model that the views use, over values that stand in the page.
  class Model {
    constructor(values) {
      this.values = values;
      this.callbacks = new Map();
    }

    get(name) { return this.values[name]; }

    set(name, value) {
      if (this.values[name] === value) return;
      this.values[name] = value;
      for (const callback of this.callbacks.get(`change:${name}`) ?? []) callback();
    }

    save_changes() {}

    on(name, callback) { this.callbacks.set(name, [...(this.callbacks.get(name) ?? []), callback]); }

    off(name, callback) { this.callbacks.set(name, (this.callbacks.get(name) ?? []).filter((other) => other !== callback)); }
  }

  function read(figure) {
    return JSON.parse(figure.querySelector("script").textContent);
  }

  // The picture stays until the live view stands; if that fails, the picture is what remains.
  async function show(kind, render) {
    for (const figure of document.querySelectorAll(`figure[data-view="${kind}"]`)) {
      const el = figure.querySelector(".live");
      try {
        await render({ model: new Model(read(figure)), el });
        if (!el.querySelector("[data-ready]")) throw new Error("the view did not start");
        figure.querySelector(".static").hidden = true;
      } catch (error) {
        el.replaceChildren();
        console.warn(`The live ${kind} view is not shown: ${error.message}`);
      }
    }
  }

  const button = document.querySelector("header button");
  if (button) {
    const themes = ["auto", "light", "dark"];
    button.hidden = false;
    button.addEventListener("click", () => {
      const root = document.documentElement;
      const next = themes[(themes.indexOf(root.dataset.theme ?? "auto") + 1) % themes.length];
      if (next === "auto") delete root.dataset.theme;
      else root.dataset.theme = next;
      button.textContent = `theme: ${next}`;
    });
  }
  return { show };
})();
