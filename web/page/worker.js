// The worker of a page: Python, with memlab, behind messages.
//
// Page to worker, one object each:
//   {kind: "start", live, files, environment}   at first: the address of the folder `live/`, texts of
//                    files by their names, which are there before Python starts, and variables
//   {kind: "run", cell, code}                    runs a cell; the next one is sent after "done"
//   {kind: "widget", model, message}             message: {method: "update", state} or
//                                                         {method: "custom", content}
//   {kind: "progress", text, name}               another progress file, to be merged with the own one;
//                    the answer is "progress_json" with `taken`, the name, or "refused"
// Worker to page, an object or, from Python (web/runtime/outbox.py), its JSON text:
//   {kind: "progress", loaded, total}            bytes; then {kind: "progress", stage: "starts"}
//   {kind: "ready"}                              cells can run
//   {kind: "failed", why}                        Python cannot start
//   {kind: "output", cell, output, display_id, update}   an output as a notebook file has it; `cell`
//                    is empty where a widget's message made it
//   {kind: "clear", cell, wait}                  the outputs so far go, or go when the next one comes
//   {kind: "done", cell, count, fine, seconds}   the cell has ended
//   {kind: "answered"}                           a widget's message was handled
//   {kind: "died", why}                          Python has ended, as where memory ran out
//   {kind: "open", model, shape, state}          a widget: "any" is drawn by a module, "box", "row",
//                    "html", "label", "outputs" and "control" by the page
//   {kind: "update", model, state}, {kind: "custom", model, content}, {kind: "close", model}
//   {kind: "progress_json", text, taken}         the learner's progress has changed
//   {kind: "refused", why}                       a progress file was refused: one sentence

const PLACE = "/home/memlab";
const PACKAGES = ["numpy"];
const ARCHIVE = "memlab.packed", KERNELS = ["kernels.wasm", "kernels.json"], SIZES = "sizes.json";
const EMPTY = new Uint8Array([0, 97, 115, 109, 1, 0, 0, 0]);  // a module of WebAssembly
let receive = null, run = null, take = null;

self.onmessage = ({ data }) => {
  if (data.kind === "start") start(data).catch(fail);
  else ask(data);
};

function ask(data) {  // Python tells its own errors; one that comes here is the end of it
  try {
    if (data.kind === "run") run(data.cell, data.code);
    if (data.kind === "progress") take(data.text, data.name);
    if (data.kind === "widget") {
      receive(data.model, JSON.stringify(data.message));
      tell({ kind: "answered" });
    }
  } catch (error) {
    tell({ kind: "died", why: String(error?.message ?? error).split("\n")[0] });
  }
}

function tell(message) { self.postMessage(message); }

function fail(error) { tell({ kind: "failed", why: String(error?.message ?? error) }); }

async function start({ live, files, environment }) {
  await WebAssembly.compile(EMPTY);  // where that is forbidden, Pyodide would wait for ever
  const { sent, bytes, end } = await load(live);
  const archive = unpacked(sent.get(ARCHIVE));
  archive.catch(fail);
  const { loadPyodide } = await import(`${live}pyodide.mjs`);
  const pyodide = await loadPyodide({
    indexURL: live, stdout() {}, stderr: (line) => console.warn(line),
    env: { HOME: PLACE, MEMLAB_PROGRESS: `${PLACE}/progress.json`, ...environment },
  });
  await pyodide.loadPackage(PACKAGES, { messageCallback() {} });
  end();
  pyodide.FS.mkdirTree(PLACE);
  pyodide.unpackArchive(await archive, "zip", { extractDir: `${PLACE}/lib` });
  for (const name of KERNELS.filter((file) => sent.has(file))) {
    pyodide.FS.writeFile(`${PLACE}/lib/${name}`, new Uint8Array(await bytes(name)));
  }
  for (const [name, text] of Object.entries(files)) pyodide.FS.writeFile(`${PLACE}/${name}`, text);
  pyodide.globals.set("_deliver", (text) => self.postMessage(text));
  pyodide.runPython(`
import sys
sys.path[:0] = ["${PLACE}/lib", "${PLACE}/lib/web/runtime"]
from web.runtime.worker import begin
_run, _receive, _take = begin(_deliver)
del _deliver`);
  [run, receive, take] = ["_run", "_receive", "_take"].map((name) => pyodide.globals.get(name));
  tell({ kind: "ready" });
}

async function load(live) {  // asks for all files at once, where Pyodide would ask one after the other
  const sizes = await (await fetched(`${live}${SIZES}`)).json();
  const sent = new Map(Object.keys(sizes).filter((name) => !/js$|lock/.test(name)).map((name) =>
    [name, fetched(`${live}${name}`)]));
  for (const answer of sent.values()) answer.catch(fail);
  const plain = self.fetch;
  self.fetch = (address, options) => {  // Pyodide gets what is on its way
    const name = String(address.url ?? address).split("/").at(-1);
    const answer = sent.get(name);
    sent.delete(name);
    return answer ?? plain(address, options);
  };
  const end = follow(sizes);
  return { sent, end, bytes: async (name) => (await sent.get(name)).arrayBuffer() };
}

async function unpacked(answer) {  // a zip archive whose members are stored, compressed as a whole
  return new Response((await answer).body.pipeThrough(new DecompressionStream("gzip"))).arrayBuffer();
}

async function fetched(address) {
  const answer = await fetch(address);
  if (!answer.ok) throw new Error(`${address.split("/").at(-1)} is missing`);
  return answer;
}

function follow(sizes) {  // how many bytes have come, of how many; returns what ends it
  const total = Object.values(sizes).reduce((all, size) => all + size, 0);
  const names = new Set();
  const watch = new PerformanceObserver((entries) => {
    for (const { name } of entries.getEntries()) names.add(name.split("/").at(-1));
    const loaded = [...names].reduce((all, name) => all + (sizes[name] ?? 0), 0);
    tell({ kind: "progress", loaded, total });
  });
  watch.observe({ type: "resource", buffered: true });
  return () => { watch.disconnect(); tell({ kind: "progress", stage: "starts" }); };
}
