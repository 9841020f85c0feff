// Writes what the bundle, or an image, is made of, as a CycloneDX bill of materials:
//
//   sbom.mjs FILE [--bundle BUNDLE] [--image FOLDER]
//
// BUNDLE: what `npm run build` made (default: dist/kube-netfilter-tailer.cjs). FOLDER: the root of an image, by image-root.sh, for a bill of the
// image, which has its Debian packages and the Node.js that runs this script as well. The same input comes to the same bytes: there is no time and no random number in it.
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { bundledPackages, root } from './bundled-packages.mjs';

const { values, positionals } = parseArgs({
  options: {
    bundle: { type: 'string', default: join(root, 'dist/kube-netfilter-tailer.cjs') },
    image: { type: 'string' },
  },
  allowPositionals: true,
});
const [output] = positionals;
if (output === undefined) {
  console.error('sbom.mjs: expected the name of the file to write');
  process.exit(2);
}

const project = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
const { name, version, description, license } = project;
const packages = await bundledPackages();
const bundle = {
  type: 'application',
  'bom-ref': 'bundle',
  name,
  version,
  description,
  hashes: [{ alg: 'SHA-256', content: sha256(values.bundle) }],
  licenses: [licence(license)],
};
const libraries = packages.map((each) => ({
  type: 'library',
  'bom-ref': each.folder,
  ...named(each.name),
  version: each.version,
  // The hash is that of the package in npm's registry.
  hashes: [{ alg: 'SHA-512', content: Buffer.from(each.integrity.replace('sha512-', ''), 'base64').toString('hex') }],
  licenses: [licence(each.license)],
  purl: `pkg:npm/${each.name.split('/').map(encodeURIComponent).join('/')}@${encodeURIComponent(each.version)}`,
}));
const direct = Object.keys(project.dependencies);
const dependencies = [
  { ref: bundle['bom-ref'], dependsOn: direct.map((each) => `node_modules/${each}`).filter(isBundled) },
  ...packages.map((each) => ({ ref: each.folder, dependsOn: each.dependencies })),
];

const bill = values.image === undefined ? billOf(bundle, libraries, dependencies) : billOfImage(values.image);
writeFileSync(output, `${JSON.stringify(bill, undefined, 2)}\n`);
console.log(`${output}: ${bill.components.length} components`);

/** @param {string} folder */
function billOfImage(folder) {
  const image = { type: 'container', 'bom-ref': 'image', name, version };
  const status = join(folder, 'var/lib/dpkg/status.d');
  const others = [
    nodeRuntime(),
    ...readdirSync(status)
      .toSorted()
      .map((file) => debianPackage(join(status, file))),
  ];
  const refs = [bundle, ...others].map((each) => each['bom-ref']);
  return billOf(
    image,
    [bundle, ...libraries, ...others],
    [{ ref: 'image', dependsOn: refs }, ...dependencies, ...others.map((each) => ({ ref: each['bom-ref'] }))],
  );
}

/** @param {object} component @param {object[]} components @param {object[]} graph */
function billOf(component, components, graph) {
  return {
    $schema: 'http://cyclonedx.org/schema/bom-1.6.schema.json',
    bomFormat: 'CycloneDX',
    specVersion: '1.6',
    version: 1,
    metadata: { lifecycles: [{ phase: 'build' }], component },
    components,
    dependencies: graph,
  };
}

function nodeRuntime() {
  const { node } = process.versions;
  return {
    type: 'platform',
    'bom-ref': 'node',
    name: 'node',
    version: node,
    licenses: [licence('MIT')],
    cpe: `cpe:2.3:a:nodejs:node.js:${node}:*:*:*:*:*:*:*`,
    purl: `pkg:generic/node@${node}`,
  };
}

/** @param {string} file what dpkg-deb says of a package */
function debianPackage(file) {
  const text = readFileSync(file, 'utf8');
  const field = (/** @type {string} */ key) => new RegExp(`^${key}: *(.+)$`, 'm').exec(text)?.[1] ?? '';
  const [installed, architecture] = [field('Version'), field('Architecture')];
  // `NAME`, or `NAME (VERSION)` where the source has another version. Advisories name the source.
  const [, source, sourceVersion] = /^(\S+)(?: \((.+)\))?$/.exec(field('Source')) ?? [];
  const upstream =
    source === undefined ? '' : `&upstream=${encodeURIComponent([source, sourceVersion].filter(Boolean).join('@'))}`;
  return {
    type: 'library',
    'bom-ref': `debian/${field('Package')}`,
    supplier: { name: field('Maintainer') },
    name: field('Package'),
    version: installed,
    purl: `pkg:deb/debian/${field('Package')}@${encodeURIComponent(installed)}?arch=${architecture}&distro=debian-12${upstream}`,
  };
}

/** @param {string} full `@group/name` or `name` */
function named(full) {
  const [last, group] = full.split('/').toReversed();
  return group === undefined ? { name: last } : { group, name: last };
}

/** @param {string} text an SPDX identifier, or an expression of them */
function licence(text) {
  return /\s/.test(text) ? { expression: text } : { license: { id: text } };
}

/** @param {string} folder */
function isBundled(folder) {
  return packages.some((each) => each.folder === folder);
}

/** @param {string} file */
function sha256(file) {
  return createHash('sha256').update(readFileSync(file)).digest('hex');
}
