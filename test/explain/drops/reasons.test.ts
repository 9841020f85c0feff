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
  (name, { means, by }) => {
    const text = adviseOnReason(name, { namespace: 'shop' });
    expect(text).toContain(`Dropped by ${by}: ${means} (${name}). `);
    expect(text).not.toContain('Cilium');
    expect(text.length).toBeLessThan(420);
  },
);

test('a reason that is not in the table is given by its name', () => {
  expect(adviseOnReason('reason 231', { namespace: 'shop' })).toMatch(
    /^Cilium dropped it \(reason 231\), not a policy\. Cluster admins, in the Cilium Pod of the node: /,
  );
});
