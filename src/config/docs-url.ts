/** Turns the paths of documents into addresses. */

/** The address that is put before `docs/…`. The build of a release (scripts/build.mjs) sets the default. */
const base = usable(process.env['DOCS_URL']) ?? process.env['DOCS_URL_OF_RELEASE'];

/** Returns the address of a page, or its path in the repository if no address is known. */
export function documentAt(path: `docs/${string}`): string {
  return base === undefined ? path : `${base}/${path}`;
}

/** Replaces the paths of documents in a text of this program, such as `--help`, by their addresses. */
export function withAddresses(text: string): string {
  return text.replaceAll(/\bdocs\/[\w/-]{1,100}\.md\b/g, (path) => documentAt(path as `docs/${string}`));
}

/** Returns what is wrong with `DOCS_URL`; undefined if it is valid or not set. */
export function docsUrlProblem(url = process.env['DOCS_URL']): string | undefined {
  if (!url || usable(url) !== undefined) return undefined;
  return 'DOCS_URL: is not used, because it must begin with https:// or http:// and have no space';
}

/** Removes slashes at the end. Returns undefined if the address is invalid, or has over 500 characters, because messages repeat it. */
function usable(url = ''): string | undefined {
  return /^https?:\/\/[!-~]{1,500}$/.test(url) ? withoutSlashes(url) : undefined;
}

function withoutSlashes(url: string): string {
  let end = url.length;
  while (url[end - 1] === '/') end--;
  return url.slice(0, end);
}
