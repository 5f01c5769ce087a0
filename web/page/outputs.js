// Outputs below a cell, in the form that a notebook file has.

import { make } from "./elements.js";
import { words } from "./words.js";

const WIDGET = "application/vnd.jupyter.widget-view+json";
const KINDS = [
  ["text/html", (html) => make("div", { className: "table", innerHTML: html })],
  ["image/svg+xml", (svg) => framed(svg)],
  ["image/png", (data) => make("img", { src: `data:image/png;base64,${data}`, alt: "" })],
  ["text/markdown", text], ["text/latex", text], ["application/json", (value) => text(JSON.stringify(value))],
  ["text/plain", text],
];

export function show(output, place, models) {  // draws an output; returns what removes it
  const { output_type: type, data } = output;
  if (type === "stream") return put(place, text(output.text, output.name));
  if (type === "recorded") return put(place, make("p", { className: "recorded", textContent: output.text }));
  if (type === "error") return put(place, failure(output));
  if (data[WIDGET]) return models.render(data[WIDGET].model_id, place);
  const [kind, draw] = KINDS.find(([name]) => name in data) ?? [];
  return kind && data[kind] !== "" ? put(place, draw(data[kind])) : () => {};
}

function put(place, node) {
  place.append(node);
  return () => node.remove();
}

function text(textContent, className = "") { return make("pre", { textContent, className, tabIndex: 0 }); }

function framed(svg) {
  const figure = make("figure", { className: "svg" });
  const frame = make("div", { className: "frame", tabIndex: 0, innerHTML: svg });
  frame.setAttribute("role", "group");
  frame.setAttribute("aria-label", frame.querySelector("title")?.textContent ?? "");
  figure.append(frame);
  return figure;
}

function failure({ ename, evalue, traceback }) {
  const box = make("div", { className: "failure" });
  const said = make("p", { className: "error" });
  said.setAttribute("role", "alert");
  said.append(make("b", { textContent: `${ename}: ` }), evalue);
  const more = make("details");
  more.append(make("summary", { textContent: words("details") }), text(traceback.join("\n")));
  box.append(said, more);
  return box;
}

export class Outputs {  // of one cell: the stored ones stay until the first live one comes
  constructor(place, models) {
    Object.assign(this, { place, models, shown: [], stale: true });
    this.stored = [...place.childNodes];
    this.named = new Map();  // places of outputs that may change later
  }

  begin() { this.stale = true; }

  add({ output, display_id: name, update }) {
    if (update) { this.change(name, output); return; }
    const kept = output.output_type === "recorded" ? this.stored : [];
    this.replace();
    const last = this.shown.at(-1);
    if (output.output_type === "stream" && last?.stream === output.name) {
      last.node.textContent += output.text;
      return;
    }
    const box = make("div", { className: "shown" });
    this.place.append(box);
    const entry = { box, dispose: show(output, box, this.models) };
    if (output.output_type === "stream") Object.assign(entry, { stream: output.name, node: box.firstChild });
    if (name) this.named.set(name, entry);
    this.shown.push(entry);
    this.place.append(...kept);
  }

  change(name, output) {
    const entry = this.named.get(name);
    if (!entry) return;
    entry.dispose();
    entry.box.replaceChildren();
    entry.dispose = show(output, entry.box, this.models);
  }

  clear(wait) {
    this.stale = true;
    if (!wait) this.replace();
  }

  end() {  // where the cell has shown nothing, nothing stays
    this.replace();
    requestAnimationFrame(() => requestAnimationFrame(() => { this.place.style.minHeight = ""; }));
  }

  replace() {  // in one step, at the same height, so that the page does not jump
    if (!this.stale) return;
    this.stale = false;
    this.place.style.minHeight = `${this.place.offsetHeight}px`;
    for (const { dispose } of this.shown) dispose();
    this.shown = [];
    this.named.clear();
    this.place.replaceChildren();
  }
}
