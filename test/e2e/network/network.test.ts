import { randomBytes } from 'node:crypto';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { run } from './command.ts';
import { openKernelLog, type KernelLog } from './kernel-log.ts';
import { createNetwork, type Network, type NetworkOptions } from './network.ts';
import type { Backend } from './rules.ts';

const client = 'shop/web-0';
const server = 'shop/postgres-0';
// `cali` and the first 11 digits of sha1sum of "shop.web-0" and "shop.postgres-0".
const clientDevice = 'calia4fc3c48bd8';
const serverDevice = 'cali7fb549e73c3';

// The mark is of this run alone, because others print to the same log.
const prefix = `e2e-${randomBytes(4).toString('hex')}: `;

let log: KernelLog;
beforeEach(() => {
  log = openKernelLog();
});
afterEach(() => log.close());

describe.each<Backend>(['iptables-legacy', 'iptables-nft'])('%s', (backend) => {
  let network: Network;

  describe('everything refused', () => {
    beforeAll(async () => {
      network = await createNetwork(options(backend));
      await network.refuse();
    });
    afterAll(() => network.destroy());

    test.each([
      [4, 'tcp', / PROTO=TCP SPT=\d+ DPT=5432 .* SYN URGP=0 $/],
      [4, 'udp', / PROTO=UDP SPT=\d+ DPT=5432 LEN=8 $/],
      [4, 'icmp', / PROTO=ICMP TYPE=8 CODE=0 ID=\d+ SEQ=\d+ $/],
      [6, 'tcp', / PROTO=TCP SPT=\d+ DPT=5432 .* SYN URGP=0 $/],
      [6, 'udp', / PROTO=UDP SPT=\d+ DPT=5432 LEN=8 $/],
      [6, 'icmp', / PROTO=ICMPv6 TYPE=128 CODE=0 ID=\d+ SEQ=\d+ $/],
    ] as const)('IPv%i %s: one line for each packet', async (family, protocol, ending) => {
      // More than any rate limit would let through, and fewer than the kernel's buffer holds.
      await network.send({ from: client, to: server, family, protocol, port: 5432, count: 100 });
      const lines = await log.untilTaken(prefix, 100);

      const [source, destination] =
        family === 4
          ? ['10.244.1.10', '10.244.1.20']
          : ['fd00:0010:0244:0001:0000:0000:0000:0010', 'fd00:0010:0244:0001:0000:0000:0000:0020'];
      for (const line of lines) {
        expect(line).toContain(`${prefix}IN=${clientDevice} OUT=${serverDevice} MAC=ee:ee:ee:ee:ee:ee:`);
        expect(line).toContain(` SRC=${source} DST=${destination} `);
        expect(line).toMatch(ending);
      }
      expect(lines).toHaveLength(100);
      expect(new Set(lines.map((line) => /(?:SPT|SEQ)=(\d+)/.exec(line)?.[1]))).toHaveProperty('size', 100);
    });

    test('the very first packet of a Pod is logged, and each back the other way', async () => {
      await network.send({ from: server, to: client, family: 4, protocol: 'udp', port: 53, count: 1 });
      const [line] = await log.untilTaken(prefix, 1);
      expect(line).toContain(`IN=${serverDevice} OUT=${clientDevice} `);
    });

    test('no SYN can be repeated: no socket is left', async () => {
      await network.send({ from: client, to: server, family: 4, protocol: 'tcp', port: 80, count: 2 });
      await network.send({ from: client, to: server, family: 6, protocol: 'tcp', port: 80, count: 2 });
      const { stdout } = await inPod(client, ['cat', '/proc/net/tcp', '/proc/net/tcp6']);
      expect(stdout.trimEnd().split('\n')).toEqual([expect.stringContaining('sl'), expect.stringContaining('sl')]);
      await expect(log.untilTaken(prefix, 4)).resolves.toHaveLength(4);
    });
  });

  describe('one flow refused', () => {
    beforeAll(async () => {
      network = await createNetwork(options(backend));
      await network.refuse({ from: client, to: server, protocol: 'tcp', port: 5432 });
    });
    afterAll(() => network.destroy());

    test.each([4, 6] as const)('IPv%i: the others pass and print nothing', async (family) => {
      const ends = { from: client, to: server, family, count: 2 };
      await network.send({ ...ends, protocol: 'tcp', port: 5433 });
      await network.send({ ...ends, protocol: 'udp', port: 5432 });
      await network.send({ ...ends, from: server, to: client, protocol: 'tcp', port: 5432 });
      const { stdout } = await inPod(client, [
        'ping',
        '-n',
        '-c',
        '1',
        '-W',
        '5',
        family === 4 ? '10.244.1.20' : 'fd00:10:244:1::20',
      ]);
      expect(stdout).toContain('1 packets transmitted, 1 received');

      await network.send({ ...ends, protocol: 'tcp', port: 5432 });
      const lines = await log.untilTaken(prefix, 2);
      expect(lines).toEqual([expect.stringContaining(' DPT=5432 '), expect.stringContaining(' DPT=5432 ')]);
      expect(lines.every((line) => line.includes(`IN=${clientDevice} `))).toBe(true);
    });
  });

  async function inPod(pod: string, command: readonly string[]): Promise<{ stdout: string }> {
    return run('ip', ['netns', 'exec', network.namespaceOf(pod), ...command]);
  }
});

function options(backend: Backend): NetworkOptions {
  return {
    backend,
    prefix,
    pods: [
      { namespace: 'shop', name: 'web-0', addresses: ['10.244.1.10', 'fd00:10:244:1::10'] },
      { namespace: 'shop', name: 'postgres-0', addresses: ['10.244.1.20', 'fd00:10:244:1::20'] },
    ],
  };
}
