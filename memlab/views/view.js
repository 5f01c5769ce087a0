// One widget for every view: Python computes, this displays. It knows no view and no sentence.

let views = 0;

function render({ model, el }) {
  const id = `ml${++views}`;
  const gone = new AbortController();
  const fields = new Map(), dragged = new Set();
  const root = make("div", { className: "memlab-view" });
  const row = make("div", { className: "ml-row" });
  const buttons = make("div", { className: "ml-buttons" });
  const more = make("details");
  const summary = make("summary");
  const hidden = make("div", { className: "ml-row ml-more", hidden: true });
  const status = make("p", { className: "ml-says", id: `${id}-says` });
  const spoken = make("div", { className: "ml-quiet" });
  const picture = make("div", { className: "ml-picture", tabIndex: 0 });
  const text = make("pre", { className: "ml-text", tabIndex: 0, hidden: true });
  const toggle = make("button", { type: "button" });
  for (const region of [status, spoken]) region.setAttribute("role", "status");
  picture.setAttribute("role", "application");
  toggle.setAttribute("aria-pressed", "false");
  more.append(summary);
  const help = make("p", { className: "ml-help", id: `${id}-help` });
  picture.setAttribute("aria-describedby", help.id);
  root.append(row, hidden, status, spoken, picture, help, text);
  el.append(root);

  // -- sending: one list of events on its way, and only the newest value of each control ------

  let queue = [], waiting = 0, number = 0;
  function send(name, value, dragging = false) {
    const last = queue.at(-1);
    const event = { name, value, dragging };
    if (last && last.name === name && name !== "key") queue[queue.length - 1] = event;
    else queue.push(event);
    flush();
  }
  function flush() {
    if (waiting || !queue.length) return;
    waiting = ++number;
    model.send({ number, events: queue });
    queue = [];
  }

  // -- controls ---------------------------------------------------------------------------------

  function build(controls) {
    const active = root.getRootNode().activeElement;
    const focused = [...fields].find(([, node]) => node === active)?.[0];
    row.replaceChildren();
    hidden.replaceChildren();
    buttons.replaceChildren();
    fields.clear();
    let place = null;
    for (const control of controls) {
      if (control.kind === "button") { buttons.append(button(control)); continue; }
      const input = field(control);
      fields.set(control.name, input);
      if (control.beside && place) { place.append(input); continue; }
      place = make("div", { className: "ml-pair" });
      place.append(input);
      const label = make("label", { htmlFor: input.id, textContent: control.label });
      const box = make("div", { className: "ml-field" });
      if (control.kind === "checkbox") box.classList.add("ml-check");
      box.append(label, place);
      (control.place === "more" ? hidden : row).append(box);
    }
    if (hidden.children.length) row.append(more);
    buttons.append(toggle);
    row.append(buttons);
    fields.get(focused)?.focus();
  }

  function button(control) {
    const node = make("button", { type: "button", textContent: control.label });
    node.onclick = () => (control.name === "copy" ? copy() : send(control.name, null));
    fields.set(control.name, node);
    return node;
  }

  function field(control) {
    const tag = control.kind === "select" ? "select" : "input";
    const node = make(tag, { id: `${id}-${control.name}` });
    if (tag === "input") node.type = control.kind;
    if (control.least !== null) node.min = control.least;
    if (control.most !== null) node.max = control.most;
    if (control.beside) node.setAttribute("aria-label", control.label);
    node.addEventListener("keydown", (event) => event.stopPropagation());
    if (control.kind === "range") slider(node, control.name);
    else node.addEventListener("change", () => send(control.name, read(node)));
    if (control.kind === "number") node.setAttribute("aria-describedby", status.id);
    return node;
  }

  function slider(node, name) {
    let moved = false;
    dragged.delete(node);
    node.addEventListener("pointerdown", () => { dragged.add(node); moved = false; });
    node.addEventListener("input", () => {
      moved = true;
      send(name, Number(node.value), dragged.has(node));
    });
    const release = () => {
      if (dragged.delete(node) && moved) setTimeout(() => send(name, Number(node.value)));
    };
    for (const kind of ["pointerup", "pointercancel"]) {
      window.addEventListener(kind, release, { signal: gone.signal });
    }
    node.addEventListener("blur", release);
    node.addEventListener("keydown", (event) => {
      const between = Number(node.dataset.between);  // the value lies between two stops
      const way = { ArrowRight: Math.ceil, ArrowUp: Math.ceil, ArrowLeft: Math.floor,
        ArrowDown: Math.floor }[event.code];
      if (!way || !(between % 1)) return;
      event.preventDefault();
      node.value = way(between);
      send(name, Number(node.value));
    });
  }

  function read(node) {
    if (node.type === "checkbox") return node.checked;
    return node.value === "" && node.validity.badInput ? null : node.value;
  }

  function update(control) {
    const node = fields.get(control.name);
    if (!node || control.kind === "button") return;
    if (control.kind === "select") options(node, control);
    if (control.kind === "checkbox") { node.checked = control.value; return; }
    if (control.kind === "range") {
      node.dataset.between = control.value;
      node.setAttribute("aria-valuetext", control.spoken);
      if (dragged.has(node)) return;
    }
    const value = String(control.kind === "range" ? Math.round(control.value) : control.value);
    if (node.value !== value) node.value = value;
  }

  function options(node, control) {
    const wanted = JSON.stringify(control.options);
    if (node.dataset.options === wanted) return;
    node.dataset.options = wanted;
    node.replaceChildren(...control.options.map(([value, textContent]) =>
      make("option", { value, textContent })));
  }

  // -- the picture ------------------------------------------------------------------------------

  picture.addEventListener("keydown", (event) => {
    if (!keys.has(event.code) || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    event.stopPropagation();
    send("key", event.code);
  });
  let held = null;
  picture.addEventListener("pointerdown", (event) => {
    const target = event.target.closest("[data-send]");
    if (!target) return;
    if (!target.dataset.steps) { send(target.dataset.send, target.dataset.value); return; }
    held = target.getBoundingClientRect();
    held.name = target.dataset.send;
    held.steps = Number(target.dataset.steps);
    point(event);
  });
  picture.addEventListener("pointermove", (event) => { if (held) point(event); });
  for (const kind of ["pointerup", "pointercancel"]) {
    window.addEventListener(kind, () => { held = null; }, { signal: gone.signal });
  }
  function point(event) {
    const step = Math.floor((event.clientX - held.left) / held.width * held.steps);
    send(held.name, Math.min(Math.max(step, 0), held.steps - 1));
  }

  toggle.onclick = () => {
    text.hidden = !text.hidden;
    toggle.setAttribute("aria-pressed", String(!text.hidden));
  };
  more.addEventListener("toggle", () => { hidden.hidden = !more.open; });

  async function copy() {
    const { layout, shown: { code } } = model.get("now_");
    try {
      await navigator.clipboard.writeText(code);
      say(layout.copied.replace("{code}", code));
    } catch {
      say(layout.copy_by_hand.replace("{code}", code));
    }
  }
  function say(sentence, error = false) {
    status.textContent = sentence;
    status.classList.toggle("ml-error", error);
  }

  // -- following Python -------------------------------------------------------------------------

  let names = "", keys = new Set();
  function follow() {
    const { layout, shown, answer } = model.get("now_");
    keys = new Set(layout.keys);
    const kinds = ({ kind, name, label }) => `${kind} ${name} ${label}`;
    if (names !== layout.controls.map(kinds).join()) {
      names = layout.controls.map(kinds).join();
      build(layout.controls);
    }
    layout.controls.forEach(update);
    summary.textContent = layout.more;
    toggle.textContent = layout.text;
    help.textContent = layout.help;
    picture.setAttribute("aria-label", layout.name);
    text.setAttribute("aria-label", layout.name);
    picture.innerHTML = shown.svg;
    const svg = picture.firstElementChild;
    svg.setAttribute("aria-hidden", "true");
    picture.style.setProperty("--ml-wide", svg.viewBox.baseVal.width);
    text.textContent = shown.text;
    if (spoken.textContent !== shown.says) spoken.textContent = shown.says;
    say(shown.error, Boolean(shown.error));
    root.dataset.shown = shown.shown;
    root.dataset.state = shown.state;
    if (answer >= waiting) waiting = 0;
    flush();
  }
  model.on("change:now_", follow);
  follow();

  let measured = 0;
  const watch = new ResizeObserver(() => {
    const scale = parseFloat(getComputedStyle(root).getPropertyValue("--memlab-scale")) || 1;
    const wide = Math.floor(picture.clientWidth / scale);
    if (!wide || wide === measured) return;
    measured = wide;
    send("width", wide);
  });
  watch.observe(picture);

  return () => {
    watch.disconnect();
    gone.abort();
    model.off("change:now_", follow);
  };
}

function make(tag, properties = {}) {
  return Object.assign(document.createElement(tag), properties);
}

export default { render };
