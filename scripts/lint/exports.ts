import { posix } from 'node:path';
import { filesBelow, textOf } from '../../test/docs/documents.ts';

/** Lines below which a file of src that one file alone imports belongs into that file. */
const tiny = 25;

/** Files that are tiny for a reason: each is one of several that are alike, or is written by a script. */
const mayBeTiny = /^src\/(?:explain\/incidents\/catalogue\/|cli\/report\/page\/)/;

interface Import {
  from: string;
  path: string;
  /** `*`: all that it exports. */
  names: readonly string[];
}

/** What nobody imports, and files that have no reason to be one. */
export function deadExports(): string[] {
  const sources = filesBelow('src', '.ts');
  const imports = ['src', 'test', 'scripts']
    .flatMap((folder) => ['.ts', '.mjs'].flatMap((ending) => filesBelow(folder, ending)))
    .flatMap(importsOf);
  const used = new Map<string, Set<string>>();
  for (const { path, names } of imports) used.set(path, (used.get(path) ?? new Set()).union(new Set(names)));
  const importers = (file: string): Set<string> =>
    new Set(imports.filter(({ path, from }) => path === file && from.startsWith('src/')).map(({ from }) => from));
  return sources.flatMap((file) => {
    const names = used.get(file) ?? new Set();
    const dead = names.has('*') ? [] : exportsOf(file).filter((name) => !names.has(name));
    const [only, ...more] = importers(file);
    const lines = textOf(file).split('\n').length - 1;
    const isTiny = lines < tiny && only !== undefined && more.length === 0 && !isDoor(only) && !mayBeTiny.test(file);
    const wrong = dead.map((name) => `${file} exports ${name}, which nothing imports`);
    if (isTiny) wrong.push(`${file} has ${lines} lines, and ${only} alone imports it: put it there`);
    return wrong;
  });
}

/** `src/count/series/series.ts` names what others may import of its folder. */
function isDoor(file: string): boolean {
  return /\/(\w+)\/\1\.ts$/.test(file);
}

function importsOf(file: string): Import[] {
  const text = textOf(file);
  const statements = text.matchAll(/(?:import|export)\s+(?:type\s+)?([\w$*{][^'";]*?)\s+from\s+'(\.[^']+)'/g);
  const whole = text.matchAll(/(?:import|resolve|mock|URL)\(\s*'(\.[^']+)'|^import '(\.[^']+)'/gm);
  return [
    ...Array.from(statements, ([, what = '', path = '']) => ({
      from: file,
      path: join(file, path),
      names: namesIn(what),
    })),
    ...Array.from(whole, ([, called, bare]) => ({ from: file, path: join(file, called ?? bare ?? ''), names: ['*'] })),
  ];
}

function join(file: string, path: string): string {
  return posix.join(posix.dirname(file), path);
}

/** Of `{ a, type B as C }` a and B. */
function namesIn(what: string): string[] {
  if (!what.includes('{')) return ['*'];
  return what
    .replace(/^.*\{|\}.*$/gs, '')
    .split(',')
    .map((name) =>
      name
        .trim()
        .replace(/^type /, '')
        .replace(/ as .*$/s, ''),
    );
}

/** Values, and types that the file itself does not use either: those of what it exports may be named by whoever imports it. */
function exportsOf(file: string): string[] {
  const text = textOf(file);
  const declared = text.matchAll(/^export (?:async )?(const|let|function\*?|class|interface|type) (?!\*)([\w$]+)/gm);
  return Array.from(declared, ([, kind = '', name = '']) => ({ kind, name }))
    .filter(
      ({ kind, name }) => !/^(?:interface|type)$/.test(kind) || text.split(new RegExp(`\\b${name}\\b`)).length === 2,
    )
    .map(({ name }) => name);
}
