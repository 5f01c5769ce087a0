// Widgets of a page: a model for each, which Python and the browser share, and how it is drawn.

import memlab from "./view.js";
import { make } from "./elements.js";
import { show } from "./outputs.js";

export class Models {
  constructor(kernel) {
    this.kernel = kernel;
    this.all = new Map();
    kernel.on("open", ({ model, shape, state }) => this.all.set(model, new Model(this, model, shape, state)));
    kernel.on("update", ({ model, state }) => this.all.get(model)?.receive(state));
    kernel.on("custom", ({ model, content }) => this.all.get(model)?.fire("msg:custom", content));
    kernel.on("close", ({ model }) => this.close(model));
    kernel.on("gone", () => this.leave());
  }

  close(name) {
    const model = this.all.get(name);
    this.all.delete(name);
    model?.fire("close");
  }

  leave() {  // Python has ended: each view says that nobody answers
    for (const model of this.all.values()) model.lose();
    this.all.clear();
  }

  render(name, place) {  // draws a widget; returns what removes it
    const model = this.all.get(name);
    if (!model) return () => {};
    const el = make("div");
    place.append(el);
    el.dataset.model = name;
    const classes = () => { el.className = ["widget", ...model.get("_dom_classes") ?? []].join(" "); };
    classes();
    model.on("change:_dom_classes", classes);
    const remove = SHAPES[model.shape]({ model, el, models: this });
    let gone = false;
    const end = () => {
      if (gone) return;
      gone = true;
      model.off("change:_dom_classes", classes);
      model.off("close", end);
      Promise.resolve(remove).then((dispose) => dispose?.());
      el.remove();
    };
    model.on("close", end);
    return end;
  }
}

class Model {
  constructor(models, name, shape, state) {
    Object.assign(this, { models, name, shape, state, comm_live: true });
    this.changed = {};
    this.listeners = [];
    this.widget_manager = { get_model: async (other) => models.all.get(`${other}`.replace("IPY_MODEL_", "")) };
  }

  get(key) { return this.state[key]; }

  set(key, value) {
    if (this.state[key] === value) return;
    this.state[key] = value;
    this.changed[key] = value;
    this.fire(`change:${key}`, value);
    this.fire("change");
  }

  save_changes() {
    const state = this.changed;
    this.changed = {};
    if (this.comm_live && Object.keys(state).length) {
      this.models.kernel.send(this.name, { method: "update", state });
    }
  }

  send(content) {
    if (!this.comm_live) throw new Error("Python is not there");
    this.models.kernel.send(this.name, { method: "custom", content });
  }

  on(kind, listener) { this.listeners.push([kind, listener]); }

  off(kind, listener) {
    this.listeners = this.listeners.filter(([of, each]) =>
      (kind && of !== kind) || (listener && each !== listener));
  }

  fire(kind, ...values) {
    for (const [of, listener] of [...this.listeners]) {
      if (of === kind) listener.call({ model: this }, ...values);
    }
  }

  receive(state) {
    Object.assign(this.state, state);
    for (const key of Object.keys(state)) this.fire(`change:${key}`, state[key]);
    this.fire("change");
  }

  lose() {
    this.comm_live = false;
    this.fire("comm_live_update");
  }
}

// -- how each shape is drawn ------------------------------------------------------------------------

const modules = new Map();  // texts of modules that users write, and the loaded modules

const SHAPES = {
  any({ model, el }) {
    const text = model.get("_esm");
    return text ? drawn(text, { model, el }) : memlab.render({ model, el });
  },
  box: children,
  row(parts) {
    parts.el.classList.add("widget-hbox");
    return children(parts);
  },
  html: ({ model, el }) => follow(model, "value", (value) => { el.innerHTML = value; }),
  label: ({ model, el }) => follow(model, "value", (value) => { el.textContent = value; }),
  outputs({ model, el, models }) {
    let shown = [];
    const clear = () => { for (const dispose of shown) dispose(); el.replaceChildren(); };
    const end = follow(model, "outputs", (outputs) => {
      clear();
      shown = outputs.map((output) => show(output, el, models));
    });
    return () => { end(); clear(); };
  },
  control,
};

async function drawn(text, parts) {  // a widget of a user's own module
  const style = parts.model.get("_css");
  if (style) parts.el.append(make("style", { textContent: style }));
  if (!modules.has(text)) {
    const address = URL.createObjectURL(new Blob([text], { type: "text/javascript" }));
    modules.set(text, import(address));
  }
  const module = await modules.get(text);
  const own = module.default ?? module;
  const widget = typeof own === "function" ? await own() : own;
  await widget.initialize?.(parts);
  return widget.render?.(parts);
}

function follow(model, key, draw) {
  const again = () => draw(model.get(key));
  again();
  model.on(`change:${key}`, again);
  return () => model.off(`change:${key}`, again);
}

function children({ model, el, models }) {
  let shown = [];
  const clear = () => { for (const dispose of shown) dispose(); };
  const end = follow(model, "children", (names) => {
    clear();
    shown = names.map((name) => models.render(name, el));
  });
  return () => { end(); clear(); };
}

function control({ model, el }) {
  const kind = model.get("kind");
  const node = make({ select: "select", button: "button" }[kind] ?? "input");
  const label = make("label");
  const told = make("output");
  if (node.tagName === "INPUT") node.type = kind;
  for (const name of ["min", "max", "step", "placeholder"]) {
    if (model.get(name) !== undefined) node[name] = model.get(name);
  }
  if (kind === "select") {
    node.append(...model.get("labels").map((textContent, value) => make("option", { textContent, value })));
  }
  const [key, field] = kind === "select" ? ["index", "value"]
    : kind === "checkbox" ? ["value", "checked"] : ["value", "value"];
  const update = () => {
    node.disabled = model.get("disabled");
    if (kind === "button") { node.textContent = model.get("description"); return; }
    node[field] = model.get(key);
    label.firstChild.textContent = `${model.get("description")} `;
    told.textContent = kind === "range" ? model.get(key) : "";
  };
  const send = () => {
    const raw = kind === "checkbox" ? node.checked : node.value;
    model.set(key, ["range", "number", "select"].includes(kind) ? Number(raw) : raw);
    model.save_changes();
  };
  if (kind === "button") node.onclick = () => model.send({ event: "click" });
  else node.addEventListener(kind === "range" ? "input" : "change", send);
  if (kind === "button") el.append(node);
  else { label.append("", node, " ", told); el.append(label); }
  el.classList.add("widget-control");
  update();
  model.on("change", update);
  return () => model.off("change", update);
}
