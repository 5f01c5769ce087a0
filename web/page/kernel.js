// Python of a page, from its side: one worker, one cell at a time. `worker.js` lists the messages.

const PATIENCE = 1000;  // milliseconds after which an answer to a widget is late

export class Kernel {
  constructor({ root, environment = {} }) {
    this.root = root;
    this.environment = environment;
    this.files = {};  // texts by their names, which are there before Python starts
    this.worker = null;
    this.ready = false;
    this.failed = "";
    this.running = null;
    this.queue = [];
    this.asked = 0;  // messages of widgets that are not answered yet
    this.late = false;
    this.clock = 0;
    this.listeners = new Map();
  }

  on(kind, listener) {  // kind: of a message, or "state", "late" or "gone"
    this.listeners.set(kind, [...(this.listeners.get(kind) ?? []), listener]);
  }

  tell(kind, message) {
    for (const listener of this.listeners.get(kind) ?? []) listener(message);
  }

  start() {
    const live = new URL(`${this.root}live/`, document.baseURI).href;
    try {
      this.worker = new Worker(new URL("worker.js", import.meta.url), { type: "module" });
    } catch (error) {
      this.fail(error);
      return;
    }
    this.worker.onmessage = ({ data }) => this.receive(typeof data === "string" ? JSON.parse(data) : data);
    this.worker.onerror = (event) => { event.preventDefault?.(); this.fail(event.message ?? ""); };
    this.worker.postMessage({ kind: "start", live, files: this.files, environment: this.environment });
    this.tell("state", "loads");
  }

  receive(message) {
    const { kind } = message;
    if (kind === "ready") { this.ready = true; this.tell("state", "ready"); this.next(); }
    if (kind === "failed") this.fail(message.why);
    if (kind === "answered") this.wait(this.asked - 1);
    this.tell(kind, message);
    if (kind === "died") this.restart();
    if (kind === "done") {
      const { resolve } = this.running;
      this.running = null;
      resolve(message);
      this.next();
    }
  }

  fail(why) {
    if (this.ready) { console.error(why); return; }
    this.failed = String(why?.message ?? why);
    this.stopWorker();
    this.tell("state", "failed");
  }

  run(cell, code) {  // a promise of the message that it has ended; null where it was stopped
    return new Promise((resolve) => {
      this.queue.push({ cell, code, resolve });
      this.next();
    });
  }

  next() {
    if (!this.ready || this.running || !this.queue.length) return;
    this.running = this.queue.shift();
    const { cell, code } = this.running;
    this.tell("state", "runs");
    this.tell("begin", { cell });
    this.worker.postMessage({ kind: "run", cell, code });
  }

  send(model, message) {  // what a widget sends goes before the next cell
    if (!this.ready) throw new Error("Python is not there");
    this.wait(this.asked + 1);
    this.worker.postMessage({ kind: "widget", model, message });
  }

  wait(asked) {  // tells when an answer is late, and when it has come
    this.asked = asked;
    clearTimeout(this.clock);
    const tell = (late) => { this.late = late; this.tell("late"); };
    if (asked) this.clock = setTimeout(tell, PATIENCE, true);
    else if (this.late) tell(false);
  }

  take(text, name = "") {  // another file of progress, which Python merges with its own
    this.worker.postMessage({ kind: "progress", text, name });
  }

  restart() {  // ends the worker; another one starts
    const waiting = [this.running, ...this.queue].filter(Boolean);
    this.stopWorker();
    this.queue = [];
    this.running = null;
    this.wait(0);
    this.tell("gone");
    for (const { resolve } of waiting) resolve(null);
    this.start();
  }

  stopWorker() {
    this.worker?.terminate();
    this.worker = null;
    this.ready = false;
  }
}
