// A page with cells: it is complete as it was stored, and becomes live when Python is ready.
//
// Cells run in order: those near the screen by themselves, and before a cell that is asked for all
// that come before it.

import { Editor } from "./editor.js";
import { make, setText } from "./elements.js";
import { keep } from "./kept.js";
import { Kernel } from "./kernel.js";
import { links } from "./links.js";
import { Outputs } from "./outputs.js";
import { Models } from "./widgets.js";
import { words } from "./words.js";

const ROOM = [[/lesson\.predict\(/, 92, 56], [/lesson\.(recall|change)\(/, 12, 0], [/\.show\(\)/, 68, 16]];
const VIEW = [/./, 44, 130];  // pixels that controls take beside what is stored: on a screen, on a phone
const { root = "", lesson = "" } = document.body.dataset;
const { lang } = document.documentElement;
const room = document.querySelector("main .cell")?.clientWidth ?? 0;
const kernel = new Kernel({
  root, environment: { MEMLAB_LANGUAGE: lang || "en", MEMLAB_LESSON: lesson, MEMLAB_ROOM: String(room) },
});
const models = new Models(kernel);
const cells = [...document.querySelectorAll("section.cell[data-cell]")].map((section, index) =>
  new PageCell(section, index));
const status = document.getElementById("python") ?? make("span", { id: "python", role: "status" });

// -- cells --------------------------------------------------------------------------------------------

function PageCell(section, index) {
  const cell = this;
  Object.assign(this, { section, index, name: section.dataset.cell, ran: false, stopped: false, pending: null });
  const place = section.querySelector(".output") ?? section.appendChild(make("div", { className: "output" }));
  this.outputs = new Outputs(place, models);
  const source = section.querySelector("pre.source");
  this.button = make("button", { type: "button", textContent: words("run"), className: "run" });
  this.button.setAttribute("aria-label", `${words("run")} ${index + 1}`);
  this.button.onclick = () => asked(cell);
  this.editor = new Editor(source, words("code", { cell: index + 1 }), {
    run: (onwards) => { asked(cell); if (onwards) next(cell); },
    leave: () => cell.button.focus(),
  });
  this.stored = this.editor.code;
  reserve(place, this.stored);
  section.querySelector(".editor").append(this.button);
}

function reserve(place, code) {  // the height that its widget will have, so that no text moves later
  const [, wide, narrow] = ROOM.find(([shows]) => shows.test(code)) ?? (place.querySelector("figure") ? VIEW : []);
  if (wide) place.style.minHeight = `${place.offsetHeight + (innerWidth < 600 ? narrow : wide)}px`;
}

function next(cell) { cells[cell.index + 1]?.editor.field.focus(); }

function asked(cell) {  // by the reader
  cell.stopped = false;
  cell.pending = null;
  runTo(cell.index - 1);
  run(cell);
}

function run(cell) {
  cell.ran = true;
  cell.section.classList.add("waits");
  const running = kernel.run(cell.name, cell.editor.code).then((done) => {
    if (cell.pending === running) cell.pending = null;
    cell.section.classList.remove("waits", "runs");
    cell.section.removeAttribute("aria-busy");
    if (!done) { cell.ran = false; return null; }
    cell.outputs.end();
    cell.section.dataset.count = done.count;
    cell.section.dataset.fine = done.fine;
    return done;
  });
  cell.pending = running;
  return running;
}

function runTo(index) {  // what has not run yet, in order; resolves when all of it has ended
  const due = cells.slice(0, index + 1).filter((cell) => !cell.ran && !cell.stopped);
  return Promise.all(due.map(run));
}

const near = new IntersectionObserver((entries) => {
  const seen = entries.filter((entry) => entry.isIntersecting);
  for (const { target } of seen) target.dataset.near = "1";
  if (seen.length && kernel.ready) reach();
}, { rootMargin: "60% 0px" });

function reach() {  // cells near the screen, with all before them
  const last = cells.findLastIndex(({ section }) => section.dataset.near);
  runTo(last);
}

const of = (name) => cells.find((cell) => cell.name === name);
kernel.on("begin", ({ cell }) => {
  const { section, outputs } = of(cell) ?? {};
  outputs?.begin();
  section?.classList.replace("waits", "runs");
  section?.setAttribute("aria-busy", "true");
});
kernel.on("output", (message) => {
  const cell = of(message.cell);
  if (cell) cell.outputs.add(message);
  else console.warn(message.output);
});
kernel.on("clear", ({ cell, wait }) => of(cell)?.outputs.clear(wait));
kernel.on("gone", () => {
  const running = cells.find(({ section }) => section.classList.contains("runs"));
  if (running) running.stopped = true;
  for (const cell of cells) cell.ran = false;
});

// -- how far Python is --------------------------------------------------------------------------------

const bar = make("progress", { max: 1, value: 0, hidden: true });
const said = make("span");
bar.setAttribute("aria-hidden", "true");
status.replaceChildren(said, " ", bar);
let news = "";  // stays in front of what is said until Python is ready again
const stop = tool("stop", () => { news = words("stopped"); kernel.restart(); });
const all = tool("run_all", () => { for (const cell of cells) cell.stopped = false; runTo(cells.length - 1); });
stop.hidden = true;

function tool(key, act) {  // a button at the head of the page
  const place = document.getElementById("tools") ?? document.querySelector("header") ?? document.body;
  const button = make("button", { type: "button", textContent: words(key), onclick: act });
  button.dataset.tool = key;
  place.append(button);
  return button;
}

function say(sentence) {
  setText(said, `${news} ${sentence}`.trim());
}

const MB = 1e6;
let stage = "";
kernel.on("progress", ({ stage: now, loaded, total }) => {
  bar.hidden = false;
  if (now) { say(words(now)); bar.removeAttribute("value"); stage = now; return; }
  bar.value = loaded / total;
  if (stage !== "loads") { say(words("loads", { total: (total / MB).toFixed(0) })); stage = "loads"; }
});
kernel.on("state", (state) => {
  document.body.dataset.python = state;
  stop.hidden = state !== "runs";
  if (state === "loads") say("");
  if (state === "ready") { news = ""; bar.hidden = true; say(words("ready")); reach(); }
  if (state === "failed") fail(kernel.failed);
});
kernel.on("done", () => {
  if (kernel.queue.length) return;
  stop.hidden = !kernel.late;
  document.body.dataset.python = "ready";
});
kernel.on("late", () => { stop.hidden = !kernel.late && !kernel.running; });
kernel.on("died", ({ why }) => {
  news = words("died", { why });
  const output = { output_type: "error", ename: "Python", evalue: news, traceback: [] };
  of(kernel.running?.cell)?.outputs.add({ output });
});

function fail(error) {  // pictures and texts stay
  bar.hidden = true;
  const missing = error.match(/(\S+) is missing/);
  const why = missing ? words("missing", { file: missing[1] })
    : /worker|wasm|webassembly|secur/i.test(error) || !error ? words("blocked")
      : words("unknown", { error });
  say(words("no_start", { why, try: words("try_reload") }));
  status.classList.add("failed");
  all.disabled = true;
  for (const cell of cells) {
    cell.button.disabled = true;
    cell.outputs.place.style.minHeight = "";
  }
}

// -- beginning ----------------------------------------------------------------------------------------

function theme() {  // pictures follow the name that JupyterLab gives to a dark page
  document.body.dataset.jpThemeLight = String(!dark.matches);
}
const dark = matchMedia("(prefers-color-scheme: dark)");
dark.addEventListener("change", theme);
theme();

keep({ kernel, cells });
for (const { section } of cells) near.observe(section);
kernel.start();
links({ kernel, models, cells, runTo, say });
