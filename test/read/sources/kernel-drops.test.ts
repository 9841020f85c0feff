import { appendFileSync, existsSync, mkdirSync, readFileSync, rmdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { kernelReasons } from '../../../src/explain/drops/reasons.ts';
import {
  connectionsObstacleOf,
  createKernelDrops,
  kernelDropsObstacle,
} from '../../../src/read/sources/tracefs/kernel-drops.ts';
import { toldReasons } from '../../../src/read/sources/tracefs/probe.ts';
import { fakeTime } from './fake-time.ts';
import { listening } from './heard.ts';
import { btfOf, kernelTypes, type MadeType } from './made-btf.ts';
import { temporaryFolder } from './temporary-folder.ts';

const tables: { places: string[]; connectionPlaces: string[] } = {
  // What the probe reads of a packet, at the places in the kernel of made-btf.yaml.
  places: [
    'code=$reason:u32',
    'protocol=$protocol:u16',
    'node=@init_net+144:u32',
    'device=+16($skbaddr):x64',
    'netns=+144(+1280(+16($skbaddr))):u32',
    'sock=+24($skbaddr):x64',
    'socknetns=+144(+48(+24($skbaddr))):u32',
    'iif=+144($skbaddr):u32',
    'ifindex=+224(+16($skbaddr)):u32',
    'len=+112($skbaddr):u32',
    'paged=+116($skbaddr):u32',
    'head=+200($skbaddr):x64',
    'data=+208($skbaddr):x64',
    'nh=+184($skbaddr):u16',
    'dst=+88($skbaddr):x64',
    'mtu=+40(-1(+88($skbaddr))):u32',
    'bytes=+0(+208($skbaddr)):x64[8]',
    'dev=+0(+16($skbaddr)):string',
  ],
  // The fields of the probe for connections.
  connectionPlaces: [
    'oldstate=$oldstate:u32',
    'newstate=$newstate:u32',
    'protocol=$protocol:u16',
    'family=$family:u16',
    'sport=$sport:u16',
    'dport=$dport:u16',
    'from=+4($skaddr):x32',
    'to=+0($skaddr):x32',
    'from6=+72($skaddr):x64[2]',
    'to6=+56($skaddr):x64[2]',
    'error=+532($skaddr):u32',
    'tries=+1152($skaddr):u8',
    'answers=+1520($skaddr):u32',
    'queued=+216($skaddr):u32',
    'reported=+56(+200($skaddr)):u32',
    'cgroup=+624($skaddr):x64',
    'level=+224(+624($skaddr)):u32',
    'first=+0(+16(+256(+1928(+624($skaddr))))):string',
    'second=+0(+16(+256(+1936(+624($skaddr))))):string',
    'third=+0(+16(+256(+1944(+624($skaddr))))):string',
  ],
};

/**
 * Tests the probe and its lines, in a folder that looks like tracefs. test/e2e/kernel-drops tests them with real
 * kernels.
 */

const folder = temporaryFolder();
const start = 1_795_226_670_000;
const uptime = 5000;
const group = 'kube_netfilter_tailer_drops';
const connectGroup = 'kube_netfilter_tailer_connects';
const ofInstance = (event: string, of = group): string => `instances/${of}/events/${of}/${event}`;
const symbols = (...reasons: string[]): string =>
  `print fmt: "skbaddr=%p reason: %s", REC->skbaddr, __print_symbolic(REC->reason, ${reasons.join(', ')})\n`;
const known = ['{ 2, "NOT_SPECIFIED" }', '{ 7, "NETFILTER_DROP" }', '{ 12, "IP_RPFILTER" }', '{ 70, "TCP_RESET" }'];
let runs = 0;

type Tracefs = ReturnType<typeof tracefsOf>;

function tracefsOf(format: string | undefined = symbols(...known), types: Buffer | undefined = btfOf(kernelTypes)) {
  const path = folder(`tracefs-${++runs}`);
  mkdirSync(join(path, 'instances'), { recursive: true });
  writeFileSync(join(path, 'dynamic_events'), '');
  if (format !== undefined) {
    mkdirSync(join(path, 'events/skb/kfree_skb'), { recursive: true });
    writeFileSync(join(path, 'events/skb/kfree_skb/format'), format);
  }
  const btf = join(path, 'btf');
  if (types !== undefined) writeFileSync(btf, types);
  const read = (file: string): string => readFileSync(join(path, file), 'latin1');
  return {
    path,
    btf,
    read,
    definitions: () => read('dynamic_events'),
    react(of = group) {
      const [, event = ''] = new RegExp(String.raw`^e:${of}/(\w+) `, 'm').exec(read('dynamic_events')) ?? [];
      mkdirSync(join(path, ofInstance(event, of)), { recursive: true });
      mkdirSync(join(path, 'events', of, event), { recursive: true });
      mkdirSync(join(path, 'instances', of, 'events/skb/kfree_skb'), { recursive: true });
      writeFileSync(join(path, ofInstance(event, of), 'enable'), '0\n');
      writeFileSync(join(path, 'instances', of, 'trace_pipe'), '');
      return event;
    },
  };
}

function reading(tracefs: Tracefs) {
  const { heard, listener } = listening();
  const time = fakeTime(start);
  const source = createKernelDrops({
    tracefs: tracefs.path,
    btf: tracefs.btf,
    listener,
    timing: time,
    monotonic: () => uptime + time.elapsed(),
  });
  source.start();
  onTestFinished(() => source.stop());
  return { heard, source, time };
}

/** A source whose probe exists, and what its kernel prints. */
function running() {
  const tracefs = tracefsOf();
  const { heard, source, time } = reading(tracefs);
  const event = tracefs.react();
  time.advance(10_000);
  return {
    tracefs,
    heard,
    source,
    print: (text: string, task = '            nc-77      ') => {
      appendFileSync(
        join(tracefs.path, 'instances', group, 'trace_pipe'),
        `${task}[001] ..s2.     4.970478: ${event}: ${text}\n`,
      );
      time.advance(200);
    },
    counting: `instances/${group}/events/skb/kfree_skb`,
    filter: () => tracefs.read(`instances/${group}/events/${group}/${event}/filter`),
    enable: () => tracefs.read(`instances/${group}/events/${group}/${event}/enable`),
  };
}

const drop = '(skb.kfree_skb) code=7 protocol=2048 node=4026531840 device=0x0 rest="of it"';

test('every reported reason has a text, and every text belongs to such a reason', () => {
  expect([...kernelReasons.keys(), 'NETFILTER_DROP', 'IP_RPFILTER'].toSorted()).toEqual(toldReasons.toSorted());
});

test('the probe is defined with the places of this kernel, and added to what others have defined', () => {
  const tracefs = tracefsOf();
  writeFileSync(join(tracefs.path, 'dynamic_events'), 'p:others/probe do_sys_open\n');
  const { source } = reading(tracefs);
  source.stop();
  const [others, own = ''] = tracefs.definitions().split('\n');
  expect(others).toBe('p:others/probe do_sys_open');
  expect(own).toMatch(/^e:kube_netfilter_tailer_drops\/drop_[0-9a-f]{8} skb\.kfree_skb code=/);
  expect(own).toMatch(/:string if reason == 7 \|\| reason == 12$/);
  const places = own.split(' ').slice(2, own.split(' ').indexOf('if'));
  expect(places).toEqual(tables.places);
  // The kernel accepts no longer ones.
  for (const argument of places) expect(argument.length).toBeLessThan(64);
});

/** The additional structures that the probe for connections needs. */
const connectionTypes: MadeType[] = [
  {
    name: 'cgroup',
    kind: 'struct',
    members: [
      ['kn', 'int', 2048],
      ['level', 'int', 1792],
      ['ancestors', 'int', 15_360],
    ],
  },
  { name: 'kernfs_node', kind: 'struct', members: [['name', 'int', 128]] },
  { name: 'sock_cgroup_data', kind: 'struct', members: [['cgroup', 'int', 0]] },
  {
    name: 'sock',
    kind: 'struct',
    members: [
      ['sk_cgrp_data', 'sock_cgroup_data', 4992],
      ['sk_err', 'int', 4256],
      ['sk_error_queue', 'sk_buff_head', 1600],
    ],
  },
  { name: 'sk_buff_head', kind: 'struct', members: [['qlen', 'int', 128]] },
  { name: 'sock_exterr_skb', kind: 'struct', members: [['ee', 'sock_extended_err', 128]] },
  { name: 'sock_extended_err', kind: 'struct', members: [['ee_errno', 'int', 0]] },
  { name: 'inet_connection_sock', kind: 'struct', members: [['icsk_retransmits', 'int', 9216]] },
  { name: 'tcp_sock', kind: 'struct', members: [['segs_in', 'int', 12_160]] },
];
const ofConnections = [
  ['skc_daddr', 'int', 0],
  ['skc_rcv_saddr', 'int', 32],
  ['skc_v6_daddr', 'int', 448],
  ['skc_v6_rcv_saddr', 'int', 576],
] as const;
const ofPackets = [['cb', 'int', 320]] as const;
const added: Readonly<Record<string, readonly (readonly [string, string, number])[]>> = {
  sock_common: ofConnections,
  sk_buff: ofPackets,
};
const withAll = (type: MadeType): MadeType =>
  type.kind === 'struct' ? { ...type, members: [...type.members, ...(added[type.name] ?? [])] } : type;
const withConnections = (): Buffer => btfOf([...kernelTypes.map(withAll), ...connectionTypes]);

/** A kernel that also reports connections. */
function connecting({ isLeft = false } = {}) {
  const tracefs = tracefsOf(undefined, withConnections());
  const { heard, source, time } = reading(tracefs);
  const drops = tracefs.react();
  if (isLeft) writeFileSync(join(tracefs.path, ofInstance(drops), 'enable'), '1\n');
  time.advance(10_000);
  const connects = tracefs.react(connectGroup);
  time.advance(10_000);
  const pipeOf = (of: string): string => join(tracefs.path, 'instances', of, 'trace_pipe');
  return { tracefs, heard, source, time, drops, connects, pipeOf };
}

test('connections of Pods are read by a probe and from a buffer of their own, with the fields of this kernel', () => {
  const { tracefs, connects, time, source, heard, pipeOf } = connecting();
  const own = tracefs.definitions().split('\n')[1] ?? '';
  expect(own).toMatch(/^e:kube_netfilter_tailer_connects\/connect_\w{8} sock\.inet_sock_set_state /);
  expect(own).toMatch(/ if oldstate == 2 && newstate == 7 && protocol == 6$/);
  const places = own.split(' ').slice(2, own.split(' ').indexOf('if'));
  expect(places).toEqual(tables.connectionPlaces);
  for (const argument of places) expect(argument.length).toBeLessThan(64);
  expect(source.state).toBe('reading');
  const folderOfEvent = ofInstance(connects, connectGroup);
  expect(tracefs.read(`${folderOfEvent}/filter`)).toMatch(/ && first ~ "kubepods\*"$/);
  expect(tracefs.read(`${folderOfEvent}/enable`)).toBe('1');
  appendFileSync(
    pipeOf(connectGroup),
    `     ksoftirqd/0-14      [000] ..s2.     4.970478: ${connects}: (sock.inet_sock_set_state) oldstate=2 rest\n`,
  );
  time.advance(200);
  expect(heard.lines.map(({ text }) => text)).toEqual(['(sock.inet_sock_set_state) oldstate=2 rest']);
  expect(source.counts).toMatchObject({ lines: 1 });
});

test('lines of one buffer that are lost, or wait in a flood, are none of the other', () => {
  const { tracefs, connects, drops, time, heard, pipeOf } = connecting();
  const failed = `a-1 [000] ..s2. 4.9: ${connects}: (sock.inet_sock_set_state) rest\n`;
  appendFileSync(pipeOf(connectGroup), `CPU:0 [LOST 70 EVENTS]\n${failed.repeat(3000)}`);
  appendFileSync(pipeOf(group), `a-1 [000] ..s2. 4.9: ${drops}: ${drop}\n`);
  time.advance(200);
  expect(heard.lines.filter(({ text }) => text.startsWith('(skb.'))).toHaveLength(1);
  expect(heard.losses).toMatchObject([
    { count: 70, of: 'connections', reason: expect.stringContaining('70 lines of connections that failed are lost') },
  ]);
  expect(['buffer_size_kb', 'trace_clock'].map((file) => tracefs.read(`instances/${connectGroup}/${file}`))).toEqual([
    '256',
    'mono',
  ]);
  expect(tracefs.read(`instances/${group}/buffer_size_kb`)).toBe('512');
});

test('of an agent before, which knew no connections, the buffer is kept', () => {
  const { tracefs, connects } = connecting({ isLeft: true });
  expect(existsSync(join(tracefs.path, 'instances', group, 'trace_clock'))).toBe(false);
  expect(tracefs.read(`${ofInstance(connects, connectGroup)}/enable`)).toBe('1');
});

test('of an agent before, which read both from one buffer, both probes are removed first', () => {
  const tracefs = tracefsOf(undefined, withConnections());
  for (const event of ['drop_00000000', 'connect_00000000'])
    mkdirSync(join(tracefs.path, 'events', group, event), { recursive: true });
  reading(tracefs);
  const removed = tracefs.definitions().match(/^-:.*$/gm);
  expect(removed?.toSorted()).toEqual([`-:${group}/connect_00000000`, `-:${group}/drop_00000000`]);
});

test('a kernel that cannot report connections reports drops, and says so', () => {
  const { heard, source } = running();
  expect(source.state).toBe('reading');
  expect(heard.notices).toContainEqual(expect.objectContaining({ level: 'info', key: 'failed', of: 'connections' }));
});

test('the kernel filters by the numbers that it has for the reasons, and at first by nothing else but IP', () => {
  const { filter, enable } = running();
  expect(filter()).toBe('(code == 7 || code == 12) && (protocol == 0x800 || protocol == 0x86dd)');
  expect(enable()).toBe('1');
});

test('after the first line, the kernel keeps other network namespaces out, and believes a number only with its pointer', () => {
  const { filter, print } = running();
  print(drop);
  expect(filter()).toContain(
    ') && (device != 0 && netns == 4026531840 || device == 0 && sock != 0 && socknetns == 4026531840)',
  );
});

test('a line has the name of the reason, the time of its stamp, and the kernel as its writer', () => {
  const { print, heard } = running();
  print(drop);
  expect(heard.lines).toMatchObject([
    {
      text: drop.replace('code=7', 'reason=NETFILTER_DROP'),
      timeIsExact: true,
      program: 'kernel-drops',
      origin: 'kernel',
    },
  ]);
  expect(Math.round(heard.lines[0]?.time ?? 0)).toBe(start - 30);
});

test('a task whose name looks like a line forges none', () => {
  const names = ['x\ny-1 [001] b. 1', '] 1.2: drop_0000', '[001] b 1.2: d: ', '\nCPU:0 [LOST 9 ', ') code=7 node='];
  const { print, heard } = running();
  for (const name of names) print(drop, `${name}-1   `);
  expect(heard.lines.map(({ text }) => text)).toEqual(names.map(() => drop.replace('code=7', 'reason=NETFILTER_DROP')));
  expect(heard.losses).toEqual([]);
});

test('the name of a device changes no other field', () => {
  const { print, heard } = running();
  print(`${drop} dev="code=12"`);
  expect(heard.lines[0]?.text).toBe(`${drop.replace('code=7', 'reason=NETFILTER_DROP')} dev="code=12"`);
});

/** Printed by Linux 6.1. */
const histogram = `# event histogram
#
# trigger info: hist:keys=reason:vals=hitcount:sort=hitcount:size=512 [active]
#

{ reason:         70 } hitcount:          1
{ reason:          2 } hitcount:         13
{ reason:     131073 } hitcount:          2
{ reason:     196608 } hitcount:          3
{ reason:          7 } hitcount:     300000

Totals:
    Hits: 300019
    Entries: 5
    Dropped: 0
`;

test('the kernel counts all drops by their reasons, which have their names or none', () => {
  const { tracefs, source, counting } = running();
  expect(tracefs.read(`${counting}/trigger`)).toBe('hist:keys=reason:size=512');
  expect(source.dropReasons?.()).toEqual(new Map());
  writeFileSync(join(tracefs.path, counting, 'hist'), histogram);
  expect(source.dropReasons?.()).toEqual(
    new Map([
      ['TCP_RESET', 1],
      ['NOT_SPECIFIED', 13],
      ['other', 5],
      ['NETFILTER_DROP', 300_000],
    ]),
  );
});

test('a kernel that has no histograms gives lines and no counts', () => {
  const tracefs = tracefsOf();
  const { source, time } = reading(tracefs);
  tracefs.react();
  rmSync(join(tracefs.path, 'instances', group, 'events/skb'), { recursive: true });
  time.advance(10_000);
  expect(source.state).toBe('reading');
  expect(source.dropReasons?.()).toEqual(new Map());
});

test('in a flood, it rests one and a half times as long as it reads, however slow the processor is', () => {
  const tracefs = tracefsOf();
  const time = fakeTime(start);
  let busy = 0;
  const take = (): void => void (busy += 2);
  const source = createKernelDrops({
    tracefs: tracefs.path,
    btf: tracefs.btf,
    listener: { ...listening().listener, take },
    timing: time,
    monotonic: () => uptime + time.elapsed() + busy,
  });
  source.start();
  const event = tracefs.react();
  time.advance(10_000);
  const line = `nc-77      [001] ..s2.     4.970478: ${event}: ${drop}\n`;
  appendFileSync(join(tracefs.path, 'instances', group, 'trace_pipe'), line.repeat(1000));
  time.step();
  const took = busy;
  expect(took).toBeGreaterThanOrEqual(2 * 256);
  expect(time.step()).toBe(1.5 * took);
});

test('an agent goes on with the probe that one before it has left, and defines none again', () => {
  const { tracefs, source } = running();
  source.stop();
  const before = tracefs.definitions();
  const again = reading(tracefs);
  expect(
    tracefs
      .definitions()
      .split('\n')
      .filter((line) => line.startsWith('e:')),
  ).toHaveLength(before.split('\n').filter((line) => line.startsWith('e:')).length);
  expect(again.source.state).toBe('reading');
});

test('a probe that is defined otherwise is removed first', () => {
  const tracefs = tracefsOf();
  mkdirSync(join(tracefs.path, 'events', group, 'drop_00000000'), { recursive: true });
  reading(tracefs);
  expect(tracefs.definitions()).toMatch(
    /^-:kube_netfilter_tailer_drops\/drop_00000000\ne:kube_netfilter_tailer_drops\/drop_/,
  );
});

test.each([
  ['a kernel before 5.18', symbols('{ 2, "NOT_SPECIFIED" }')],
  ['a kernel before 5.17', 'print fmt: "skbaddr=%p protocol=%u"'],
] as const)('%s cannot, and the check and the notice say so', (_, format) => {
  const tracefs = tracefsOf(format);
  const { heard, source } = reading(tracefs);
  source.stop();
  expect(heard.notices).toMatchObject([{ level: 'error', key: 'failed' }]);
  const obstacle = kernelDropsObstacle(tracefs.path, tracefs.btf);
  expect(obstacle).toBe(/cannot be read: (.*)\. It is tried/.exec(heard.notices[0]?.text ?? '')?.[1]);
  expect(tracefs.definitions()).toBe('');
});

test('without the types of the kernel, or a tracefs, the check says so', () => {
  expect(kernelDropsObstacle(folder('nothing'))).toBeDefined();
  const tracefs = tracefsOf(undefined, Buffer.from('no types at all, but more than a header'));
  expect(kernelDropsObstacle(tracefs.path, tracefs.btf)).toBeDefined();
  expect(tracefs.definitions()).toBe('');
});

test('the check leaves nothing behind', () => {
  const tracefs = tracefsOf();
  expect(kernelDropsObstacle(tracefs.path, tracefs.btf)).toBeUndefined();
  expect(tracefs.definitions()).toMatch(/^e:(\w+\/drop_\w{8}) .*\n-:\1\n$/);
  expect(existsSync(join(tracefs.path, 'instances', `${group}_check`))).toBe(false);
});

test('the check also defines the probe for connections, and removes it', () => {
  const tracefs = tracefsOf(undefined, withConnections());
  expect(connectionsObstacleOf(tracefs.path, tracefs.btf)).toBeUndefined();
  expect(tracefs.definitions()).toMatch(/^e:(\w+\/connect_\w{8}) .*\n-:\1\n$/);
});

test('of a kernel that cannot tell of connections, the check says what the notice says', () => {
  const tracefs = tracefsOf();
  const { heard, time } = reading(tracefs);
  tracefs.react();
  time.advance(10_000);
  const notice = heard.notices.find(({ of }) => of === 'connections')?.text;
  expect(notice).toContain(connectionsObstacleOf(tracefs.path, tracefs.btf) ?? 'nothing');
});

test('the check works where one that was killed has left its instance', () => {
  const tracefs = tracefsOf();
  const left = join(tracefs.path, 'instances', `${group}_check`);
  mkdirSync(left);
  expect(kernelDropsObstacle(tracefs.path, tracefs.btf)).toBeUndefined();
  expect(existsSync(left)).toBe(false);
});

test('a stop removes the probe, also where no instance could be made for it', () => {
  const tracefs = tracefsOf();
  rmdirSync(join(tracefs.path, 'instances'));
  const { source } = reading(tracefs);
  const [, event = ''] = /^e:\w+\/(\w+) /.exec(tracefs.definitions()) ?? [];
  mkdirSync(join(tracefs.path, 'events', group, event), { recursive: true });
  source.stop();
  expect(tracefs.definitions()).toMatch(new RegExp(String.raw`\n-:${group}/${event}\n$`));
});

test('the check names the options that a kernel without probes needs, and makes no file', () => {
  const tracefs = tracefsOf();
  rmSync(join(tracefs.path, 'dynamic_events'));
  expect(kernelDropsObstacle(tracefs.path, tracefs.btf)).toContain('CONFIG_KPROBE_EVENTS');
  expect(existsSync(join(tracefs.path, 'dynamic_events'))).toBe(false);
});

test.each([
  ['ENOENT', 'write', 'CONFIG_KALLSYMS_ALL'],
  ['EBUSY', 'open', 'another agent'],
])('where the kernel answers %s to %s, the notice says why', (code, syscall, why) => {
  const { heard, listener } = listening();
  const device = {
    open: () => {
      throw Object.assign(new Error(code), { code, syscall });
    },
    read: () => 0,
    close() {},
  };
  const source = createKernelDrops({ tracefs: folder('nothing'), listener, timing: fakeTime(start), device });
  source.start();
  source.stop();
  expect(heard.notices[0]?.text).toContain(why);
});

test('where the kernel refuses the probe, its types are not read again for each try', () => {
  const tracefs = tracefsOf();
  rmSync(join(tracefs.path, 'dynamic_events'));
  const { time } = reading(tracefs);
  rmSync(tracefs.btf);
  writeFileSync(join(tracefs.path, 'dynamic_events'), '');
  time.advance(10_000);
  expect(tracefs.definitions()).toMatch(/^e:/);
});
