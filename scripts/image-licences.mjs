// Writes the licences of all packages that are in the bundle to one file: image-licences.mjs FILE
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { bundledPackages, root } from './bundled-packages.mjs';

const [, , output] = process.argv;
if (output === undefined) {
  console.error('image-licences.mjs: expected the name of the file to write');
  process.exit(2);
}

const packages = await bundledPackages();
writeFileSync(output, packages.map(noticeOf).join('\n'));
console.log(`${output}: licences of ${packages.length} packages`);

/** @param {Awaited<ReturnType<typeof bundledPackages>>[number]} bundled */
function noticeOf({ folder, name, version, license }) {
  const files = readdirSync(join(root, folder)).filter((file) => /^(?:(?:un)?licen[cs]e|notice|copying)/i.test(file));
  if (files.length === 0) throw new Error(`image-licences.mjs: ${name} has no file with its licence`);
  const texts = files.map((file) => readFileSync(join(root, folder, file), 'utf8').trim());
  return `${'='.repeat(80)}\n${name} ${version}: ${license}\n${'='.repeat(80)}\n${texts.join('\n\n')}\n`;
}
