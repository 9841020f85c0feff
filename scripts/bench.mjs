// `npm run bench -- NAME [OPTION...]` runs test/bench/NAME.ts; without a NAME, the speed of the whole pipeline.
import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const folder = fileURLToPath(new URL('../test/bench/', import.meta.url));
/** What the first lines of each file say, by its name: a file that is a bench begins with its command. */
const benches = new Map(
  readdirSync(folder)
    .filter((file) => file.endsWith('.ts'))
    .flatMap((file) => {
      const [, head] = /^\/\*\*\n((?: \*.*\n)*) \*\//.exec(readFileSync(`${folder}${file}`, 'utf8')) ?? [];
      return head?.startsWith(' * `npm run bench') ? [[file.slice(0, -3), head.replaceAll(/^ \* ?/gm, '')]] : [];
    }),
);

const [first = '', ...rest] = process.argv.slice(2);
const [name, args] = first === '' || first === '--full' ? ['pipeline', process.argv.slice(2)] : [first, rest];
const isAsked = [first, ...rest].some((each) => ['--help', '-h', 'help'].includes(each));
const head = benches.get(name);
if (isAsked) console.log(head ?? helpOfAll());
else if (head === undefined) {
  console.error(`There is no bench ${name}.\n\n${helpOfAll()}`);
  process.exitCode = 2;
} else {
  // Some of them measure memory after a collection.
  const { status } = spawnSync(process.execPath, ['--expose-gc', `${folder}${name}.ts`, ...args], { stdio: 'inherit' });
  process.exitCode = status ?? 1;
}

/** The first sentence of each. */
function helpOfAll() {
  const lines = [...benches.values()].map((text) => {
    const [, command = '', what = ''] = /^`([^`]+)`: ([^]*?)(?:[.:](?=\s)|$)/.exec(text) ?? [];
    return `${command}\n    ${what.replaceAll(/\s+/g, ' ')}`;
  });
  return `${lines.join('\n')}\n\nnpm run bench -- NAME --help: options of one`;
}
