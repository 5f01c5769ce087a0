// Lets Pyodide fetch packages that its lock file names from its own distribution, into its folder.
// Under node it does so where a wheel is not beside it; the hashes are checked afterwards.
//
// node fetch.mjs FOLDER PACKAGE...

import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

const [folder, ...names] = process.argv.slice(2);
const { loadPyodide } = await import(pathToFileURL(join(folder, "pyodide.mjs")).href);
const pyodide = await loadPyodide({ indexURL: folder });
const errors = [];
await pyodide.loadPackage(names, {
  messageCallback() {},
  errorCallback: (line) => errors.push(line),
});
const { packages } = JSON.parse(readFileSync(join(folder, "pyodide-lock.json"), "utf8"));
const missing = names.filter((name) => !existsSync(join(folder, packages[name].file_name)));
if (missing.length) {
  process.stderr.write(`${missing.join(", ")}: ${errors.at(-1) ?? "no reason was given"}\n`);
  process.exit(1);
}
process.exit(0);
