import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { Ajv } from 'ajv';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { root } from './manifests.ts';

/** Licences that allow distributing the bundle under Apache-2.0, with their texts. */
const allowed = new Set([
  '0BSD',
  'Apache-2.0',
  'BSD-2-Clause',
  'BSD-3-Clause',
  'BlueOak-1.0.0',
  'ISC',
  'MIT',
  'Unlicense',
]);

interface Component {
  name: string;
  group?: string;
  version: string;
  purl?: string;
  type: string;
  licenses?: readonly { license: { id: string } }[];
  hashes?: readonly { alg: string; content: string }[];
  'bom-ref': string;
}

interface Bill {
  metadata: { component: Component };
  components: readonly Component[];
  dependencies: readonly { ref: string; dependsOn?: readonly string[] }[];
}

interface Locked {
  version: string;
  integrity: string;
  dev?: boolean;
}

const { dependencies } = readJson(join(root, 'package.json')) as { dependencies: Record<string, string> };
const { packages } = readJson(join(root, 'package-lock.json')) as { packages: Record<string, Locked> };
let folder: string;
let ofBundle: Bill;
let ofImage: Bill;
let notices: string;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'kube-netfilter-tailer-sbom-'));
  writeFileSync(join(folder, 'bundle.cjs'), 'the bundle\n');
  const status = join(folder, 'image/var/lib/dpkg/status.d');
  mkdirSync(status, { recursive: true });
  writeFileSync(join(status, 'libc6'), control('libc6', '2.36-9+deb12u10', 'Source: glibc'));
  writeFileSync(join(status, 'base-files'), control('base-files', '12.4+deb12u11'));
  writeFileSync(join(status, 'libgcc-s1'), control('libgcc-s1', '12.2.0-14', 'Source: gcc-12 (12.2.0-14+b1)'));
  [ofBundle, ofImage] = await Promise.all([
    billBy('bundle.json'),
    billBy('image.json', '--image', join(folder, 'image')),
    script('image-licences.mjs', join(folder, 'licences.txt')),
  ]);
  notices = readFileSync(join(folder, 'licences.txt'), 'utf8');
});
afterAll(() => rmSync(folder, { recursive: true }));

test('both are valid CycloneDX 1.6', () => {
  const schemas = join(root, 'node_modules/@cyclonedx/cyclonedx-library/res/schema');
  // Formats need no validation: neither bill has a field with one.
  const ajv = new Ajv({ strict: false, validateFormats: false });
  for (const name of ['spdx.SNAPSHOT.schema.json', 'jsf-0.82.SNAPSHOT.schema.json'])
    ajv.addSchema(readJson(join(schemas, name)) as object, `http://cyclonedx.org/schema/${name}`);
  const validate = ajv.compile(readJson(join(schemas, 'bom-1.6.SNAPSHOT.schema.json')) as object);
  for (const bill of [ofBundle, ofImage]) {
    validate(bill);
    expect(validate.errors).toBeNull();
  }
  expect(validate({ ...ofBundle, components: [{ type: 'library' }] })).toBe(false);
});

test('the SBOM of the bundle has exactly the packages that the program imports, in their locked versions, and none only for tests', () => {
  const names = ofBundle.components.map(({ group, name }) => (group === undefined ? name : `${group}/${name}`));
  expect(names).toEqual(expect.arrayContaining(Object.keys(dependencies)));
  for (const component of ofBundle.components) {
    const { version, integrity, dev } = packages[component['bom-ref']] as Locked;
    expect(dev).toBeUndefined();
    expect(component.version).toBe(version);
    const [hash] = component.hashes ?? [];
    expect(`sha512-${Buffer.from(hash?.content ?? '', 'hex').toString('base64')}`).toBe(integrity);
  }
});

test("the bill of the bundle names its file, each part's package URL and what needs the part", () => {
  const { component } = ofBundle.metadata;
  expect(component.hashes).toEqual([
    // sha256sum of `the bundle\n`.
    { alg: 'SHA-256', content: '64e3d3b47cc65dfb29504cf19851231bc0c831f7ba1229c7a544eff82f1ec849' },
  ]);
  expect(ofBundle.components.find(({ name }) => name === 'client-node')?.purl).toBe(
    `pkg:npm/%40kubernetes/client-node@${dependencies['@kubernetes/client-node']}`,
  );
  // Only the package's API clients use undici, and the program takes only kubeconfigs from the package.
  expect(ofBundle.components.map(({ name }) => name)).not.toContain('undici');
  const graph = new Map(ofBundle.dependencies.map(({ ref, dependsOn }) => [ref, dependsOn]));
  expect(graph.get(component['bom-ref'])).toEqual(Object.keys(dependencies).map((name) => `node_modules/${name}`));
  expect(graph.get('node_modules/pump')).toEqual(['node_modules/end-of-stream', 'node_modules/once']);
  const reached = new Set<string>();
  const reach = (ref: string): void => {
    if (reached.has(ref)) return;
    reached.add(ref);
    graph.get(ref)?.forEach(reach);
  };
  reach(component['bom-ref']);
  expect(ofBundle.components.map((each) => each['bom-ref']).filter((ref) => !reached.has(ref))).toEqual([]);
});

test('the bill names the bundle and its parts, Node.js, and the Debian packages with their sources', () => {
  expect(ofImage.metadata.component).toMatchObject({ type: 'container' });
  expect(ofImage.components).toEqual(expect.arrayContaining([ofBundle.metadata.component, ...ofBundle.components]));
  const others = ofImage.components.slice(ofBundle.components.length + 1).map(({ purl }) => purl);
  expect(others).toEqual([
    `pkg:generic/node@${process.versions.node}`,
    'pkg:deb/debian/base-files@12.4%2Bdeb12u11?arch=amd64&distro=debian-12',
    'pkg:deb/debian/libc6@2.36-9%2Bdeb12u10?arch=amd64&distro=debian-12&upstream=glibc',
    'pkg:deb/debian/libgcc-s1@12.2.0-14?arch=amd64&distro=debian-12&upstream=gcc-12%4012.2.0-14%2Bb1',
  ]);
});

test('the licences of all packages in the bundle allow its distribution', () => {
  const others = ofBundle.components.filter(
    ({ licenses = [] }) => licenses.length === 0 || licenses.some(({ license }) => !allowed.has(license.id)),
  );
  expect(others).toEqual([]);
});

test('the image has the full text of each licence', () => {
  const texts = new Map(
    notices.split(/^={80}\n(?=\S+ \S+: )/m).map((part): [string, string] => {
      const [title = '', , ...text] = part.split('\n');
      return [title.split(':', 1)[0] ?? '', text.join('\n')];
    }),
  );
  const short = ofBundle.components
    .map(({ group, name, version }) => `${group === undefined ? name : `${group}/${name}`} ${version}`)
    .filter((title) => (texts.get(title) ?? '').length < 500);
  expect(short).toEqual([]);
});

async function billBy(file: string, ...args: readonly string[]): Promise<Bill> {
  const path = join(folder, file);
  await script('sbom.mjs', path, '--bundle', join(folder, 'bundle.cjs'), ...args);
  return readJson(path) as Bill;
}

async function script(name: string, ...args: readonly string[]): Promise<void> {
  await promisify(execFile)(process.execPath, [join(root, 'scripts', name), ...args]);
}

/** Makes a record as `dpkg-deb --field` prints it. */
function control(name: string, version: string, ...more: readonly string[]): string {
  const maintainer = 'Maintainer: Debian <debian@example.org>';
  return [`Package: ${name}`, ...more, `Version: ${version}`, 'Architecture: amd64', maintainer, ''].join('\n');
}

function readJson(path: string): unknown {
  return JSON.parse(readFileSync(path, 'utf8'));
}
