// Elements without markup in strings: what a record says is text, whatever it says.

/** element("p", { class: "soft" }, "text", other) */
export function element(name, attributes, ...children) {
  const made = document.createElement(name);
  for (const [attribute, value] of Object.entries(attributes)) made.setAttribute(attribute, value);
  made.append(...children);
  return made;
}

export function list(items) {
  return element("ul", {}, ...items.map((item) => element("li", {}, item)));
}

/** Two columns: what, and how many or which. */
export function facts(pairs) {
  const rows = pairs.flatMap(([what, value]) => [element("dt", {}, what), element("dd", {}, String(value))]);
  return element("dl", { class: "facts" }, ...rows);
}

export function notes(texts) {
  return texts.map((text) => element("pre", { tabindex: "0", "aria-label": "Signed note" }, text));
}

export const plural = (count, one, many) => `${count.toLocaleString("en")} ${count === 1 ? one : many}`;
