// `npm run bench -- NAME [OPTION...]` runs test/bench/NAME.ts; without a NAME, the speed of the whole pipeline.
import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const folder = fileURLToPath(new URL('../test/bench/', import.meta.url));
const [first = '', ...rest] = process.argv.slice(2);
const [name, args] = first === '' || first.startsWith('-') ? ['pipeline', process.argv.slice(2)] : [first, rest];
const file = `${folder}${name}.ts`;
if (!/^[a-z]+$/.test(name) || !existsSync(file)) {
  // A file that is one says so in its first lines.
  const names = readdirSync(folder).filter(
    (each) => each.endsWith('.ts') && readFileSync(`${folder}${each}`, 'utf8').startsWith('/**\n * `npm run bench'),
  );
  console.error(`There is no bench ${name}; those in test/bench: ${names.map((each) => each.slice(0, -3)).join(', ')}`);
  process.exit(2);
}
// Some of them measure memory after a collection.
const { status } = spawnSync(process.execPath, ['--expose-gc', file, ...args], { stdio: 'inherit' });
process.exitCode = status ?? 1;
