// Writes the licences of all packages that are in the bundle to one file: image-licences.mjs FILE
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const [, , output] = process.argv;
if (output === undefined) {
  console.error('image-licences.mjs: expected the name of the file to write');
  process.exit(2);
}

// Which files get into the bundle does not depend on how it is minified.
const { metafile } = await build({
  absWorkingDir: root,
  entryPoints: ['src/main.ts'],
  bundle: true,
  platform: 'node',
  format: 'cjs',
  write: false,
  metafile: true,
  logLevel: 'error',
});

const folders = new Set(
  Object.values(metafile.outputs)
    .flatMap(({ inputs }) => Object.entries(inputs))
    .filter(([, { bytesInOutput }]) => bytesInOutput > 0)
    .flatMap(([file]) => /^(?:.*\/)?node_modules\/(?:@[^/]+\/)?[^/]+/.exec(file) ?? []),
);
writeFileSync(output, [...folders].toSorted().map(noticeOf).join('\n'));
console.log(`${output}: licences of ${folders.size} packages`);

/** @param {string} folder */
function noticeOf(folder) {
  const { name, version, license } = JSON.parse(readFileSync(join(root, folder, 'package.json'), 'utf8'));
  const files = readdirSync(join(root, folder)).filter((file) => /^(?:licen[cs]e|notice|copying)/i.test(file));
  const texts = files.map((file) => readFileSync(join(root, folder, file), 'utf8').trim());
  return `${'='.repeat(80)}\n${name} ${version}: ${license}\n${'='.repeat(80)}\n${texts.join('\n\n')}\n`;
}
