// Runs a Python file in Pyodide under node, with folders of this machine mounted.
//
// node node.mjs '{"pyodide": FOLDER, "mounts": {"/memlab": FOLDER}, "path": ["/memlab"],
//                 "packages": ["numpy"], "environment": {}, "arguments": []}' FILE.py

import { readFileSync, writeSync } from "node:fs";

// process.stdout writes to a pipe later than process.exit ends
const write = (file) => (line) => {
  let left = Buffer.from(`${line}\n`);
  while (left.length) left = left.subarray(writeSync(file, left));
};
const [order, file] = process.argv.slice(2);
const { pyodide: folder, mounts, path, packages, environment, arguments: given } = JSON.parse(order);
const { loadPyodide } = await import(`${folder}/pyodide.mjs`);
const pyodide = await loadPyodide({
  indexURL: folder,
  env: { HOME: "/home/pyodide", PYTHONDONTWRITEBYTECODE: "1", ...environment },
  stdout: write(1),
  stderr: write(2),
});
await pyodide.loadPackage(packages, { messageCallback: () => {} });
for (const [place, root] of Object.entries(mounts)) {
  pyodide.FS.mkdirTree(place);
  pyodide.FS.mount(pyodide.FS.filesystems.NODEFS, { root }, place);
}
pyodide.globals.set("_given", pyodide.toPy([file, ...given]));
pyodide.globals.set("_path", pyodide.toPy(path));
pyodide.runPython("import sys; sys.path[:0] = list(_path); sys.argv = list(_given); del _given, _path");
try {
  await pyodide.runPythonAsync(readFileSync(file, "utf8"), { filename: file });
} catch (error) {
  write(2)(error.message);
  process.exit(1);
}
process.exit(0);
