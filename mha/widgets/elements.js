// HTML and SVG elements, made in one line. Stands before each widget's script.
const NS = "http://www.w3.org/2000/svg";

export function element(name, attributes = {}, ...children) {
  const made = name.startsWith("svg:") ? document.createElementNS(NS, name.slice(4)) : document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
}
