/** Which files are read: what is named, patterns resolved, each once. */
import { globSync, statSync } from 'node:fs';

export interface NamedFiles {
  files: string[];
  /** Sentences about what cannot be read. */
  problems: string[];
}

/** `-` is standard input. A name that is a file is no pattern. */
export function findFiles(named: readonly string[]): NamedFiles {
  const seen = new Set<string>();
  const found: NamedFiles = { files: [], problems: [] };
  for (const name of named) {
    const paths = name === '-' || identityOf(name) !== undefined ? [name] : globSync(name).toSorted();
    if (paths.length === 0)
      found.problems.push(`${name}: ${/[*?[{]/.test(name) ? 'no file has such a name' : 'no such file'}`);
    for (const path of paths) {
      const identity = path === '-' ? '-' : identityOf(path);
      // A folder that a pattern matches beside files is passed over.
      if (identity === undefined || seen.has(identity) || (paths.length > 1 && statSync(path).isDirectory())) continue;
      seen.add(identity);
      found.files.push(path);
    }
  }
  return found;
}

/** A link and what it leads to have the same. */
function identityOf(path: string): string | undefined {
  const stat = statSync(path, { bigint: true, throwIfNoEntry: false });
  return stat === undefined ? undefined : `${stat.dev}.${stat.ino}`;
}
