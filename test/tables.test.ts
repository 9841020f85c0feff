import { execFile } from 'node:child_process';
import { globSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { temporaryFolder } from './read/sources/temporary-folder.ts';
import { tablesOf } from './tables.ts';

const own = tablesOf(import.meta.filename) as { rows: { expected?: number }[] };

const root = resolve(import.meta.dirname, '..');
const temporary = temporaryFolder();

/** Matches where a test states the type of its tables. */
const typed = /(?<== )tablesOf\(import\.meta\.filename\) as ([^]*?);\n(?=[^ }])/;

test('tables in YAML have the keys and values of the types that their tests state, and a misspelt key is found', async () => {
  expect(own.rows).toHaveLength(2);
  for (const file of globSync('test/**/*.ts', { cwd: root })) copyChecked(file);
  expect(await errorsOfCopies()).toEqual([
    `test/tables.test.ts: error TS2353: Object literal may only specify known properties, and '"expcted"' does not exist in type '{ expected?: number; }'.`,
  ]);
});

/** Copies a test with its tables in place of the call, because the compiler does not know what is in YAML. */
function copyChecked(file: string): void {
  const source = readFileSync(join(root, file), 'utf8');
  if (!source.includes('tablesOf(import.meta.filename)')) return;
  expect(source).toMatch(typed);
  const tables = literalOf(tablesOf(join(root, file)));
  mkdirSync(dirname(temporary(file)), { recursive: true });
  writeFileSync(
    temporary(file),
    source.replace(typed, (_, type: string) => `${tables} satisfies ${type} as ${type};\n`),
  );
}

function literalOf(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(literalOf).join(', ')}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'undefined';
  return `{${Object.entries(value)
    .map(([key, each]) => `${JSON.stringify(key)}: ${literalOf(each)}`)
    .join(', ')}}`;
}

async function errorsOfCopies(): Promise<string[]> {
  symlinkSync(join(root, 'node_modules'), temporary('node_modules'));
  writeFileSync(temporary('package.json'), JSON.stringify({ type: 'module' }));
  const compilerOptions = { rootDirs: [root, temporary()], noUnusedLocals: false };
  const include = [join(root, 'src/**/*.d.ts'), 'test'];
  writeFileSync(
    temporary('tsconfig.json'),
    JSON.stringify({ extends: join(root, 'tsconfig.json'), compilerOptions, include }),
  );
  const tsc = promisify(execFile)(join(root, 'node_modules/.bin/tsc'), ['--pretty', 'false', '--project', temporary()]);
  const output = await tsc.catch((error: unknown) => error as Awaited<typeof tsc>);
  return output.stdout
    .trimEnd()
    .split('\n')
    .map((line) => line.replace(/^.*\/(?=test\/)|\(\d+,\d+\)/g, ''));
}
