import { expect, test } from 'vitest';
import { readDocument, readShipped } from './files.ts';

test.each(['ulogd-k3s.conf', 'ulogd-kube-router.conf'])(
  'what %s writes is read by the overlay, and rotated',
  (name) => {
    const [, file = ''] = /^file="(.*)"$/m.exec(readShipped(name)) ?? [];
    expect(readDocument('deploy/overlays/k3s/k3s.yaml')).toContain(`value: auto,file:${file},containers\n`);
    expect(readDocument('docs/logging.md')).toContain(`SOURCES=auto,file:${file},containers`);
    // The pattern of Debian's package: a file of another name grows for ever.
    expect(file).toMatch(/^\/var\/log\/ulog\/[^/]+\.log$/);
  },
);
