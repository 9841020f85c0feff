import { readFileSync } from 'node:fs';
import { expect, inject, test } from 'vitest';
import { connect } from '../control-plane/connection.ts';
import { openKernelLog } from '../network/kernel-log.ts';
import { fillConntrack, limitConntrack } from './conntrack.ts';
import { createNodeNamespace } from './node-namespace.ts';

const MAX = '/proc/sys/net/netfilter/nf_conntrack_max';

test('a table that is really full: the kernel says so, and in which namespace', async () => {
  const before = readFileSync(MAX, 'utf8');
  const place = await createNodeNamespace(connect(inject('controlPlane')).server);
  const log = openKernelLog();
  try {
    const { stdout } = await place.run('readlink', ['/proc/self/ns/net']);
    const inode = /\d+/.exec(stdout)?.[0];
    const restore = await limitConntrack(16);
    try {
      await fillConntrack(place, 64);
    } finally {
      await restore();
    }
    const [line] = await log.untilTaken(`netns ${inode}`, 1);
    expect(line).toBe(`nf_conntrack: nf_conntrack: table full in netns ${inode}, dropping packet`);
    expect(readFileSync(MAX, 'utf8')).toBe(before);
  } finally {
    log.close();
    await place.destroy();
  }
});
