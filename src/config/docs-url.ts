/** The address of the documents, for all texts that name a page. */

/** `DOCS_URL` names where the folder docs/ is served; the build of a release (scripts/build.mjs) knows where its own is. */
const base = usable(process.env['DOCS_URL']) ?? process.env['DOCS_URL_OF_RELEASE'];

/** A page as the reader can open it: its address, or its path in the repository where no address is known. */
export function documentAt(path: `docs/${string}`): string {
  return base === undefined ? path : `${base}/${path}`;
}

/** A text of the program's own, such as `--help`, with its pages as the reader can open them. */
export function withAddresses(text: string): string {
  return text.replaceAll(/\bdocs\/[\w/-]{1,100}\.md\b/g, (path) => documentAt(path as `docs/${string}`));
}

/** The problem of a variable that has no effect; undefined if there is none. */
export function docsUrlProblem(url = process.env['DOCS_URL']): string | undefined {
  if (!url || usable(url) !== undefined) return undefined;
  return 'DOCS_URL: is not used, because it must begin with https:// or http:// and have no space';
}

/** Removes slashes at the end. Bounded, because it is repeated with each page. */
function usable(url = ''): string | undefined {
  return /^https?:\/\/[!-~]{1,500}$/.test(url) ? withoutSlashes(url) : undefined;
}

function withoutSlashes(url: string): string {
  let end = url.length;
  while (url[end - 1] === '/') end--;
  return url.slice(0, end);
}
