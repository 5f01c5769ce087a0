// The mountain of the start page: a slider shows one of its states, which memlab has drawn.
// assets/mountain.js holds them as elements that they share, and sets window.memlabStates.
"use strict";
{
  const section = document.querySelector(".move");
  const root = document.body.dataset.root;

  function connect({ batches, widths, parts, states }) {
    const control = section.querySelector(".control"), slider = control.querySelector("input");
    const say = (name, text) => { section.querySelector(name).textContent = text; };
    let batch = batches[slider.defaultValue];  // that of the stored picture

    function show() {
      const before = batch;
      batch = batches[slider.value];
      if (batch === before) return;
      const [peak, sum, news, ...pictures] = states[`${batch}|${before}`];
      say("output", batch);
      say(".peak", peak);
      say(".sum", sum);
      say(".news", news);
      slider.setAttribute("aria-valuetext", `${batch} images`);
      widths.forEach((name, i) => {
        const picture = section.querySelector(`[data-picture="${name}"]`);
        picture.innerHTML = pictures[i].map((number) => parts[number]).join("");
        picture.setAttribute("aria-label", picture.querySelector("title").textContent);
      });
    }

    slider.addEventListener("input", show);
    control.hidden = false;
    show();  // a browser may remember where the slider stood
  }

  const states = document.createElement("script");
  states.src = `${root}assets/mountain.js`;
  states.addEventListener("load", () => connect(window.memlabStates));
  document.head.append(states);
}
