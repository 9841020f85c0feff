import { expect, inject, test } from 'vitest';
import { connect } from '../control-plane/connection.ts';
import { openKernelLog } from '../network/kernel-log.ts';
import { fillConntrack, limitConntrack } from './conntrack.ts';
import { createNodeNamespace } from './node-namespace.ts';

test('a table that is really full: the kernel says so, and in which namespace', async () => {
  const place = await createNodeNamespace(connect(inject('controlPlane')).server);
  const log = openKernelLog();
  try {
    const { stdout } = await place.run('readlink', ['/proc/self/ns/net']);
    const inode = /\d+/.exec(stdout)?.[0];
    // Those beside it track less.
    const restore = await limitConntrack(512);
    try {
      await fillConntrack(place, 1024);
    } finally {
      await restore();
    }
    const [line] = await log.untilTaken(`netns ${inode}`, 1);
    expect(line).toBe(`nf_conntrack: nf_conntrack: table full in netns ${inode}, dropping packet`);
  } finally {
    log.close();
    await place.destroy();
  }
});
