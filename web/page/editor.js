// The code of a cell: coloured text below, and a field of the same size above it in which one types.

import { make } from "./elements.js";

const WORD = new RegExp([
  /(?<c>#[^\n]*)/, /(?<s>[rbfuRBFU]{0,2}(?:"""[^]*?(?:"""|$)|'''[^]*?(?:'''|$)|"(?:\\.|[^"\\\n])*"?|'(?:\\.|[^'\\\n])*'?))/,
  /(?<k>\b(?:False|None|True|and|as|assert|async|await|break|class|continue|def|del|elif|else|except|finally|for|from|global|if|import|in|is|lambda|nonlocal|not|or|pass|raise|return|try|while|with|yield)\b)/,
  /(?<m>\b\d[\w.]*)/,
].map(({ source }) => source).join("|"), "g");
const INDENT = "    ";

export function coloured(code) {  // spans with the classes of the stored code
  const parts = [];
  let last = 0;
  for (const match of code.matchAll(WORD)) {
    const [kind] = Object.entries(match.groups).find(([, found]) => found !== undefined);
    parts.push(code.slice(last, match.index));
    parts.push(make("span", { className: kind, textContent: match[0] }));
    last = match.index + match[0].length;
  }
  return [...parts, code.slice(last)];
}

export class Editor {
  constructor(source, label, { run, leave, changed }) {
    this.source = source;
    this.colours = source.querySelector("code") ?? source;
    this.field = make("textarea", {
      value: this.colours.textContent, spellcheck: false, autocapitalize: "off", autocomplete: "off", wrap: "off",
    });
    this.field.setAttribute("aria-label", label);
    this.field.setAttribute("translate", "no");
    Object.assign(this, { run, leave, changed });
    const box = make("div", { className: "editor" });
    source.replaceWith(box);
    box.append(source, this.field);
    source.setAttribute("aria-hidden", "true");
    source.removeAttribute("tabindex");
    this.field.addEventListener("input", () => { this.draw(); this.changed?.(this.code); });
    this.field.addEventListener("keydown", (event) => this.key(event));
    this.field.addEventListener("focus", (event) => { this.passed = box.contains(event.relatedTarget); });
    this.field.addEventListener("scroll", () => { source.scrollLeft = this.field.scrollLeft; });
    this.draw();
  }

  get code() { return this.field.value; }

  set code(code) {
    this.field.value = code;
    this.draw();
  }

  draw() {
    this.colours.replaceChildren(...coloured(this.code), "\n");
    this.field.rows = this.code.split("\n").length;
  }

  key(event) {
    const { code, key, shiftKey: shift, ctrlKey, metaKey } = event;
    const act = code === "Enter" && (shift || ctrlKey || metaKey) ? () => this.run(shift)
      : code === "Escape" ? () => this.leave()
        : code === "Tab" && !ctrlKey && !(shift && this.passed) ? () => this.indent(shift)
          : code === "Enter" ? () => this.newline() : null;
    if (code !== "Tab" && key !== "Shift") this.passed = false;  // until then Shift+Tab, coming from the button, goes on
    if (!act || event.isComposing) return;
    event.preventDefault();
    act();
  }

  insert(text) { document.execCommand("insertText", false, text); }  // it can be undone

  lines() {  // where the lines begin and end that are selected
    const { value, selectionStart: from, selectionEnd: to } = this.field;
    const end = value.indexOf("\n", to > from && value[to - 1] === "\n" ? to - 1 : to);
    return [value.lastIndexOf("\n", from - 1) + 1, end < 0 ? value.length : end];
  }

  indent(back) {
    const { selectionStart: from, selectionEnd: to, value } = this.field;
    if (from === to && !back) { this.insert(INDENT); return; }
    const [start, end] = this.lines();
    const lines = value.slice(start, end).split("\n");
    const text = lines.map((line) => (back ? line.replace(/^ {1,4}/, "") : line && INDENT + line)).join("\n");
    this.field.setSelectionRange(start, end);
    this.insert(text);
    const caret = Math.max(start, from - INDENT.length);
    if (from === to) this.field.setSelectionRange(caret, caret);
    else this.field.setSelectionRange(start, start + text.length);
  }

  newline() {
    const { selectionStart: from, value } = this.field;
    const line = value.slice(value.lastIndexOf("\n", from - 1) + 1, from);
    this.insert(`\n${line.match(/^ */)[0]}${/:\s*(#.*)?$/.test(line) ? INDENT : ""}`);
  }
}
