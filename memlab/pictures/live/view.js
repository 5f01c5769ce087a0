// One widget for every view: Python computes, this displays. It knows no view and no sentence.

function render({ model, el }) {
  window.memlabViews = (window.memlabViews ?? 0) + 1;  // each view may be a module of its own
  const id = `ml${window.memlabViews}`;
  const view = Math.random().toString(36).slice(2);  // the model may be shown elsewhere too
  const removed = new AbortController();
  const fields = new Map(), dragged = new Set();
  const root = make("div");
  const heading = make("p", { className: "ml-heading", id: `${id}-heading`, tabIndex: -1 });
  const row = make("div", { className: "ml-row" });
  const buttons = make("div", { className: "ml-buttons" });
  const more = make("details");
  const summary = make("summary");
  const hidden = make("div", { className: "ml-row ml-more", hidden: true });
  const status = make("p", { className: "ml-says", id: `${id}-says` });
  const spoken = make("div", { className: "ml-quiet" });
  const heard = make("div", { className: "ml-quiet" });
  const picture = make("div", { className: "ml-picture" });
  const lines = make("div", { className: "ml-lines" });
  const reply = make("div", { className: "ml-reply" });  // what is said of a guess, and buttons
  const verdict = make("div", { className: "ml-verdict" });
  const below = make("div", { className: "ml-buttons ml-below" });
  const after = make("div", { className: "ml-after" });
  const text = make("pre", { className: "ml-text", tabIndex: 0, hidden: true });
  const toggle = make("button", { type: "button" });
  const tip = make("div", { className: "ml-tip", hidden: true });
  const ring = make("div", { className: "ml-ring", hidden: true });
  for (const node of [tip, ring]) node.setAttribute("aria-hidden", "true");
  for (const region of [status, spoken, heard, lines]) region.setAttribute("role", "status");
  lines.setAttribute("aria-atomic", "false");
  text.setAttribute("role", "group");
  toggle.setAttribute("aria-pressed", "false");
  more.append(summary);
  const help = make("p", { className: "ml-help", id: `${id}-help` });
  reply.append(verdict, below);
  root.append(heading, row, hidden, reply, status, spoken, heard, picture, help, lines, after, text);
  root.append(ring, tip);
  el.append(root);
  el.classList.add("memlab-beside");

  // -- sending: one list of events on its way, and only the newest value of each control ------

  let queue = [], sent = [], waiting = 0, number = 0, slow = 0, gone = false, linking = false;
  function send(name, value, dragging = false) {
    const last = queue.at(-1);
    const event = { name, value, dragging };
    if (last && last.name === name && name !== "key") queue[queue.length - 1] = event;
    else queue.push(event);
    flush();
  }
  function flush() {
    if (waiting || !queue.length) return;
    const chosen = queue.some(({ name }) => name !== "width");
    sent = queue;
    queue = [];
    if (deliver()) {
      waiting = number;
      if (chosen) slow ||= setTimeout(work, 400);
    } else if (chosen) lost();
  }
  function deliver() {  // whether somebody is there to answer
    try {
      if (!gone) model.send({ view, number: ++number, events: sent });
      return !gone;
    } catch { return false; }
  }
  function connected() {  // `this` is Jupyter's own view of the model
    gone = this?.model?.comm_live === false;
    if (gone) lost();
  }
  function lost() {  // the kernel was restarted: nobody answers what was sent
    const { layout } = model.get("now_");
    waiting = 0;
    queue = [];
    idle();
    controls().filter(({ kind }) => kind === "button").forEach(update);
    say(layout.gone, true);
  }
  function work() {  // the answer takes long enough for the picture to look dead
    root.setAttribute("aria-busy", "true");
    if (!root.querySelector("[aria-disabled='true']")) say(model.get("now_").layout.working);
  }
  function idle() {
    clearTimeout(slow);
    slow = 0;
    root.removeAttribute("aria-busy");
  }
  function newer({ name }) {  // Python has yet to answer what was chosen last
    const events = waiting ? [...sent, ...queue] : queue;
    return events.some((event) => event.name === name);
  }

  root.addEventListener("keydown", (event) => {  // before anything else: what the pointer shows
    if (event.key === "Escape" && pointer && told) { leave(); event.stopPropagation(); }
  }, { capture: true });
  root.addEventListener("keydown", (event) => {  // what JupyterLab's command mode would take
    const run = event.key === "Enter" && event.shiftKey;
    const combined = event.ctrlKey || event.metaKey || event.altKey;
    if (event.key === "Escape") root.parentElement.closest("[tabindex]")?.focus();
    if (run || combined || event.key === "Escape" || event.key === "Tab") return;
    event.stopPropagation();
  });

  // -- controls ---------------------------------------------------------------------------------

  function controls() {
    return model.get("now_").layout.controls.map((name) => model.get(`_control_${name}`));
  }

  function build({ next, text }) {
    const active = root.getRootNode().activeElement;
    const focused = [...fields].find(([, node]) => node.contains(active))?.[0];
    for (const place of [row, hidden, buttons, below]) place.replaceChildren();
    fields.clear();
    let place = null;
    for (const control of controls()) {
      if (control.kind === "button") {
        const among = { below, more: hidden }[control.place] ?? buttons;
        among.append(button(control));
        if (control.name === "copy" && model.linkTo) among.append(linker());
        continue;
      }
      if (control.kind === "radio") { row.append(choice(control)); continue; }
      const input = field(control);
      fields.set(control.name, input);
      if (control.beside && place) { place.append(input); continue; }
      place = make("div", { className: "ml-pair" });
      const [low, high] = control.ends.map(end);
      place.append(...[low, input, high].filter(Boolean));
      const label = make("label", { htmlFor: input.id, textContent: control.label });
      const box = make("div", { className: "ml-field" });
      if (control.kind === "checkbox") box.classList.add("ml-check");
      if (control.wide) box.classList.add("ml-wide");
      box.append(label, place);
      (control.place === "more" ? hidden : row).append(box);
    }
    if (hidden.children.length) row.append(more);
    if (text) buttons.append(toggle);
    if (buttons.children.length) row.append(buttons);
    if (focused) focus(fields.get(focused) ?? fields.get(next) ?? (keys.size ? picture : heading));
  }

  function focus(node) {
    (node?.querySelector("input:checked") ?? node?.querySelector("input") ?? node)?.focus();
  }

  function end(textContent) {
    const node = make("span", { className: "ml-end", textContent });
    node.setAttribute("aria-hidden", "true");
    return node;
  }

  function button(control) {
    const node = make("button", { type: "button", textContent: control.label });
    node.onclick = () => {
      if (control.name === "copy") { copy(); return; }
      if (node.ariaDisabled === "true") return;
      if (control.busy) busy(node, control);
      send(control.name, null);
    };
    fields.set(control.name, node);
    return node;
  }

  function linker() {  // where the page says how a link to this view begins
    const textContent = model.get("now_").layout.copy_link;
    const node = make("button", { type: "button", textContent });
    node.onclick = () => {
      linking = true;
      send("copy_link", null);
    };
    fields.set("copy_link", node);
    return node;
  }

  function busy(node, control) {  // not `disabled`: that would lose the focus
    node.ariaDisabled = "true";
    node.textContent = control.busy;
    if (control.busy !== control.label) spoken.textContent = control.busy;
    if (control.seconds) node.append(" ", bar(control.seconds));
  }

  function bar(seconds) {  // as far as the time goes that the answer usually takes
    const node = make("progress", { max: seconds, value: 0 });
    const began = Date.now();
    const tick = setInterval(() => {
      node.value = (Date.now() - began) / 1000;
      if (!node.isConnected) clearInterval(tick);
    }, 250);
    return node;
  }

  function choice(control) {
    const set = make("fieldset", { className: "ml-choice" });
    set.append(make("legend", { textContent: control.label }));
    for (const [value, words] of control.options) {
      const input = make("input", { type: "radio", name: `${id}-${control.name}`, value });
      input.addEventListener("change", () => send(control.name, value));
      const label = make("label");
      label.append(input, make("span", { textContent: words }));
      set.append(label);
    }
    fields.set(control.name, set);
    return set;
  }

  function field(control) {
    const tag = { select: "select", area: "textarea" }[control.kind] ?? "input";
    const node = make(tag, { id: `${id}-${control.name}` });
    if (tag === "textarea") area(node);
    if (tag === "input") node.type = control.kind;
    if (control.least !== null) node.min = control.least;
    if (control.most !== null) node.max = control.most;
    if (control.beside) node.setAttribute("aria-label", control.label);
    if (control.placeholder) node.placeholder = control.placeholder;
    if (control.kind === "range") slider(node, control.name);
    else node.addEventListener("change", () => send(control.name, read(node)));
    if (["number", "text", "area"].includes(control.kind)) node.setAttribute("aria-describedby", status.id);
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
      const chosen = moved || node.dataset.unset === "true";  // a click where it stands
      if (dragged.delete(node) && chosen) setTimeout(() => send(name, Number(node.value)));
    };
    for (const kind of ["pointerup", "pointercancel"]) {
      window.addEventListener(kind, release, { signal: removed.signal });
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
    if (!node) return;
    if (control.kind === "button") { ready(node, control); return; }
    if (control.kind === "select") options(node, control);
    if (control.kind === "range") {
      node.dataset.between = control.value;
      node.dataset.unset = control.unset;
      node.setAttribute("aria-valuetext", control.spoken);
    }
    if (dragged.has(node) || newer(control)) return;
    if (control.kind === "radio") {
      for (const input of node.elements) input.checked = input.value === control.value;
      return;
    }
    if (control.kind === "checkbox") { node.checked = control.value; return; }
    const value = String(control.kind === "range" ? Math.round(control.value) : control.value);
    const typed = ["text", "area"].includes(control.kind);
    if (typed && node.dataset.told === value) return;  // it is being typed in
    node.dataset.told = value;
    if (node.value !== value) node.value = value;
    node.grow?.();
  }

  function area(node) {  // as high as its text; Ctrl+Enter shows what it says
    node.spellcheck = false;
    node.setAttribute("translate", "no");
    node.grow = () => { node.rows = node.value.split("\n").length; };
    node.addEventListener("input", node.grow);
    node.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey)) return;
      event.preventDefault();
      node.dispatchEvent(new Event("change"));
    });
  }

  function ready(node, control) {
    if (waiting || queue.length) return;
    node.ariaDisabled = null;
    if (node.textContent !== control.label) node.textContent = control.label;
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
    const key = event.code === "KeyT" && toggle.isConnected ? () => toggle.click() : null;
    const own = keys.has(event.code) ? () => send("key", event.code) : key ?? (walks && walk(event.code));
    if (!own || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    event.stopPropagation();
    own();
  });
  function under(place, css) {  // the first of what lies there one above the other
    const found = root.getRootNode().elementsFromPoint(...place).filter((node) => picture.contains(node));
    return found.map((node) => node.closest(css)).find(Boolean);
  }
  let held = null;  // what the pointer has hold of: how it follows, and lets go
  picture.addEventListener("pointerdown", (event) => {
    const target = under([event.clientX, event.clientY], "[data-send]");
    if (!target) return;
    const { send: name, value, steps } = target.dataset;
    if (!steps) send(name, value);
    held = steps ? pointed(target) : lifted(target.querySelector("[data-lift]"), event);
    if (!held) return;
    picture.setPointerCapture(event.pointerId);  // a new picture takes nothing away
    if (steps) held.follow(event);
  });
  picture.addEventListener("pointermove", (event) => held?.follow(event));
  for (const kind of ["pointerup", "pointercancel"]) {
    window.addEventListener(kind, () => { held?.leave(); held = null; }, { signal: removed.signal });
  }
  function pointed(target) {  // one of equal parts, from left to right
    const { left, width } = target.getBoundingClientRect(), { send: name, steps } = target.dataset;
    const follow = ({ clientX }) => {
      const step = Math.floor((clientX - left) / width * steps);
      send(name, Math.min(Math.max(step, 0), steps - 1));
    };
    return { follow, leave() {} };
  }
  function lifted(target, { clientY: from }) {  // it goes up and down with the pointer
    if (!target) return null;
    const { lift: name, value, at, per } = target.dataset;
    const drawn = picture.firstElementChild;
    const scale = drawn.getBoundingClientRect().height / drawn.viewBox.baseVal.height;
    let place = null;
    const follow = ({ clientY }) => {
      if (place === null && Math.abs(clientY - from) < 3) return;
      place = Math.round(Number(at) + (from - clientY) / scale * per);
      send(name, `${value} ${place}`, true);
    };
    return { follow, leave() { if (place !== null) send(name, `${value} ${place}`); } };
  }

  // -- what a mark says: on hover, and by keyboard ------------------------------------------------

  let pointer = null, told = null;  // where the pointer is, and the mark whose fact is shown
  function facts() { return [...picture.querySelectorAll("[data-fact]")]; }
  function tell(mark) {
    told = mark ?? null;
    alike();
    tip.hidden = !told;
    ring.hidden = !told || Boolean(pointer);
    if (!told) return;
    tip.textContent = told.dataset.fact;
    const frame = root.getBoundingClientRect(), box = told.getBoundingClientRect();
    const [x, y] = pointer ?? [box.left + box.width / 2, box.bottom];
    const across = Math.min(x - frame.left + 12, frame.width - tip.offsetWidth);
    const down = y - frame.top + 12, above = (pointer ? y : box.top) - frame.top - tip.offsetHeight - 8;
    const over = down + tip.offsetHeight > frame.height && above > 0;
    place(tip, Math.max(across, 0), over ? above : down);
    place(ring, box.left - frame.left - 2, box.top - frame.top - 2);
    Object.assign(ring.style, { width: `${box.width + 4}px`, height: `${box.height + 4}px` });
  }
  function alike() {  // what sends the same stands for the same thing, wherever it is
    const { send: name, value } = told?.dataset ?? {};
    for (const { classList, dataset } of picture.querySelectorAll("[data-send]")) {
      classList.toggle("ml-same", Boolean(name) && dataset.send === name && dataset.value === value);
    }
  }
  function place(node, left, top) {
    Object.assign(node.style, { left: `${left}px`, top: `${top}px` });
  }
  function walk(code) {  // the picture is one stop of the Tab key, its marks are behind the arrows
    const marks = facts(), from = marks.indexOf(told), last = marks.length - 1;
    if (last < 0) return null;
    const to = { ArrowRight: from + 1, ArrowDown: from + 1, ArrowLeft: from < 0 ? last : from - 1,
      ArrowUp: from < 0 ? last : from - 1, Home: 0, End: last, Escape: -1 }[code];
    if (to === undefined || (code === "Escape" && !told)) return null;
    return () => {
      pointer = null;
      const mark = code === "Escape" ? null : marks[Math.min(Math.max(to, 0), last)];
      tell(mark);
      heard.textContent = mark?.dataset.fact ?? "";
      mark?.scrollIntoView({ block: "nearest", inline: "nearest" });
      tell(mark);
    };
  }
  function hover(event) {
    pointer = [event.clientX, event.clientY];
    tell(held ? null : under(pointer, "[data-fact]"));
  }
  for (const kind of ["pointermove", "pointerdown"]) picture.addEventListener(kind, hover);
  function leave() { pointer = null; tell(null); }
  picture.addEventListener("pointerleave", leave);
  picture.addEventListener("blur", () => { if (!pointer) tell(null); });
  window.addEventListener("keydown", (event) => {
    if (event.key === "Escape" && pointer) leave();
  }, { signal: removed.signal });

  function retell(fact) {  // the picture is a new one: the same place, or the mark of the view's keys
    if (pointer) { tell(held ? null : under(pointer, "[data-fact]")); return; }
    const focused = root.getRootNode().activeElement === picture;
    const is = ({ dataset: { fact: said, send: name, value } }) => [said, `${name}:${value}`].includes(fact);
    tell(focused && fact ? facts().find(is) : null);
  }

  toggle.onclick = () => {
    text.hidden = !text.hidden;
    toggle.setAttribute("aria-pressed", String(!text.hidden));
    if (!text.hidden) send("text", true);  // from now on Python writes it with each picture
    if (!text.hidden) text.scrollIntoView({ block: "nearest" });
  };
  more.addEventListener("toggle", () => { hidden.hidden = !more.open; });

  async function copy() {
    const { layout, shown: { code } } = model.get("now_");
    await write(code, layout.copied, layout.copy_by_hand);
  }
  async function copyLink({ layout, shown: { link } }) {
    linking = false;
    await write(model.linkTo(link, root), layout.copied, layout.link_by_hand);
  }
  async function write(text, copied, byHand) {
    try {
      await navigator.clipboard.writeText(text);
      say(copied.replace("{code}", () => text));
    } catch {
      say(byHand.replace("{code}", () => text));
    }
  }
  function say(sentence, error = false) {
    status.textContent = sentence;
    status.classList.toggle("ml-error", error);
  }

  // -- following Python -------------------------------------------------------------------------

  function judge(parts) {  // the answer, then the guesses beside it
    verdict.replaceChildren(...parts.map(([kind, label, words, reason]) => {
      const node = make("span", { className: `ml-${kind}` });
      if (label) node.append(make("b", { textContent: label }), " ");
      node.append(words);
      if (reason) node.append(" ", make("i", { textContent: reason }));
      return node;
    }));
  }

  function rise() {  // what stands under the answer needs the screen
    const card = el.closest(".memlab-asked");
    if (card && card.getBoundingClientRect().top > innerHeight / 4) card.scrollIntoView();
  }

  function put(region, paragraphs) {  // what stays is not read aloud again
    paragraphs.forEach(([said, code, marks, dim], index) => {
      const old = region.children[index];
      if (old?.said === said) return;
      const node = make(code ? "pre" : "p", { said, className: dim ? "ml-dim" : "" });
      node.append(...(marks ? marked(said) : [said]));
      if (old) old.replaceWith(node);
      else region.append(node);
    });
    while (region.children.length > paragraphs.length) region.lastChild.remove();
  }

  function marked(said) {  // **bold** and `code`
    return said.split(/(\*\*.+?\*\*|`[^`]+`)/).map((part) =>
      /^\*\*.+\*\*$/.test(part) ? make("strong", { textContent: part.slice(2, -2) })
        : /^`.+`$/.test(part) ? make("code", { textContent: part.slice(1, -1) }) : part);
  }

  function draw(svg) {
    picture.hidden = !svg;
    picture.innerHTML = svg;
    const drawn = picture.firstElementChild;
    if (!drawn) return;
    drawn.setAttribute("aria-hidden", "true");
    picture.style.setProperty("--ml-wide", drawn.viewBox.baseVal.width);
  }

  function title([lead, rest]) {
    heading.hidden = !rest;
    if (!rest || heading.dataset.rest === rest) return;
    heading.dataset.rest = rest;
    heading.replaceChildren(make("strong", { textContent: lead }), " ", ...marked(rest));
    root.setAttribute("role", "group");
    root.setAttribute("aria-labelledby", heading.id);
  }

  function reach(layout) {  // by keyboard, where there is something to reach
    walks = !/Arrow/.test([...keys]) && facts().length > 0;
    const reached = walks || keys.size > 0;
    help.textContent = layout.help || (walks ? layout.walk : "");
    help.hidden = !help.textContent;
    help.classList.toggle("ml-walk", walks);
    picture.setAttribute("role", reached ? "application" : "img");
    picture.setAttribute("aria-label", layout.name);
    for (const [name, value] of [["tabindex", "0"], ["aria-describedby", help.id]]) {
      if (reached) picture.setAttribute(name, value);
      else picture.removeAttribute(name);
    }
  }

  let names = "", keys = new Set(), walks = false;  // arrows walk the marks, unless they are a view's own
  function follow() {
    const { layout, shown, answers } = model.get("now_");
    keys = new Set(layout.keys);
    if ((answers[view] ?? 0) >= waiting) { waiting = 0; idle(); }
    root.className = `memlab ${layout.classes}`;
    root.style.setProperty("--ml-room", layout.room);
    root.lang = layout.language; // fonts and screen readers go by it
    title(layout.heading);
    const kinds = ({ kind, name, label, options }) =>
      `${kind} ${name} ${label} ${kind === "radio" ? options : ""}`;
    const kind = controls().map(kinds).join();
    if (names !== kind) {
      names = kind;
      build(layout);
    }
    controls().forEach(update);
    summary.textContent = layout.more;
    toggle.textContent = layout.text;
    text.setAttribute("aria-label", layout.name);
    draw(shown.svg);
    reach(layout);
    retell(shown.fact);
    judge(shown.verdict);
    put(lines, shown.lines);
    put(after, shown.after);
    text.textContent = shown.text;
    if (spoken.textContent !== shown.says) spoken.textContent = shown.says;
    say(shown.error || shown.status, Boolean(shown.error));
    if (linking && typeof shown.link === "string") copyLink(model.get("now_"));
    root.dataset.shown = shown.shown;
    const before = root.dataset.state;
    root.dataset.state = shown.state;
    if (before && before !== "revealed" && shown.state === "revealed") rise();
    flush();
  }
  model.on("change:now_", follow);
  model.on("comm_live_update", connected);
  follow();

  let measured = 0;
  const watch = new ResizeObserver(() => {
    const scale = parseFloat(getComputedStyle(root).getPropertyValue("--memlab-scale")) || 1;
    const wide = Math.floor(row.clientWidth / scale);
    if (!wide || wide === measured) return;
    measured = wide;
    send("width", wide);
  });
  watch.observe(row);

  return () => {
    watch.disconnect();
    removed.abort();
    clearTimeout(slow);
    model.off("change:now_", follow);
    model.off("comm_live_update", connected);
  };
}

function make(tag, properties = {}) {
  return Object.assign(document.createElement(tag), properties);
}

export default { render };
