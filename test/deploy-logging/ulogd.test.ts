import { expect, test } from 'vitest';
import { loggingPages, readDocument, readShipped } from './files.ts';

test.each(['ulogd-k3s.conf', 'ulogd-kube-router.conf'])(
  'the overlay k3s reads the log that %s writes, through its rotation',
  (name) => {
    const [, file = ''] = /^file="(.*)"$/m.exec(readShipped(name)) ?? [];
    expect(readDocument('deploy/overlays/k3s/k3s.yaml')).toContain(`value: auto,file:${file},containers\n`);
    expect(loggingPages().join('\n')).toContain(`SOURCES=auto,file:${file},containers`);
    // The pattern of Debian's package: a file with another name would grow for ever.
    expect(file).toMatch(/^\/var\/log\/ulog\/[^/]+\.log$/);
  },
);
