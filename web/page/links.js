// Links to a view of this page, with its settings: #memory.08?batch=64&network=resnet50
//
// The name is that of the view in memlab.views; then the number of its cell, where a page has several
// cells, and 2, 3 ... for the views of that name in one cell. The rest is Python's: it writes what
// follows the question mark, reads it, and says what it refuses.

import { make, setText } from "./elements.js";
import { words } from "./words.js";

const FORM = /^#([a-z_]+)(?:\.([\w]+))?(?:\.(\d+))?\?(.*)$/;

export function links({ kernel, models, cells, runTo, say }) {
  let wanted = null;  // the view of a link that is not there yet
  const note = make("p", { className: "note" });
  note.setAttribute("role", "status");

  const number = ({ name }) => name.split("-").at(-1);
  const viewOf = (model) => model?.get("now_")?.layout?.view;

  function shown(section, view) {  // the drawn views of that name in a cell, each model once
    const drawn = [...section.querySelectorAll("[data-model]")];
    const names = [...new Set(drawn.map((el) => el.dataset.model))];
    return names.filter((name) => viewOf(models.all.get(name)) === view);
  }

  function address(model, query, node) {
    const view = viewOf(model), section = node.closest("section.cell");
    const cell = cells.find((each) => each.section === section);
    const at = section ? shown(section, view).indexOf(model.name) : 0;
    const place = cells.length > 1 || at > 0 ? `.${number(cell)}${at > 0 ? `.${at + 1}` : ""}` : "";
    return `${location.href.split("#")[0]}#${view}${place}?${query}`;
  }

  kernel.on("update", ({ model: name }) => {  // before it is drawn
    const model = models.all.get(name);
    if (viewOf(model)) model.linkTo ??= (query, node) => address(model, query, node);
  });

  function settle() {  // shows what the link says, if its view is there
    for (const { section } of wanted?.cells ?? []) {
      const model = models.all.get(shown(section, wanted.view)[wanted.at]);
      if (!model) continue;
      model.send({ events: [{ name: "open_link", value: wanted.query }] });
      section.querySelector(`[data-model="${model.name}"]`).scrollIntoView({ block: "start" });
      wanted = null;
      note.remove();
      return true;
    }
    return !wanted;
  }

  async function open() {
    const [, view, cell, at = "1", query] = location.hash.match(FORM) ?? [];
    wanted = null;
    note.remove();
    if (!view) return;
    const these = cells.filter((each) => !cell || number(each) === cell);
    wanted = { view, at: at - 1, query, cells: these };
    if (cell) these[0]?.section.scrollIntoView({ block: "start" });
    if (cell || these.length === 1) these[0]?.section.before(note);
    told();
    const mine = wanted;
    for (const each of these) {
      await runTo(each.index);
      await each.pending;
      if (wanted !== mine || settle()) return;
    }
    note.remove();
    say(words(these.length ? "link_waits" : "link_lost"));
  }

  function told() {  // what stands there until the picture of the link does
    setText(note, words(kernel.failed ? "link_stored" : "link_comes"));
  }
  kernel.on("state", told);

  for (const kind of ["output", "update"]) kernel.on(kind, () => wanted && settle());
  window.addEventListener("hashchange", open);
  open();
}
