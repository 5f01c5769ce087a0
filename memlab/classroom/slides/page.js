"use strict";
const sections = [...document.querySelectorAll("section")], root = document.documentElement;
const here = () => Math.round(root.scrollTop / innerHeight);
let shown = 0;

function go(to) {
  shown = Math.max(0, Math.min(sections.length - 1, to));
  sections[shown].scrollIntoView({ behavior: "instant" });
  history.replaceState(null, "", `#${shown + 1}`);
}
function words() {
  const text = sections[here()].querySelector(".words");
  if (text) text.hidden = !text.hidden;
}
function help() {
  const dialog = document.getElementById("help");
  if (dialog.open) dialog.close(); else dialog.showModal();
}
function theme() {
  if (root.dataset.theme) delete root.dataset.theme; else root.dataset.theme = "dark";
}
function full() {
  if (document.fullscreenElement) document.exitFullscreen(); else root.requestFullscreen();
}
function blank() {
  document.body.classList.toggle("blank");
}
const by = step => () => go(here() + step);
const next = by(1), back = by(-1);
const KEYS = {
  ArrowRight: next, ArrowDown: next, PageDown: next, " ": next, Enter: next,
  ArrowLeft: back, ArrowUp: back, PageUp: back, Backspace: back,
  Home: () => go(0), End: () => go(sections.length - 1),
  l: theme, f: full, t: words, b: blank, "?": help,
};
addEventListener("keydown", event => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest("a")) return;
  const act = KEYS[event.key.length === 1 ? event.key.toLowerCase() : event.key];
  if (!act || (event.target.closest(".words") && /^(Arrow|Page| )/.test(event.key))) return;
  event.preventDefault();
  act();
});
addEventListener("scrollend", () => { shown = here(); history.replaceState(null, "", `#${shown + 1}`); });
addEventListener("resize", () => go(shown));
