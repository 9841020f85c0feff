import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { expect, test } from 'vitest';

const ci = (...lanes: string[]) => {
  const { status, stdout, stderr } = spawnSync('bash', [join(import.meta.dirname, '../../.ci/run'), ...lanes], {
    encoding: 'utf8',
  });
  return { status, stdout, stderr };
};

test('.ci/run with an unknown lane runs nothing and ends with status 2', () => {
  expect(ci('lint', 'nonsense')).toEqual({
    status: 2,
    stdout: '',
    stderr: '.ci/run: there is no lane nonsense: see .ci/run --help\n',
  });
});

test('.ci/run --help describes each lane and ends with status 0', () => {
  const { status, stdout } = ci('--help');
  const lanes = stdout.split('\n').flatMap((line) => /^ {2}([a-z0-9-]+) {2,}\S/.exec(line)?.[1] ?? []);
  expect({ status, lanes }).toEqual({
    status: 0,
    lanes:
      'build programs e2e-node e2e-kernel soak-agents hostile soak unit lint types e2e-cluster smoke start e2e e2e-dataplanes e2e-connects e2e-guest-node'.split(
        ' ',
      ),
  });
});
