import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { type KernelLog, openKernelLog } from '../network/kernel-log.ts';
import type { Backend } from '../network/rules.ts';
import { openConnection } from './connection.ts';
import type { NodeShell } from './node-shell.ts';
import {
  client,
  createScene,
  type Flood,
  readPacket,
  type Scene,
  sendFlood,
  server,
  serverAddresses,
} from './scene.ts';

type Refused = readonly [args: readonly string[], message: string];

/** A node's own firewall, and the script of deploy/logging that makes it log. */
export interface Firewall {
  readonly script: string;
  readonly backend?: Backend;
  /** Loads rules: `own` drops TCP to 5432 and UDP to 9; the policy of `hook` drops TCP to 8080. */
  readonly load: (node: NodeShell) => Promise<unknown>;
  /** All rules, without counters. */
  readonly rules: (node: NodeShell) => Promise<string>;
  readonly own: string;
  readonly hook: string;
  /** What `--remove` says that it removed if both chains logged, and INVALID packets in `hook`; and from where. */
  readonly removed: { readonly from: string; readonly what: string };
  /** Arguments that are refused, and the message. */
  readonly refused: readonly Refused[];
}

/** Tests on the kernel what both scripts promise; returns the parts that tests of one script need in addition. */
export function testLogdrop(firewall: Firewall) {
  const { own, hook } = firewall;
  let scene: Scene;
  let log: KernelLog;
  let before: string;

  beforeAll(async () => {
    scene = await createScene(firewall.backend);
    await firewall.load(scene.node);
    before = await rules();
  });
  beforeEach(() => {
    log = openKernelLog();
  });
  afterEach(async () => {
    log.close();
    await apply(['--remove']);
  });
  afterAll(() => scene.network.destroy());

  test.each([
    [4, 'a drop rule', 5432],
    [4, 'the policy of the chain', 8080],
    [6, 'a drop rule', 5432],
    [6, 'the policy of the chain', 8080],
  ] as const)('IPv%i: what %s drops is logged', async (family, _, port) => {
    await logging(['--chain', own, '--chain', hook]);
    await scene.network.send({ from: client, to: server, family, protocol: 'tcp', port, count: 3 });
    const lines = await log.untilTaken(scene.prefix, 3);
    expect(lines).toHaveLength(3);
    for (const line of lines) {
      const { verdict, prefix, packet } = readPacket(line);
      const found = { verdict, prefix, port: packet.destinationPort };
      expect(found).toEqual({ verdict: 'dropped', prefix: `${scene.prefix}:`, port });
    }
  });

  test('applied twice is applied once, and removed twice leaves nothing', async () => {
    // Each chain is given twice by mistake.
    const args = ['--chain', own, '--chain', hook, '--chain', hook, '--invalid', hook, '--invalid', hook];
    await logging(args);
    const once = await rules();
    expect(once).toMatch(/knt[-_]logdrop/i);
    await logging(args);
    expect(await rules()).toBe(once);
    const { from, what } = firewall.removed;
    expect(await apply(['--remove'])).toBe(`${from}: ${what} removed\n`);
    expect(await apply(['--remove'])).toBe(`${from}: nothing to remove\n`);
    expect(await rules()).toBe(before);
  });

  test('chains that are not named any more are put back', async () => {
    await logging(['--chain', own]);
    const alone = await logging(['--chain', hook]).then(rules);
    await apply(['--remove']);
    expect(await logging(['--chain', hook]).then(rules)).toBe(alone);
  });

  test('it says what logs now, and where nothing does', async () => {
    expect(await logging(['--chain', own])).toContain(`${own}: 2 rules log`);
  });

  test('a flood from one source prints its share', async () => {
    await logging(['--chain', own]);
    const { lines, seconds } = await flood();
    expect(lines.length).toBeLessThanOrEqual(10 + 2 * seconds + 1);
  });

  test('a flood prints no more than the limit of the node', async () => {
    await logging(['--chain', own, ...generous]);
    const { lines, seconds } = await flood();
    expect(lines.length).toBeGreaterThanOrEqual(50);
    expect(lines.length).toBeLessThanOrEqual(50 + 10 * seconds + 1);
  });

  test('a limit of sources that is changed holds at once, also for those that are known', async () => {
    await logging(['--chain', own]);
    await flood();
    log.take(scene.prefix);
    await logging(['--chain', own, ...generous]);
    const { lines } = await flood();
    expect(lines.length).toBeGreaterThanOrEqual(50);
  });

  test.each([4, 6] as const)('IPv%i: INVALID is logged and dropped', async (family) => {
    const connection = await openConnection(scene.network, client, server, serverAddresses[family]);
    try {
      // With the first rule about conntrack, older connections are picked up, unless that is forbidden.
      await logging(['--invalid', hook]);
      await scene.node.set('netfilter/nf_conntrack_tcp_loose', 0);
      connection.write();
      const [line = ''] = await log.untilTaken(scene.prefix, 1);
      expect(readPacket(line)).toMatchObject({ verdict: 'dropped', prefix: `${scene.prefix}-invalid:` });
    } finally {
      await connection.close();
    }
  });

  test.each<Refused>([
    [['--prefix', 'mine', '--chain', own], 'it needs drop, deny, denied or block in it'],
    [['--prefix', 'my drop', '--chain', own], 'use letters, digits'],
    [['--burst'], 'needs a value'],
    [['--nonsense'], 'is not an option'],
    [[], 'name a chain'],
    [['--chain', `${own} ${hook}`], 'is not the name of a chain'],
    [['--chain', '*'], 'is not the name of a chain'],
    [['--chain', '--remove'], 'is not the name of a chain'],
    [['--chain', ''], 'is not the name of a chain'],
    ...firewall.refused,
  ])('%j is refused, and nothing is changed', async (args, message) => {
    await expect(apply(args)).rejects.toThrow(message);
    expect(await rules()).toBe(before);
  });

  function apply(args: readonly string[]): Promise<string> {
    return scene.node.script(firewall.script, args, firewall.backend);
  }

  function logging(args: readonly string[]): Promise<string> {
    return apply([...args, '--prefix', scene.prefix]);
  }

  function rules(): Promise<string> {
    return firewall.rules(scene.node);
  }

  function flood(): Promise<Flood> {
    return sendFlood(scene.network.namespaceOf(client), serverAddresses[4], log, scene.prefix);
  }

  return {
    get scene() {
      return scene;
    },
    get log() {
      return log;
    },
    /** Rules before the script was run. */
    get before() {
      return before;
    },
    rules,
    apply,
  };
}

/** More than a flood of one source can use up. */
const generous = ['--source-limit', '10000/second', '--source-burst', '10000'];
