import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const root = join(import.meta.dirname, '../..');

export function readDocument(path: string): string {
  return readFileSync(join(root, path), 'utf8');
}

/** docs/logging.md and the page of each network plug-in and firewall. */
export function loggingPages(): readonly string[] {
  const pages = readdirSync(join(root, 'docs/logging')).map((name) => join('docs/logging', name));
  return ['docs/logging.md', ...pages].map(readDocument);
}

/** The files of deploy/logging, relative to it. */
export function shippedFiles(): readonly string[] {
  const folder = join(root, 'deploy/logging');
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(folder.length + 1));
}

export function readShipped(name: string): string {
  return readDocument(join('deploy/logging', name));
}
