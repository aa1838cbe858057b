// A question before a cell runs: a field or options, a button, and what is said about the guess.
// An anywidget front-end module: render({ model, el }) builds the form and returns its cleanup.

const MARKS = { open: "", kept: "•", unclear: "?", right: "✔", wrong: "✘" };
let forms = 0;

// Build an element; strings become text nodes, so nothing that somebody named is ever read as HTML.
function element(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith("on")) node.addEventListener(key.slice(2), value);
    else node.setAttribute(key, value);
  }
  node.append(...children);
  return node;
}

// What stands between backticks is code; all of it is text, whatever it looks like.
function rich(text) {
  return text.split("`").map((part, i) => (i % 2 ? element("code", {}, part) : part));
}

class Form {
  constructor(model, root) {
    this.model = model;
    this.root = root;
    this.times = 0;
    this.name = `sk-question-${(forms += 1)}`;
    this.build();
    this.show = () => this.refresh();
    model.on("change:status change:state change:said", this.show);
    this.refresh();
  }

  build() {
    const options = this.model.get("options") ?? [];
    this.status = element("p", { class: "sk-verdict", role: "status", "aria-live": "polite" });
    this.fields = options.length ? this.choices(options) : this.field();
    this.form = element("form", { class: "sk-question-form", onsubmit: (event) => this.send(event) },
      element("fieldset", {},
        element("legend", {}, element("strong", {}, "Predict. "), ...rich(this.model.get("text") || "")),
        ...this.fields,
        element("button", { type: "submit" }, "Keep my prediction")),
      this.status);
    this.root.append(this.form);
  }

  choices(options) {
    this.inputs = options.map((value) => element("input", { type: "radio", name: this.name, value }));
    const labels = options.map((value, i) => element("label", { class: "sk-option" }, this.inputs[i], element("span", {}, ...rich(value))));
    return [element("div", { class: "sk-options" }, ...labels)];
  }

  field() {
    const unit = this.model.get("unit") || "";
    this.input = element("input", { type: "text", id: this.name, autocomplete: "off", spellcheck: "false", maxlength: "200", size: "12" });
    return [element("label", { for: this.name }, unit ? `Your guess, in ${unit}: ` : "Your guess: "), this.input, " "];
  }

  get value() {
    return this.input ? this.input.value.trim() : (this.inputs.find((input) => input.checked)?.value ?? "");
  }

  send(event) {
    event.preventDefault();
    event.stopPropagation();
    if (!this.value) {
      this.say("unclear", this.input ? "Write a number first." : "Choose an answer first.");
      return;
    }
    this.say("kept", "…");
    this.times += 1;
    this.model.set("sent", [this.times, this.value]);
    this.model.save_changes();
  }

  say(state, words) {
    this.status.dataset.state = state;
    this.status.replaceChildren(MARKS[state] ?? "", words ? " " : "", ...rich(words));
  }

  refresh() {
    const said = this.model.get("said") || "";
    const free = !this.root.contains(document.activeElement) || this.model.get("state") !== "unclear";
    if (this.input && free && said) this.input.value = said;
    for (const input of this.inputs ?? []) if (input.value === said) input.checked = true;
    this.say(this.model.get("state") || "open", this.model.get("status") || "");
  }

  remove() {
    this.model.off("change:status change:state change:said", this.show);
  }
}

function render({ model, el }) {
  const root = element("div", { class: "sk sk-question" });
  el.append(root);
  const form = new Form(model, root);
  keepKeys(root);
  root.dataset.ready = "true";
  return () => form.remove();
}

export default { render };
