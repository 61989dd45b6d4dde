// Appending at an offset. Offsets and lengths are UTF-16 code units, which is
// what JavaScript strings are made of.

/**
 * Appends a chunk to a text at an offset (spec: transcript, "Offsets").
 * @param {string} local
 * @param {number} offset
 * @param {string} chunk
 * @returns {{text: string, changed: boolean, gap?: {expected: number, got: number}}}
 */
export function appendAt(local, offset, chunk) {
  const length = local.length;
  const gap = { text: local, changed: false, gap: { expected: length, got: offset } };
  if (offset > length || splits(local, offset)) return gap;
  const overlap = length - offset;
  if (overlap >= chunk.length) {
    return local.startsWith(chunk, offset) ? { text: local, changed: false } : gap;
  }
  if (!chunk.startsWith(local.slice(offset))) return gap;
  return { text: local + chunk.slice(overlap), changed: true };
}

/** Tells whether an offset lies inside a surrogate pair. */
function splits(text, offset) {
  if (offset <= 0 || offset >= text.length) return false;
  const before = text.charCodeAt(offset - 1);
  const after = text.charCodeAt(offset);
  return before >= 0xd800 && before < 0xdc00 && after >= 0xdc00 && after < 0xe000;
}

/** What a person sees: a half of a pair that stayed alone is U+FFFD. */
export function wellFormed(text) {
  return text.toWellFormed ? text.toWellFormed() : text;
}
