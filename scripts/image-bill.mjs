// Holds the bill of materials of an image against what is in the image: image-bill.mjs ROOT, the folder where it is mounted.
import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const [, , root] = process.argv;
if (root === undefined) {
  console.error('image-bill.mjs: expected the folder where an image is mounted');
  process.exit(2);
}
const at = (/** @type {string} */ path) => join(root, path);
const read = (/** @type {string} */ path) => readFileSync(at(path), 'utf8');

const { components } = JSON.parse(read('usr/share/sbom/kube-netfilter-tailer.cdx.json'));
const of = (/** @type {string} */ type) => components.filter(({ purl = '' }) => purl.startsWith(`pkg:${type}/`));
const [bundle, [node]] = [components.find(({ type }) => type === 'application'), of('generic')];
const [debian, npm] = [of('deb'), of('npm')];
const notices = read('licenses/kube-netfilter-tailer/THIRD-PARTY-LICENCES.txt');
const status = 'var/lib/dpkg/status.d';

const wrong = [
  ...readdirSync(at(status))
    .filter((name) => {
      const [, version] = /^Version: (.+)$/m.exec(read(join(status, name))) ?? [];
      return !debian.some((each) => each.name === name && each.version === version);
    })
    .map((name) => `not in the bill: ${name}`),
  ...debian
    .filter(({ name }) => !existsSync(at(join(status, name))) || !existsSync(at(`usr/share/doc/${name}/copyright`)))
    .map(({ name }) => `without its status or its licence: ${name}`),
  ...npm
    .filter(({ group, name, version }) => !notices.includes(`\n${group ? `${group}/` : ''}${name} ${version}: `))
    .map(({ name }) => `without its licence: ${name}`),
];
const digest = createHash('sha256')
  .update(readFileSync(at('usr/local/bin/kube-netfilter-tailer')))
  .digest('hex');
if (bundle?.hashes[0].content !== digest)
  wrong.push(`the bundle is ${digest}, by the bill ${bundle?.hashes[0].content}`);
if (!existsSync(at('licenses/node/LICENSE'))) wrong.push('Node.js is without its licence');

if (wrong.length > 0) {
  console.error(wrong.join('\n'));
  process.exit(1);
}
console.log(`${npm.length} packages of npm, ${debian.length} of Debian, the bundle and node ${node.version}`);
