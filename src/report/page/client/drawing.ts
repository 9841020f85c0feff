/** What both charts draw with. */

/** A colour of the style, in the theme that is chosen. */
export const colour = (name: string): string =>
  getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();

/**
 * Braces begin a style in texts that ECharts draws. It also keeps the widths of texts in a plain object: the text `__proto__` would change
 * what all objects inherit, and so a name that objects have anyway gets a space.
 */
export function drawn(text: string, most = 40): string {
  const short = (text.length > most ? `${text.slice(0, most - 1)}…` : text).replaceAll(/[{}|]/g, ' ');
  return short in {} ? `${short}\u00a0` : short;
}
