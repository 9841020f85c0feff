/** Returns the FNV-1a hash of a text's UTF-16 units from `from` on, as 32 bits with a sign. `hash`: the hash of the text before it. */
export function hashOf(text: string, hash = 0x811c9dc5, from = 0): number {
  let value = hash;
  for (let i = from; i < text.length; i++) value = Math.imul(value ^ text.charCodeAt(i), 0x01000193);
  return value;
}
