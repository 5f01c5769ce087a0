// What every page does beside its text; all of it is there without this script, too.

// A frame in which nothing scrolls is no stop of the Tab key.
for (const frame of document.querySelectorAll("main [tabindex='0']:is(pre, .frame, .table)"))
  if (frame.scrollWidth <= frame.clientWidth) frame.removeAttribute("tabindex");
