import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseAst } from 'vitest/node';

/** A regular expression of src/, and where it stands. */
export interface Pattern {
  /** `parsing/kernel.ts:27` */
  place: string;
  source: string;
  flags: string;
}

const folder = join(import.meta.dirname, '../../../src');

/** Every regular expression that is written as a literal. */
export function literalPatterns(): Pattern[] {
  return globSync('**/*.ts', { cwd: folder })
    .toSorted()
    .flatMap((file) => literalsOf(file, readFileSync(join(folder, file), 'utf8')));
}

/** Those that `new RegExp` makes of texts while these modules of src/ are loaded. */
export async function builtPatterns(modules: readonly string[]): Promise<Pattern[]> {
  const found: Pattern[] = [];
  const original = globalThis.RegExp;
  globalThis.RegExp = new Proxy(original, {
    construct(target, given, newTarget) {
      const made = Reflect.construct(target, given, newTarget) as RegExp;
      const place = /\/src\/([\w/.-]+:\d+)/.exec(new Error('here').stack ?? '')?.[1];
      if (place !== undefined) found.push({ place, source: made.source, flags: made.flags });
      return made;
    },
  });
  try {
    for (const module of modules) await import(join(folder, module));
  } finally {
    globalThis.RegExp = original;
  }
  return found;
}

function literalsOf(file: string, code: string): Pattern[] {
  const found: Pattern[] = [];
  visit(parseAst(code, { lang: 'ts' }), (node) => {
    if (node['type'] !== 'Literal' || node['regex'] === undefined) return;
    const { pattern, flags } = node['regex'] as { pattern: string; flags: string };
    const line = code.slice(0, node['start'] as number).split('\n').length;
    found.push({ place: `${file}:${line}`, source: pattern, flags });
  });
  return found;
}

function visit(node: unknown, see: (node: Record<string, unknown>) => void): void {
  if (typeof node !== 'object' || node === null) return;
  if (!Array.isArray(node)) see(node as Record<string, unknown>);
  for (const child of Object.values(node)) visit(child, see);
}
