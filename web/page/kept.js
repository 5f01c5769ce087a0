// What this browser keeps of a learner: the progress that `memlab progress` reads, and edited cells.
//
// Python writes and checks the file of progress. Here it is stored, given to Python before it starts,
// saved as a file, and read from one. Another tab may have stored answers meanwhile: Python merges
// both, and what it has then is stored. Where nothing can be stored, a sentence says so, and the page
// has everything until it is closed.

import { make, setText } from "./elements.js";
import { words } from "./words.js";

const PROGRESS = "memlab.progress.json";
const EDITS = `memlab.edits.${document.body.dataset.lesson}`;
const FILE = "progress.json";
const MOST = 10_000_000;  // bytes of a file that is read; Python says which size it takes
const LATER = 300;  // milliseconds after the last key

let trouble = "";

function stored(key) {
  try { return localStorage.getItem(key); } catch { trouble = "kept_forbidden"; return null; }
}

function store(key, text) {  // whether it is stored
  try {
    if (text === null) localStorage.removeItem(key);
    else localStorage.setItem(key, text);
    trouble = "";
  } catch (error) {
    trouble = error.name === "QuotaExceededError" ? "kept_full" : "kept_forbidden";
  }
  return !trouble;
}

export function keep(page) {
  const report = panel(page);
  progress(page, report);
  edits(page, report);
  report();
}

// -- progress -----------------------------------------------------------------------------------------

function progress({ kernel }, report) {
  let known = stored(PROGRESS);  // the stored text that this page's Python has, or is about to have
  if (known) kernel.files[FILE] = known;

  const alone = (act) => (navigator.locks ? navigator.locks.request(PROGRESS, async () => act()) : act());
  const write = (text) => alone(() => {
    const there = stored(PROGRESS);
    if (there && there !== known && there !== text) { take(there); return; }
    known = text;
    if (there !== text) store(PROGRESS, text);
    report();
  });
  function take(text) {  // from another tab
    known = text;
    if (kernel.ready) kernel.take(text);
    else kernel.files[FILE] = text;
  }

  kernel.on("progress_json", ({ text }) => {
    kernel.files[FILE] = text;  // for a Python that is started again
    write(text);
  });
  kernel.on("state", (state) => {
    const there = stored(PROGRESS);
    if (state === "ready" && there && there !== known) take(there);
  });
  window.addEventListener("storage", ({ key, newValue }) => {
    if (key === PROGRESS && newValue && newValue !== known) take(newValue);
  });
}

function panel({ kernel, cells }) {  // what is kept, as a file and from one; returns what says how it is
  const place = document.getElementById("tools") ?? document.querySelector("header");
  const box = make("details", { className: "kept" });
  const sheet = make("div", { className: "sheet" });
  const status = make("p");
  status.setAttribute("role", "status");
  const save = make("button", { type: "button", textContent: words("kept_save"), onclick: download });
  const file = make("input", { type: "file", accept: ".json,application/json" });
  const open = make("label", { textContent: `${words("kept_open")} ` });
  open.append(file);
  const forget = make("button", { type: "button", textContent: words("kept_forget"), onclick: clear });
  sheet.append(status, save, open, forget);
  box.append(make("summary", { textContent: words("kept") }), sheet);
  if (cells.length > 1) place.append(box);  // where something is asked

  const warning = make("p", { className: "warning", hidden: true });
  warning.setAttribute("role", "status");
  document.querySelector("main").prepend(warning);

  let news = "";
  function report(sentence = news) {
    news = sentence;
    warning.hidden = !trouble;
    setText(warning, trouble ? words(trouble) : "");
    setText(status, news || words(kernel.files[FILE] ? "kept_here" : "kept_nothing"));
    save.disabled = !kernel.files[FILE];
  }

  function download() {
    const href = URL.createObjectURL(new Blob([kernel.files[FILE]], { type: "application/json" }));
    make("a", { href, download: FILE }).click();
    setTimeout(() => URL.revokeObjectURL(href), 60_000);
  }

  file.onchange = async () => {
    const [given] = file.files;
    file.value = "";
    if (!given) return;
    if (kernel.ready) kernel.take(await given.slice(0, MOST).text(), given.name);
    else report(words("kept_wait"));
  };
  kernel.on("progress_json", ({ taken }) => report(taken ? words("kept_read", { file: taken }) : ""));
  kernel.on("refused", ({ why }) => report(why));

  function clear() {
    if (!confirm(words("kept_sure"))) return;
    for (const key of Object.keys(localStorage)) if (key.startsWith("memlab.")) store(key, null);
    location.reload();
  }
  box.addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || !box.open) return;
    box.open = false;
    box.firstChild.focus();
  });
  return report;
}

// -- edited cells -------------------------------------------------------------------------------------

function edits({ cells }, report) {
  const read = () => {
    try { return Object(JSON.parse(stored(EDITS) ?? "{}")); } catch { return {}; }
  };
  const due = new Set();
  let later = 0;

  function save() {
    clearTimeout(later);
    if (!due.size) return;
    const all = read();  // another tab may have stored other cells
    for (const cell of due) {
      if (cell.editor.code === cell.stored) delete all[cell.name];
      else all[cell.name] = cell.editor.code;
    }
    due.clear();
    store(EDITS, Object.keys(all).length ? JSON.stringify(all) : null);
    report();
  }

  const before = read();
  for (const cell of cells) {
    const line = make("p", { className: "edited", textContent: `${words("edited")} `, hidden: true });
    const reset = make("button", { type: "button", textContent: words("reset") });
    const show = () => { line.hidden = cell.editor.code === cell.stored; };
    const changed = () => {
      show();
      due.add(cell);
      clearTimeout(later);
      later = setTimeout(save, LATER);
    };
    reset.onclick = () => {
      cell.editor.code = cell.stored;
      cell.editor.field.focus();
      changed();
    };
    line.append(reset);
    cell.section.querySelector(".editor").after(line);
    cell.editor.changed = changed;
    if (typeof before[cell.name] === "string") cell.editor.code = before[cell.name];
    show();
  }
  window.addEventListener("pagehide", save);
}
