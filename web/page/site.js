// What every page does beside its text; all of it is there without this script, too. Browsers load
// it from a file as well, so it is no module.
"use strict";
{
  // A frame in which nothing scrolls is no stop of the Tab key.
  for (const frame of document.querySelectorAll("main [tabindex='0']:is(pre, .frame, .table)"))
    if (frame.scrollWidth <= frame.clientWidth) frame.removeAttribute("tabindex");

  // A moving picture can be stopped.
  const moving = document.querySelector(".hero picture");
  if (moving && !matchMedia("(prefers-reduced-motion: reduce)").matches) {
    const stop = document.createElement("button");
    stop.textContent = "Stop the picture";
    stop.className = "stop";
    stop.addEventListener("click", () => {
      for (const part of moving.children)
        for (const name of ["src", "srcset"])
          if (part[name]) part[name] = part.getAttribute(name).replace("lessons/images", "assets/still");
      stop.remove();
    });
    document.querySelector(".lead").after(stop);
  }
}
