"use strict";
// The page holds every picture and every text; this says which of them are shown.
const DATA = JSON.parse(document.getElementById("data").textContent);
const $ = (id) => document.getElementById(id);
const all = (css, root = document) => [...root.querySelectorAll(css)];
const calm = matchMedia("(prefers-reduced-motion: reduce)");
const SCENES = all(".scene");
const say = (key, values = {}) => DATA.words[key].replace(/\{(\w+)\}/g, (_, name) => values[name]);

const START = { scene: 1, step: 0, votes: [0, 0, 0, 0], sheet: "", k: 3, stride: 1, pad: "same",
  batch: DATA.batches.at(-1), copies: null, pin: "", guesses: [], told: false, dark: false, short: false, text: false,
  notes: false };
const FLAGS = ["told", "dark", "short", "text", "notes"];
let state = { ...START };
let voting = false, letter = 0, digits = "", timer = null, waiting = null;

// -- the state stands in the address ----------------------------------------------------------

function write() {
  const parts = [`${state.scene}.${state.step}`];
  if (state.votes.some(Boolean)) parts.push(`votes=${state.votes}`);
  if (state.guesses.length) parts.push(`guesses=${state.guesses}`);
  for (const key of ["sheet", "k", "stride", "pad", "batch", "copies", "pin"])
    if (state[key] !== START[key]) parts.push(`${key}=${state[key]}`);
  for (const key of FLAGS) if (state[key]) parts.push(key);
  const hash = `#${parts.join("&")}`;
  try { if (location.hash !== hash) history.replaceState(null, "", hash); } catch { /* too often */ }
}

function read() {
  const [place, ...parts] = decodeURIComponent(location.hash.slice(1)).split("&");
  const given = Object.fromEntries(parts.map((part) => part.split("=")));
  const [scene, step] = place.split(".").map(Number);
  const one = (key, allowed, value = given[key]) => allowed.includes(value) ? value : START[key];
  state = { ...START, votes: [...START.votes], pin: given.pin ?? "" };
  state.scene = SCENES[scene - 1] ? scene : 1;
  state.step = step > 0 && step < info().steps ? step : 0;
  (given.votes ?? "").split(",").slice(0, 4).forEach((n, i) => { state.votes[i] = count(n); });
  state.sheet = one("sheet", ["bench", "run", "room"]);
  state.k = one("k", DATA.kernels, Number(given.k));
  state.stride = one("stride", [1, 2], Number(given.stride));
  state.pad = one("pad", ["same", "none"]);
  state.batch = one("batch", DATA.batches, Number(given.batch));
  if (given.copies) state.copies = Math.min(count(given.copies), state.k ** 2);
  state.guesses = numbers((given.guesses ?? "").replaceAll(",", " "));
  for (const key of FLAGS) state[key] = key in given;
}

const count = (text) => Math.min(Math.max(Math.floor(Number(text)) || 0, 0), 9999);
const info = () => DATA.scenes[state.scene - 1];
const variant = () => `${state.k}-${state.stride}-${state.pad}`;
const bench = () => DATA.bench[variant()];
const priced = () => bench().batches[DATA.batches.indexOf(state.batch)];

// -- what is shown ----------------------------------------------------------------------------

function draw(forward = false) {
  const section = state.sheet ? $(state.sheet) : SCENES[state.scene - 1];
  document.documentElement.dataset.theme = state.dark ? "dark" : "light";
  document.documentElement.classList.toggle("moves", forward && !calm.matches);
  for (const one of all("section")) one.classList.toggle("here", one === section);
  for (const [i, slide] of all(".step", section).entries())
    slide.classList.toggle("now", i === state.step);
  const [kind, n] = state.pin.split("-"), room = kind === "pixel" ? SIDE : shownBench().places;
  if (!pinnable() || !/^(pixel|place)$/.test(kind) || !(n < room ** 2)) state.pin = "";
  fill(section);
  votes();
  guesses();
  panels();
  write();
}

// The texts of the bench and of what is pinned, and the marks of it.
function fill(section) {
  const shown = Math.min(state.copies ?? Infinity, bench().count);
  for (const one of all("[data-variant]")) one.classList.toggle("off", one.dataset.variant !== variant());
  for (const one of all("#bench [data-copy]")) one.classList.toggle("off", one.dataset.copy >= shown);
  const written = say("written", { n: shown, count: bench().count });
  const [pinned, pinned2] = told(), { n } = pinnedCells();
  const texts = { ...bench(), ...priced(), written, "bench-keys": DATA.words.keys, pinned, pinned2,
    count: `${n} ×`, room: counted(), voting: voting ? ballots() : "" };
  for (const text of all("[data-says]", section)) text.textContent = texts[text.dataset.says] ?? "";
  Object.assign($("written"), { max: state.k ** 2, value: shown, disabled: !bench().count });
  section.classList.toggle("pinned", Boolean(state.pin));
  for (const mark of all(".pins", section)) mark.setAttribute("d", pinnedCells().d);
}

// -- pins: a pixel in all its copies, a place with its window and its column --------------------

const SIDE = 8;
const pinnable = () => state.sheet ? state.sheet === "bench" : state.step < info().pinned;
const shownBench = () => state.sheet ? bench() : DATA.bench["3-1-same"];
const field = () => DATA.fields[state.sheet ? 1 : 0];

// The cells that belong to what is pinned, and how many of them are values and zeros.
function pinnedCells() {
  const [kind, text] = state.pin.split("-"), wanted = Number(text), found = { d: "", n: 0, zeros: 0 };
  if (!state.pin) return found;
  const { k, places, holds, count } = shownBench(), { input, copies, matrix } = field();
  const mark = ([left, top], x, y) => { found.d += `M${left + x} ${top + y}.5h1`; };
  const pixel = (held) => mark(input, held % SIDE, Math.floor(held / SIDE));
  if (kind === "pixel") pixel(wanted);
  holds.forEach((copy, i) => [...copy].forEach((char, at) => {
    const held = char === "~" ? -1 : char.charCodeAt(0) - 48;
    if ((kind === "pixel" ? held : at) !== wanted) return;
    if (held < 0) found.zeros++; else { found.n++; pixel(held); }
    if (!count) return;
    mark(copies, i % k * 9 + at % places, Math.floor(i / k) * 9 + Math.floor(at / places));
    mark(matrix, at, i);
  }));
  return found;
}

function told() {
  const [kind, place] = state.pin.split("-"), { n, zeros } = pinnedCells();
  if (!state.pin) return [];
  if (kind === "pixel") return [n === 1 ? say("pixel_one") : say("pixel", { n })];
  const number = Number(place) + 1, column = say("column", { place: number, n });
  return [say("place", { place: number }), zeros ? `${column} ${say("zeros", { n: zeros })}` : column];
}

function ballots() {
  const answer = DATA.answers[letter];
  return digits ? say("counting", { answer, n: digits }) : say("voting");
}

function votes() {
  const most = Math.max(...state.votes, 1), any = state.votes.some(Boolean);
  DATA.answers.forEach((answer, i) => {
    const n = state.votes[i];
    for (const text of all(`[data-votes=${answer}]`))
      text.textContent = !any ? "" : n === 1 ? say("vote") : say("votes", { n });
    for (const bar of all(`[data-bar=${answer}]`)) bar.setAttribute("width", 220 * n / most);
    for (const text of all(`[data-mark=${answer}]`)) {
      const { screens } = text.dataset;
      text.textContent = !n ? "" : say(screens ? "far" : "mark", { answer, n, screens });
    }
  });
  for (const part of all(".votes-only")) part.classList.toggle("off", !any);
  for (const part of all(".tips")) part.classList.toggle("off", voting);
}

function panels() {
  const twin = { bench: `${bench().twin} ${priced().twin ?? ""}`, run: DATA.run,
    room: [counted(), ...columns()].join(" ") }[state.sheet];
  const text = twin ?? info().twins[state.step];
  $("text").textContent = text;
  $("text").hidden = !state.text;
  $("notes").textContent = info().notes;
  $("notes").hidden = !state.notes;
  document.documentElement.classList.toggle("notes", state.notes);
  clearTimeout(waiting);
  waiting = setTimeout(() => { $("spoken").textContent = [text, ...told()].join(" "); }, 600);
}

const pin = (found) => { state.pin = found === state.pin ? "" : found; hold(); draw(); };

function click({ target, clientX, clientY }) {
  const kind = target.dataset?.send, { k, places } = shownBench();
  if (!kind || !pinnable()) return;
  const { left, top, width } = target.getBoundingClientRect();
  const cell = width / target.getAttribute("width");
  const x = Math.floor((clientX - left) / cell), y = Math.floor((clientY - top) / cell);
  const inside = Math.max(x, y) < 9 * k && x % 9 < places && y % 9 < places;
  if (kind === "input") pin(`pixel-${y * SIDE + x}`);
  else if (kind === "copies" && inside) pin(`place-${y % 9 * places + x % 9}`);
  else if (kind === "matrix" && x < places ** 2 && y < k * k) pin(`place-${x}`);
}

const ARROWS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };

function steer(kind, code) {
  const size = kind === "pixel" ? SIDE : bench().places, [x, y] = ARROWS[code];
  const n = state.pin.startsWith(kind) ? Number(state.pin.split("-")[1]) : 0;
  const inside = (value) => Math.min(Math.max(value, 0), size - 1);
  state.pin = `${kind}-${inside(Math.floor(n / size) + y) * size + inside(n % size + x)}`;
  draw();
}

// -- the numbers of the room ----------------------------------------------------------------------

const ROOM = DATA.room, MOST = 400;

// The numbers in a text: one on a line, or with spaces, semicolons or commas between them.
function numbers(text) {
  const parts = text.split(/[\s;|]+|,(?=\s)/).flatMap((part) =>
    part.split(",").length > 2 ? part.split(",") : [part.replace(",", ".")]);
  const found = parts.map((part) => /^[x×]?(\d+(?:\.\d+)?|\.\d+)[x×.]?$/i.exec(part)?.[1]);
  return found.filter(Boolean).slice(0, MOST).map((digits) => Number(Number(digits).toPrecision(4)));
}

const column = (value) => ROOM.edges.filter((edge) => edge <= value).length;
const tally = () => [...ROOM.edges, 0].map((_, at) => state.guesses.filter((n) => column(n) === at).length);

// How many guessed, and once the truth is shown how many were right.
function counted() {
  const n = state.guesses.length;
  if (!n) return say("empty");
  const right = state.guesses.filter((value) => Math.abs(value - ROOM.truth) <= ROOM.near).length;
  return state.told ? say("told", { n, right, truth: ROOM.truth }) : say(n === 1 ? "number" : "numbers", { n });
}

function columns() {
  if (!state.guesses.length) return [];
  const { edges } = ROOM;
  return tally().map((n, at) => {
    const low = edges[at - 1], high = edges[at];
    return say(at === 0 ? "under" : at === edges.length ? "over" : "between", { low, high, n });
  });
}

function guesses() {
  const counts = tally(), most = Math.max(...counts, 1);
  counts.forEach((n, at) => {
    const high = Math.round(ROOM.high * n / most), top = ROOM.floor - high;
    for (const bar of all(`[data-column="${at}"]`)) { bar.setAttribute("y", top); bar.setAttribute("height", high); }
    for (const text of all(`[data-guesses="${at}"]`)) {
      text.setAttribute("y", top - 12);
      text.textContent = n || "";
    }
  });
  $("room").classList.toggle("told", state.told);
}

// A text that was pasted: while voting the votes for A to D, else the numbers of the room.
function paste(text) {
  const found = numbers(text);
  $("pasted").blur();
  if (voting && found.length === state.votes.length) state.votes = found.map(count);
  else if (!voting && found.length) {
    Object.assign(state, { guesses: found, told: false });
    if (state.sheet !== "room") sheet("room");
  }
  draw();
}

function room() {
  voting = false;
  sheet(state.sheet === "room" ? "" : "room");
}

// The key for the next slide first shows the truth, the one for the slide before hides it again.
function tell(told) {
  if (state.sheet !== "room" || !state.guesses.length || state.told === told) return false;
  state.told = told;
  draw();
  return true;
}

// -- moving through the scenes ------------------------------------------------------------------

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
  sheet("bench", { batch: DATA.batches[Math.min(Math.max(index, 0), DATA.batches.length - 1)] });
}

// -- the vote -------------------------------------------------------------------------------------

function vote({ code, shiftKey }) {
  const index = ["KeyA", "KeyB", "KeyC", "KeyD"].indexOf(code);
  const digit = code.match(/^(?:Digit|Numpad)(\d)$/);
  if (index >= 0) {
    [letter, digits] = [index, ""];
    state.votes[index] = Math.max(state.votes[index] + (shiftKey ? -1 : 1), 0);
  } else if (digit) digits = (digits + digit[1]).slice(-4);
  else if (code === "Backspace") digits = digits.slice(0, -1);
  else if (/^(Numpad)?Enter$/.test(code) && digits) {
    state.votes[letter] = count(digits);
    digits = "";
  } else return false;
  draw();
  return true;
}

function ballot() {
  voting = !voting;
  digits = "";
  hold();
  if (voting && (state.scene !== 1 || state.sheet)) Object.assign(state, { scene: 1, step: 0, sheet: "" });
  draw();
}

// -- keys -----------------------------------------------------------------------------------------

function restart({ shiftKey }) {
  hold();
  const { votes, guesses } = shiftKey ? { ...START, votes: [...START.votes] } : state;
  Object.assign(state, { scene: 1, step: 0, sheet: "", pin: "", votes, guesses, told: false });
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
  if (tell(go === next)) return;
  if (state.sheet) sheet(""); else go();
};
const other = (key, [one, two]) => () =>
  sheet("bench", { [key]: state.sheet === "bench" && state[key] === two ? one : two });

const KEYS = {
  PageDown: onward(next), Space: onward(next), ArrowRight: onward(next), Enter: onward(next),
  PageUp: onward(back), ArrowLeft: onward(back),
  ...Object.fromEntries(DATA.kernels.map((k) => [`Digit${k}`, () => sheet("bench", { k })])),
  KeyS: other("stride", [1, 2]), KeyP: other("pad", ["same", "none"]),
  ArrowUp: () => batch(1), ArrowDown: () => batch(-1),
  KeyR: () => sheet(state.sheet === "run" ? "" : "run"), KeyV: ballot, KeyG: room,
  KeyB: () => toggle("blank"), Period: () => toggle("blank"), Slash: () => toggle("help"),
  KeyF: () => document.fullscreenElement
    ? document.exitFullscreen() : document.documentElement.requestFullscreen(),
  KeyT: () => show("text"), KeyN: () => show("notes"), KeyL: () => show("dark"),
  KeyM: () => show("short"), Digit0: restart, Escape: escape,
};

// The field for numbers keeps its keys; Enter counts what was typed, and so does Escape.
function typed(event) {
  if (!/^(Numpad)?Enter$/.test(event.code)) return event.code !== "Escape";
  event.preventDefault();
  $("pasted").blur();
  return true;
}

// A slider keeps its arrows, and so does a picture that has the focus.
function own(event) {
  if (document.activeElement === $("pasted")) return typed(event);
  const active = document.activeElement, kind = active?.dataset?.cursor;
  if (!(event.code in ARROWS)) return false;
  if (kind) steer(kind, event.code);
  return Boolean(kind) && !event.preventDefault() || active === $("written");
}

addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (own(event) || (voting && vote(event))) return;
  const code = event.code.replace(/^Numpad(?=\d)/, "Digit");
  const act = KEYS[{ NumpadEnter: "Enter", NumpadDecimal: "Period" }[code] ?? code];
  if (!act) return;
  event.preventDefault();
  act(event);
});
addEventListener("click", click);
addEventListener("paste", (event) => {
  event.preventDefault();
  paste(event.clipboardData.getData("text"));
});
$("pasted").addEventListener("change", ({ target }) => { paste(target.value); target.value = ""; });
$("written").addEventListener("input", ({ target }) => {
  state.copies = Number(target.value) === state.k ** 2 ? null : Number(target.value);
  draw();
});
const load = () => { hold(); read(); draw(); };
addEventListener("hashchange", load);
document.documentElement.classList.add("live");
document.body.focus();
load();
