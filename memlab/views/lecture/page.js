"use strict";
// The page holds every picture; this only says which parts are shown, and fills in texts.
const DATA = JSON.parse(document.getElementById("data").textContent);
const $ = (id) => document.getElementById(id);
const all = (css, root = document) => [...root.querySelectorAll(css)];
const calm = matchMedia("(prefers-reduced-motion: reduce)");
const SCENES = all(".scene");
const SVG = "http://www.w3.org/2000/svg";
const fill = (text, values = {}) => text.replace(/\{(\w+)\}/g, (_, name) => values[name]);
const say = (key, values) => fill(DATA.words[key], values);

const START = { scene: 1, step: 0, votes: [0, 0, 0, 0], sheet: "", k: 3, stride: 1, pad: "same",
  batch: DATA.batches.at(-1), copies: null, pin: "", dark: false, short: false, text: false,
  notes: false };
let state = { ...START };
let voting = false, letter = 0, digits = "", timer = null, shown = "", waiting = null;

// -- the state stands in the address ----------------------------------------------------------

function write() {
  const parts = [`${state.scene}.${state.step}`];
  if (state.votes.some(Boolean)) parts.push(`votes=${state.votes}`);
  for (const key of ["sheet", "k", "stride", "pad", "batch", "copies", "pin"])
    if (state[key] !== START[key]) parts.push(`${key}=${state[key]}`);
  for (const key of ["dark", "short", "text", "notes"]) if (state[key]) parts.push(key);
  const hash = `#${parts.join("&")}`;
  try { if (location.hash !== hash) history.replaceState(null, "", hash); } catch { /* too often */ }
}

function read() {
  const [place, ...parts] = decodeURIComponent(location.hash.slice(1)).split("&");
  const given = Object.fromEntries(parts.map((part) => part.split("=")));
  const [scene, step] = place.split(".").map(Number);
  const one = (key, allowed, value = given[key]) => allowed.includes(value) ? value : START[key];
  state = { ...START, votes: [...START.votes] };
  state.scene = SCENES[scene - 1] ? scene : 1;
  state.step = step > 0 && step < info().steps ? step : 0;
  (given.votes ?? "").split(",").slice(0, 4).forEach((n, i) => { state.votes[i] = count(n); });
  state.sheet = one("sheet", ["bench", "run"]);
  state.k = one("k", DATA.kernels, Number(given.k));
  state.stride = one("stride", [1, 2], Number(given.stride));
  state.pad = one("pad", ["same", "none"]);
  state.batch = one("batch", DATA.batches, Number(given.batch));
  if (given.copies) state.copies = Math.min(count(given.copies), state.k ** 2);
  if (/^(pixel|place)-\d+$/.test(given.pin)) state.pin = given.pin;
  for (const key of ["dark", "short", "text", "notes"]) state[key] = key in given;
}

const count = (text) => Math.min(Math.max(Math.floor(Number(text)) || 0, 0), 9999);
const info = () => DATA.scenes[state.scene - 1];
const here = () => state.sheet ? $(state.sheet) : SCENES[state.scene - 1];
const variant = () => `${state.k}-${state.stride}-${state.pad}`;

// -- drawing ----------------------------------------------------------------------------------

function draw(forward = false) {
  const section = here(), moves = forward && !calm.matches;
  document.documentElement.dataset.theme = state.dark ? "dark" : "light";
  for (const one of all("section")) one.classList.toggle("here", one === section);
  if (!state.sheet) steps(section, moves);
  shown = section.id;
  votes();
  if (state.sheet === "bench") bench();
  pins();
  panels();
  write();
}

function steps(section, moves) {
  const fresh = shown !== section.id;
  for (const part of all("[data-step]", section)) {
    const [first, last] = part.dataset.step.split("-").map(Number);
    const on = first <= state.step && state.step <= last;
    const was = !fresh && !part.classList.contains("off");
    clearTimeout(part.leaving);
    if (was && !on && moves && part.dataset.linger) {
      part.leaving = setTimeout(() => part.classList.add("off"), Number(part.dataset.linger));
    } else {
      part.classList.toggle("off", !on);
    }
    if (on && !was && moves) move(part);
  }
}

const EASE = { easing: "cubic-bezier(.3,0,.2,1)", fill: "backwards" };

function move(part) {
  const { late, fade, fly } = part.dataset;
  if (late) part.animate([{ opacity: 0 }, { opacity: 0 }], { duration: Number(late) });
  if (fade) part.animate([{ opacity: 0 }, { opacity: 1 }], { duration: Number(fade) });
  if (fly) slide(part, fly.split(",").map(Number));
  for (const piece of all("[data-fold]", part)) {
    const [x, y] = piece.dataset.fold.split(",");
    const from = { transform: `translate(${x}px,${y}px)` };
    const delay = Number(piece.dataset.wait);
    piece.animate([from, { transform: "none" }], { duration: 600, delay, ...EASE });
  }
  for (const bar of all("[data-grow]", part)) {
    const at = (scale) => ({ transform: `translateX(64px) scaleX(${scale}) translateX(-64px)` });
    bar.animate([at(bar.dataset.grow), at(1)], { duration: 600, ...EASE });
  }
}

// A print of the input slides to its place, shifted; then the copy itself is there.
function slide(part, [x, y, right, down]) {
  const target = part.querySelector("use"), sheet = document.createElementNS(SVG, "use");
  const left = Number(target.getAttribute("x")), top = Number(target.getAttribute("y"));
  sheet.setAttribute("href", "#picture");
  part.parentNode.append(sheet);
  const at = (a, b) => ({ transform: `translate(${left + a}px,${top + b}px)`, opacity: .8 });
  const motion = sheet.animate([at(x, y), at(right, down)], { duration: 400, ...EASE });
  motion.onfinish = motion.oncancel = () => sheet.remove();
  part.animate([{ opacity: 0 }, { opacity: 0 }], { duration: 400 });
}

function votes() {
  const most = Math.max(...state.votes, 1), any = state.votes.some(Boolean);
  DATA.answers.forEach((answer, i) => {
    const n = state.votes[i], pages = all(`[data-mark=${answer}][data-screens]`);
    for (const text of all(`[data-votes=${answer}]`))
      text.textContent = !any ? "" : n === 1 ? say("vote") : say("votes", { n });
    for (const bar of all(`[data-bar=${answer}]`)) bar.setAttribute("width", 220 * n / most);
    for (const text of all(`[data-mark=${answer}]`))
      text.textContent = n ? say("mark", { answer, n }) : "";
    for (const text of pages)
      text.textContent = n ? say("far", { answer, n, screens: text.dataset.screens }) : "";
  });
  for (const part of all(".votes-only")) part.classList.toggle("off", !any);
  for (const part of all(".tips")) part.classList.toggle("off", voting);
  const answer = DATA.answers[letter];
  const words = digits ? say("counting", { answer, n: digits }) : say("voting");
  for (const text of all("[data-says=voting]")) text.textContent = voting ? words : "";
}

function bench() {
  const words = DATA.bench[variant()], batch = words.batches[DATA.batches.indexOf(state.batch)];
  const whole = state.k ** 2, made = !(state.k === 1 && state.stride === 1);
  const n = made ? state.copies ?? whole : 0;
  for (const one of all("[data-variant]", $("bench")))
    one.classList.toggle("off", one.dataset.variant !== variant());
  for (const copy of all(`[data-variant="${variant()}"] [data-copy]`, $("bench")))
    copy.classList.toggle("off", Number(copy.dataset.copy) >= n);
  const written = say("written", { n, count: made ? whole : 0 });
  const says = { ...words, ...batch, written, "bench-keys": DATA.words.keys };
  for (const text of all("[data-says]", $("bench")))
    text.textContent = says[text.dataset.says] ?? "";
  Object.assign($("written"), { max: whole, value: n, disabled: !made });
}

function panels() {
  const text = state.sheet === "bench" ? twin() : state.sheet ? DATA.run : info().twins[state.step];
  $("text").textContent = text;
  $("text").hidden = !state.text;
  $("notes").textContent = info().notes;
  $("notes").hidden = !state.notes;
  clearTimeout(waiting);
  waiting = setTimeout(() => { $("spoken").textContent = [text, pinned()].join(" "); }, 600);
}

function twin() {
  const words = DATA.bench[variant()];
  return `${words.twin} ${words.batches[DATA.batches.indexOf(state.batch)].twin ?? ""}`;
}

// -- pins: a pixel and its copies, a place and its column -----------------------------------------

const at = (map, place) => map.copies.map((copy) => copy.charCodeAt(place) - 48);
const ZERO = "~".charCodeAt(0) - 48;

function plan() {
  if (state.sheet === "bench") return { ...DATA.pins, map: DATA.maps[variant()] };
  const pins = state.sheet ? null : info().pins;
  return pins && state.step < pins.steps ? { ...pins, map: DATA.maps[pins.map] } : null;
}

function pins() {
  const section = here(), where = plan(), layer = section.querySelector(".pins");
  const [kind, text] = state.pin.split("-"), n = Number(text);
  const fits = where && (kind === "pixel" ? n < 64 : n < where.map.places ** 2);
  if (!state.pin || !fits) state.pin = "";
  section.classList.toggle("pinned", Boolean(state.pin));
  if (!layer) return;
  layer.replaceChildren();
  if (where) cursors(section, where);
  if (!state.pin) return;
  const box = (x, y, wide, high, name) => {
    const rect = document.createElementNS(SVG, "rect");
    for (const [key, value] of Object.entries({ x, y, width: wide, height: high, class: name }))
      rect.setAttribute(key, value);
    layer.append(rect);
  };
  mark(where, kind, n, box);
  const [first, second] = pinned().split("\n");
  for (const line of all("[data-says=pinned]", section)) line.textContent = first;
  for (const line of all("[data-says=pinned2]", section)) line.textContent = second ?? "";
  for (const line of all("[data-says=count]", section)) line.textContent = `${amount()} ×`;
}

function mark({ map, cell, input, copies, matrix }, kind, n, box) {
  const [left, top, pitch] = copies;
  const ring = (x, y) => {
    box(x, y, cell, cell, "mark");
    box(x - cell / 2, y - cell / 2, 2 * cell, 2 * cell, "ring");
  };
  const pixel = (i, draws) => draws(input[0] + i % 8 * cell, input[1] + Math.floor(i / 8) * cell);
  const spot = (index, place, draws) => draws(
    left + index % map.k * pitch + place % map.places * cell,
    top + Math.floor(index / map.k) * pitch + Math.floor(place / map.places) * cell);
  const plain = (x, y) => box(x, y, cell, cell, "mark");
  const made = map.copies.length > 1 || map.places < 8;
  if (kind === "pixel") pixel(n, ring);
  else frame(at(map, n).filter((held) => held !== ZERO), input, cell, box);
  map.copies.forEach((copy, index) => [...copy].forEach((char, place) => {
    const held = char.charCodeAt(0) - 48;
    if (!made || (kind === "place" ? place !== n : held !== n)) return;
    spot(index, place, kind === "place" || map.k > 3 ? plain : ring);
    const name = kind === "pixel" ? "mark" : DATA.letter[held] ?? "chip";
    box(matrix[0] + place * cell, matrix[1] + index * cell, cell, cell, name);
  }));
  if (kind === "place" && made)
    box(matrix[0] + n * cell - 2, matrix[1] - 2, cell + 4, map.copies.length * cell + 4, "ring");
}

// The window of an output place: a frame around its pixels.
function frame(held, [left, top], cell, box) {
  const columns = held.map((i) => i % 8), rows = held.map((i) => Math.floor(i / 8));
  const x = Math.min(...columns), y = Math.min(...rows);
  const wide = Math.max(...columns) - x + 1, high = Math.max(...rows) - y + 1;
  box(left + x * cell, top + y * cell, wide * cell, high * cell, "look");
}

function amount() {
  const { map } = plan(), [kind, n] = state.pin.split("-");
  const char = String.fromCharCode(48 + Number(n));
  if (kind === "pixel") return map.copies.join("").split(char).length - 1;
  return at(map, Number(n)).filter((held) => held !== ZERO).length;
}

function pinned() {
  if (!state.pin || !plan()) return "";
  const [kind, place] = state.pin.split("-"), n = amount();
  if (kind === "pixel") return n === 1 ? say("pixel_one") : say("pixel", { n });
  const zeros = plan().map.copies.length - n, number = Number(place) + 1;
  const column = say("column", { place: number, n });
  const rest = zeros ? ` ${say("zeros", { n: zeros })}` : "";
  return `${say("place", { place: number })}\n${column}${rest}`;
}

// What was clicked, in the coordinates of the picture.
function find(event) {
  const where = plan(), svg = here().querySelector("svg");
  if (!where) return "";
  const { x, y } = new DOMPoint(event.clientX, event.clientY)
    .matrixTransform(svg.getScreenCTM().inverse());
  const { map, cell, input, copies, matrix } = where;
  const cellOf = (left, top, columns, rows) => {
    const column = Math.floor((x - left) / cell), row = Math.floor((y - top) / cell);
    return column >= 0 && row >= 0 && column < columns && row < rows ? row * columns + column : -1;
  };
  const pixel = cellOf(...input, 8, 8);
  if (pixel >= 0) return `pixel-${pixel}`;
  for (let i = 0; i < map.copies.length; i++) {
    const left = copies[0] + i % map.k * copies[2];
    const top = copies[1] + Math.floor(i / map.k) * copies[2];
    const place = cellOf(left, top, map.places, map.places);
    if (place >= 0) return `place-${place}`;
  }
  const inside = cellOf(...matrix, map.places ** 2, map.copies.length);
  return inside < 0 ? "" : `place-${inside % map.places ** 2}`;
}

const cursor = { pixel: 0, place: 0 };

function cursors(section, { map, cell, input, copies }) {
  const focused = document.activeElement?.dataset?.cursor;
  if (!focused || !section.contains(document.activeElement)) return;
  const columns = focused === "pixel" ? 8 : map.places;
  const n = cursor[focused] = Math.min(cursor[focused], columns ** 2 - 1);
  const [left, top] = focused === "pixel" ? input : copies;
  const rect = document.createElementNS(SVG, "rect");
  const values = { x: left + n % columns * cell - 1, y: top + Math.floor(n / columns) * cell - 1,
    width: cell + 2, height: cell + 2, class: "rule" };
  for (const [key, value] of Object.entries(values)) rect.setAttribute(key, value);
  section.querySelector(".pins").append(rect);
}

const ARROWS = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: 0, ArrowDown: 0 };

function steer(code, kind) {
  const columns = kind === "pixel" ? 8 : plan().map.places;
  const by = ARROWS[code] || (code === "ArrowUp" ? -columns : columns);
  cursor[kind] = Math.min(Math.max(cursor[kind] + by, 0), columns ** 2 - 1);
}

// -- moving through the scenes --------------------------------------------------------------------

const hold = () => { clearInterval(timer); timer = null; };
const open = (number) => !state.short || DATA.scenes[number - 1]?.short;

function next() {
  if (timer) return jump();
  const further = info().stops.find((stop) => stop > state.step);
  let scene = state.scene;
  if (further === undefined) do scene++; while (scene <= SCENES.length && !open(scene));
  if (scene > SCENES.length) return;
  Object.assign(state, { scene, step: further ?? 0, pin: "" });
  draw(true);
  const auto = info().auto;
  if (auto && state.step === auto[0]) timer = setInterval(alone, 900);
}

function alone() {
  state.step++;
  draw(true);
  if (state.step >= info().auto[1]) hold();
}

function jump() {
  hold();
  state.step = info().auto[1];
  draw();
}

function back() {
  hold();
  const before = info().stops.findLast((stop) => stop < state.step);
  let scene = state.scene;
  if (before === undefined) do scene--; while (scene && !open(scene));
  if (!scene) return;
  Object.assign(state, { scene, pin: "" });
  state.step = before ?? info().steps - 1;
  draw();
}

function sheet(name, change = {}) {
  hold();
  Object.assign(state, { sheet: name, pin: "", copies: null }, change);
  if (name !== "bench") document.body.focus();
  draw();
}

function batch(by) {
  if (!state.sheet && state.scene - 1 === DATA.size) {
    state.step = Math.min(Math.max(state.step + by, 0), info().steps - 1);
    return draw(by > 0);
  }
  const index = DATA.batches.indexOf(state.batch) + (state.sheet === "bench" ? by : 0);
  const batch = DATA.batches[Math.min(Math.max(index, 0), DATA.batches.length - 1)];
  sheet("bench", { batch });
}

function vote(event) {
  const { code } = event, index = ["KeyA", "KeyB", "KeyC", "KeyD"].indexOf(code);
  const digit = code.match(/^(?:Digit|Numpad)(\d)$/);
  if (index >= 0) {
    letter = index;
    digits = "";
    state.votes[index] = Math.max(state.votes[index] + (event.shiftKey ? -1 : 1), 0);
  } else if (digit) {
    digits = (digits + digit[1]).slice(-4);
  } else if (code === "Backspace") {
    digits = digits.slice(0, -1);
  } else if (/^(Numpad)?Enter$/.test(code) && digits) {
    state.votes[letter] = count(digits);
    digits = "";
  } else {
    return false;
  }
  draw();
  return true;
}

function ballot() {
  voting = !voting;
  digits = "";
  if (!voting) return draw();
  hold();
  if (state.scene !== 1 || state.sheet) Object.assign(state, { scene: 1, step: 0, sheet: "" });
  draw();
}

function restart(event) {
  hold();
  const votes = event.shiftKey ? [...START.votes] : state.votes;
  Object.assign(state, { scene: 1, step: 0, sheet: "", pin: "", votes });
  draw();
}

function escape() {
  if (!$("help").hidden) $("help").hidden = true;
  else if (state.pin) state.pin = "";
  else if (voting) voting = false;
  else if (document.activeElement !== document.body) document.activeElement.blur();
  else state.sheet = "";
  draw();
}

const show = (key) => { state[key] = !state[key]; draw(); };
const toggle = (id) => { $(id).hidden = !$(id).hidden; };
const onward = (go) => () => {
  voting = false;
  if (!state.sheet) return go();
  sheet("");
};
const kernel = (k) => () => sheet("bench", { k });

const KEYS = {
  PageDown: onward(next), Space: onward(next), ArrowRight: onward(next), Enter: onward(next),
  NumpadEnter: onward(next), PageUp: onward(back), ArrowLeft: onward(back),
  Digit1: kernel(1), Digit3: kernel(3), Digit5: kernel(5), Digit7: kernel(7),
  Numpad1: kernel(1), Numpad3: kernel(3), Numpad5: kernel(5), Numpad7: kernel(7),
  KeyS: () => sheet("bench", { stride: state.sheet === "bench" ? 3 - state.stride : 2 }),
  KeyP: () => sheet("bench", { pad: state.sheet === "bench" && state.pad === "none" ? "same" : "none" }),
  ArrowUp: () => batch(1), ArrowDown: () => batch(-1),
  KeyR: () => sheet(state.sheet === "run" ? "" : "run"),
  KeyV: ballot,
  KeyB: () => toggle("blank"), Period: () => toggle("blank"), NumpadDecimal: () => toggle("blank"),
  KeyF: () => document.fullscreenElement
    ? document.exitFullscreen() : document.documentElement.requestFullscreen(),
  KeyT: () => show("text"), KeyN: () => show("notes"), KeyL: () => show("dark"),
  KeyM: () => show("short"),
  Slash: () => toggle("help"),
  Digit0: restart,
  Escape: escape,
};
KEYS.Numpad0 = KEYS.Digit0;

// A slider keeps its arrows, and so does a picture that has the focus.
function own(event) {
  const active = document.activeElement, { code } = event;
  if (active === $("written")) return code in ARROWS;
  const kind = active?.dataset?.cursor;
  if (!kind || !(code in ARROWS || code === "Enter" || code === "Space")) return false;
  event.preventDefault();
  if (code in ARROWS) steer(code, kind);
  else pin(`${kind}-${cursor[kind]}`);
  draw();
  return true;
}

const pin = (found) => { state.pin = found === state.pin ? "" : found; };

addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (own(event) || (voting && vote(event))) return;
  const act = KEYS[event.code];
  if (!act) return;
  event.preventDefault();
  act(event);
});
addEventListener("click", (event) => {
  const found = find(event);
  if (!found) return;
  hold();
  pin(found);
  draw();
});
for (const kind of ["focusin", "focusout"]) addEventListener(kind, () => setTimeout(pins));
$("written").addEventListener("input", () => {
  const n = Number($("written").value);
  state.copies = n === state.k ** 2 ? null : n;
  draw();
});
const load = () => { hold(); read(); draw(); };
addEventListener("hashchange", load);
document.documentElement.classList.add("live");
document.body.focus();
load();
