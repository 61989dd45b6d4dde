// Elements are made of text nodes only: nothing from a transcript is ever
// interpreted as markup.

/**
 * Makes an element. Children are nodes or strings; null and false are left out.
 * @returns {HTMLElement}
 */
export function el(tag, attributes = {}, ...children) {
  const e = document.createElement(tag);
  for (const [k, v] of Object.entries(attributes)) {
    if (k.startsWith('on')) e.addEventListener(k.slice(2), v);
    else if (v !== undefined && v !== null && v !== false) e.setAttribute(k, v === true ? '' : v);
  }
  e.append(...children.filter((c) => c !== null && c !== undefined && c !== false).map((c) => (typeof c === 'string' ? visible(c) : c)));
  return e;
}

/** Shows what would act on the text around it: control characters, and marks
    that turn the direction of reading. */
export function visible(text) {
  return text.replace(/[\u0000-\u0008\u000b-\u001f\u007f\u202a-\u202e\u2066-\u2069]/g, (c) => {
    const code = c.charCodeAt(0);
    if (code < 0x20) return code === 0x0d ? '' : String.fromCharCode(0x2400 + code);
    return code === 0x7f ? '\u2421' : `[U+${code.toString(16).toUpperCase()}]`;
  });
}

/** Sets the text only when it differs, so that a selection survives. */
export function setText(node, text) {
  const shown = visible(text);
  if (node.textContent !== shown) node.textContent = shown;
}

/** Makes the children of an element these nodes, moving as few as possible. */
export function arrange(parent, nodes) {
  let at = parent.firstChild;
  for (const n of nodes) {
    if (n === at) at = at.nextSibling;
    else parent.insertBefore(n, at);
  }
  while (at) {
    const next = at.nextSibling;
    at.remove();
    at = next;
  }
}

export function age(iso) {
  const s = Math.max(0, (Date.now() - Date.parse(iso)) / 1000);
  if (!Number.isFinite(s)) return '';
  if (s < 60) return `${Math.floor(s)}s`;
  if (s < 3600) return `${Math.floor(s / 60)}m`;
  if (s < 86400) return `${Math.floor(s / 3600)}h`;
  return `${Math.floor(s / 86400)}d`;
}

export function count(n) {
  if (n === undefined) return '';
  if (n < 1000) return String(n);
  if (n < 1e6) return `${(n / 1000).toFixed(n < 1e4 ? 1 : 0)}k`;
  return `${(n / 1e6).toFixed(1)}M`;
}
