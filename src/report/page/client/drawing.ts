/** What both charts draw with. */

/** A colour of the style, in the theme that is chosen. */
export const colour = (name: string): string =>
  getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();

/** Braces begin a style in texts that ECharts draws. */
export const drawn = (text: string, most = 40): string =>
  (text.length > most ? `${text.slice(0, most - 1)}…` : text).replaceAll(/[{}|]/g, ' ');
