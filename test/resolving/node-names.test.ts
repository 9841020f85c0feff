import { expect, test } from 'vitest';
import { indexNodeNames, shorten } from '../../src/resolving/directory.ts';
import { node } from '../builders.ts';

const nodeOf = indexNodeNames([
  node({ name: 'ip-10-0-1-3.ec2.internal', hostNames: ['Gateway'] }),
  // The short name of its host name is that of its own name: one node, so it is found by it.
  node({ name: 'node-b', hostNames: ['node-b.example.com'] }),
  node({ name: 'twin.rack-1', hostNames: [] }),
  node({ name: 'twin.rack-2', hostNames: [] }),
  // A third one does not make the name of the two mean anything again.
  node({ name: 'twin.rack-3', hostNames: [] }),
  node({ name: '10.0.1.9', hostNames: [] }),
]);

test.each([
  ['ip-10-0-1-3.ec2.internal', 'ip-10-0-1-3.ec2.internal'],
  ['IP-10-0-1-3.EC2.internal', 'ip-10-0-1-3.ec2.internal'],
  ['ip-10-0-1-3', 'ip-10-0-1-3.ec2.internal'],
  ['ip-10-0-1-3.example.com', 'ip-10-0-1-3.ec2.internal'],
  ['gateway', 'ip-10-0-1-3.ec2.internal'],
  ['node-b', 'node-b'],
  ['node-b.example.com', 'node-b'],
  ['node-b.example.org', 'node-b'],
  ['twin.rack-2', 'twin.rack-2'],
  ['twin', undefined],
  ['twin.rack-4', undefined],
  ['10.0.1.9', '10.0.1.9'],
  ['10.0.1.8', undefined],
  ['10', undefined],
  ['node', undefined],
])('%s is the node %s', (name, expected) => {
  expect(nodeOf(name)?.name).toBe(expected);
});

test.each([
  ['node-a.example.com', 'node-a'],
  ['node-a', 'node-a'],
  ['10.0.1.3', '10.0.1.3'],
  ['10.example.com', '10'],
  ['a10.0.1', 'a10'],
])('the short name of %s is %s', (name, short) => {
  expect(shorten(name)).toBe(short);
});
