/** Turns the paths of documents into addresses. */

/** The address that is put before `docs/…`. The build of a release (scripts/build.mjs) sets the default. */
const base = usable(process.env['DOCS_URL']) ?? process.env['DOCS_URL_OF_RELEASE'];

export function documentAt(path: `docs/${string}`): string {
  return base === undefined ? path : `${base}/${path}`;
}

export function withAddresses(text: string): string {
  return text.replaceAll(/\bdocs\/[\w/-]{1,100}\.md\b/g, (path) => documentAt(path as `docs/${string}`));
}

export function docsUrlProblem(url = process.env['DOCS_URL']): string | undefined {
  if (!url || usable(url) !== undefined) return undefined;
  return 'DOCS_URL: is not used, because it must begin with https:// or http:// and have no space';
}

/** Over 500 characters are refused, because messages repeat the address. */
function usable(url = ''): string | undefined {
  return /^https?:\/\/[!-~]{1,500}$/.test(url) ? withoutSlashes(url) : undefined;
}

function withoutSlashes(url: string): string {
  let end = url.length;
  while (url[end - 1] === '/') end--;
  return url.slice(0, end);
}
