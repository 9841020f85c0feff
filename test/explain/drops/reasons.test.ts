import { expect, test } from 'vitest';
import { adviseOnReason, awsReasons, isNoise, kernelReasons, reasons } from '../../../src/explain/drops/reasons.ts';
import { textOf } from '../../monitoring/files.ts';

test.each([
  ['docs/logging/cilium.md', reasons],
  ['docs/kernel-drops.md', kernelReasons],
] as const)('%s has every reason with its meaning, and no other', (path, table) => {
  const page = textOf(path);
  const rows = page.split('\n').filter((line) => /^\| `[A-Z]/.test(line));
  const listed = rows.flatMap((row) => [...(row.split('|')[1] ?? '').matchAll(/`(\w+)`/g)].map(([, name]) => name));
  expect(new Set(listed)).toEqual(new Set(table.keys()));
  for (const [name, { means }] of table) expect(rows.find((row) => row.includes(`\`${name}\``))).toContain(means);
});

test.each([...awsReasons])('docs/logging/aws-vpc-cni.md has %s with its meaning', (name, { means }) => {
  const row = textOf('docs/logging/aws-vpc-cni.md')
    .split('\n')
    .find((line) => line.startsWith(`| \`${name.replace('Tier ', '')}\``));
  expect(row).toContain(means);
});

test.each([...reasons])('%s: the reason, what it means and what to do', (name, { means, ofPolicy }) => {
  const text = adviseOnReason(name, { namespace: 'shop' });
  expect(text).toContain(`${means} (${name}). `);
  expect(text.includes('not a policy')).toBe(ofPolicy !== true);
  expect(text).not.toContain('NAMESPACE');
  expect(text.length).toBeLessThan(420);
  expect(isNoise(name)).toBe(false);
});

test.each([...kernelReasons, ...awsReasons])(
  '%s: the reason, who dropped it, what it means and what to do',
  (name, { means, by, ofRefusing }) => {
    const text = adviseOnReason(name, { namespace: 'shop' });
    const end = ofRefusing ? ' for one of the two Pods' : '';
    expect(text).toContain(`Dropped by ${by}: ${means}${end} (${name}). `);
    expect(text).not.toContain('Cilium');
    expect(text.length).toBeLessThan(420);
  },
);

test.each([
  [
    { name: 'this Pod', namespace: 'shop' },
    'in force for this Pod (Tier DEFAULT). Each Pod needs a policy for each direction: kubectl -n shop get',
  ],
  [
    { name: 'batch/worker-7', namespace: 'batch' },
    'in force for batch/worker-7 (Tier DEFAULT). Owners of namespace batch: each Pod needs',
  ],
])('the owners of the end that refused a packet are asked: %j', (refusing, expected) => {
  expect(adviseOnReason('Tier DEFAULT', { namespace: 'shop', refusing })).toContain(expected);
});

test('objects of a Service in another Namespace are for its owners', () => {
  const about = { namespace: 'shop', ofServices: 'batch', service: 'api' };
  expect(adviseOnReason('SERVICE_BACKEND_NOT_FOUND', about)).toMatch(
    / Owners of namespace batch: kubectl -n batch get endpointslices -l kubernetes\.io\/service-name=api$/,
  );
});

test('a reason that is not in the table is given by its name', () => {
  expect(adviseOnReason('reason 231', { namespace: 'shop' })).toMatch(
    /^Cilium dropped it \(reason 231\), not a policy\. Cluster admins, in the Cilium Pod of the node: /,
  );
});
