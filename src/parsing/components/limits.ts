/** Longest text that is looked at; container logs and syslogs are cut there anyway. Characters, as all of these. */
export const textLimit = 64 * 1024;
export const fieldLimit = 4096;
export const errorLimit = 16 * 1024;
export const maxFields = 32;
/** A message is a sentence; what is longer is a dump. */
export const messageLimit = 4096;

/** The first characters, no half of a surrogate pair among them. */
export function cut(text: string, limit: number): string {
  return text.length <= limit ? text : text.slice(0, limit).replace(/[\uD800-\uDBFF]$/, '');
}
