import { readdirSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';

export const root = join(import.meta.dirname, '../..');

/** Paths in the repository of all documents for users and contributors. */
export function documentPaths(): string[] {
  const pages = readdirSync(join(root, 'docs'), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.md'))
    .map((name) => join('docs', name));
  const others = ['deploy/helm/kube-netfilter-tailer/README.md', 'samples/README.md'];
  return ['README.md', 'CONTRIBUTING.md', 'SECURITY.md', ...others, ...pages].toSorted();
}

export function filesBelow(folder: string, ending: string): string[] {
  return readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith(ending))
    .map((name) => relative(root, join(root, folder, name)))
    .toSorted();
}

export function textOf(path: string): string {
  return readFileSync(join(root, path), 'utf8');
}
