// Elements of a page, and their words.

export function make(tag, properties = {}) {
  return Object.assign(document.createElement(tag), properties);
}

export function setText(node, text) {  // the same text again would be read aloud again
  if (node.textContent !== text) node.textContent = text;
}
