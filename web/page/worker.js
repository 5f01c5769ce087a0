// The worker of a page: Python, with memlab, behind messages.
//
// Page to worker, one object each:
//   {kind: "start", live, files, environment}   at first: the address of the folder `live/`, texts of
//                    files by their paths, which are there before Python starts, and variables
//   {kind: "run", cell, code}                    runs a cell; the next one is sent after "done"
//   {kind: "widget", model, message}             message: {method: "update", state} or
//                                                         {method: "custom", content}
// Worker to page, an object or, from Python (web/runtime/outbox.py), its JSON text:
//   {kind: "progress", loaded, total}            bytes; then {kind: "progress", stage: "starts"}
//   {kind: "ready"}                              cells can run
//   {kind: "failed", why}                        Python cannot start
//   {kind: "output", cell, output, display_id, update}   an output as a notebook file has it; `cell`
//                    is empty where a widget's message made it
//   {kind: "clear", cell, wait}                  the outputs so far go, or go when the next one comes
//   {kind: "done", cell, count, fine, seconds}   the cell has ended
//   {kind: "open", model, shape, state}          a widget: "any" is drawn by a module, "box", "row",
//                    "html", "label", "outputs" and "control" by the page
//   {kind: "update", model, state}, {kind: "custom", model, content}, {kind: "close", model}
//   {kind: "progress_json", text}                the learner's progress has changed

const PLACE = "/home/memlab";
const NAMES = { package: "memlab.zip", kernels: "kernels.wasm", sizes: "sizes.json" };
let receive = null, run = null;

self.onmessage = ({ data }) => {
  if (data.kind === "start") start(data).catch((error) => tell({ kind: "failed", why: String(error) }));
  if (data.kind === "run") run(data.cell, data.code);
  if (data.kind === "widget") receive(data.model, JSON.stringify(data.message));
};

function tell(message) { self.postMessage(message); }

async function start({ live, files, environment }) {
  const loading = follow(live);
  const [{ loadPyodide }, archive, kernels] = await Promise.all([
    import(`${live}pyodide.mjs`), loading.bytes(NAMES.package), loading.bytes(NAMES.kernels, true),
  ]);
  const pyodide = await loadPyodide({
    indexURL: live, packages: ["numpy"], stdout() {}, stderr: (line) => console.warn(line),
    env: { HOME: PLACE, MEMLAB_PROGRESS: `${PLACE}/progress.json`, ...environment },
  });
  loading.end();
  pyodide.FS.mkdirTree(PLACE);
  pyodide.unpackArchive(archive, "zip", { extractDir: `${PLACE}/lib` });
  if (kernels) pyodide.FS.writeFile(`${PLACE}/lib/${NAMES.kernels}`, new Uint8Array(kernels));
  for (const [path, text] of Object.entries(files)) pyodide.FS.writeFile(path, text);
  pyodide.globals.set("_deliver", (text) => self.postMessage(text));
  pyodide.runPython(`
import sys
sys.path[:0] = ["${PLACE}/lib", "${PLACE}/lib/web/runtime"]
from web.runtime.worker import begin
_run, _receive = begin(_deliver)
del _deliver`);
  [run, receive] = [pyodide.globals.get("_run"), pyodide.globals.get("_receive")];
  tell({ kind: "ready" });
}

function follow(live) {  // how many bytes have come, of how many
  const done = new Map();
  let sizes = {}, ended = false;
  const sum = (values) => [...values].reduce((all, size) => all + size, 0);
  const say = () => {
    const total = sum(Object.values(sizes));
    if (total && !ended) tell({ kind: "progress", loaded: Math.min(sum(done.values()), total), total });
  };
  fetch(`${live}${NAMES.sizes}`).then((answer) => answer.json()).then((known) => { sizes = known; });
  const came = (entries) => {
    for (const { name } of entries.getEntries()) {
      const file = name.split("/").at(-1);
      if (sizes[file]) done.set(file, sizes[file]);
    }
    say();
  };
  new PerformanceObserver(came).observe({ type: "resource", buffered: true });
  async function bytes(file, may_lack = false) {
    const answer = await fetch(`${live}${file}`);
    if (!answer.ok && may_lack) return null;
    if (!answer.ok) throw new Error(`${file} is missing`);
    return answer.arrayBuffer();
  }
  return { bytes, end() { ended = true; tell({ kind: "progress", stage: "starts" }); } };
}
