/** The tracepoint `skb:kfree_skb`: the event probe on it (which reasons it tells of, what it fetches), and a histogram of all reasons. */
import { createHash } from 'node:crypto';
import {
  closeSync,
  constants,
  existsSync,
  openSync,
  readdirSync,
  readFileSync,
  rmdirSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import { readBtf } from './btf.ts';

export const tracepoint = 'events/skb/kfree_skb';

/**
 * The reasons that lead to Events: of each, src/drops/reasons.ts says what it means. With all of them `skb->dev` is a device: where a packet
 * waits in a tree or in a socket, the kernel keeps something else in its place, and what is fetched through it means nothing.
 */
export const toldReasons = [
  'NETFILTER_DROP',
  'IP_RPFILTER',
  'IP_LOCAL_SOURCE',
  'IP_INVALID_SOURCE',
  'IP_INNOROUTES',
  'IP_OUTNOROUTES',
  'NEIGH_FAILED',
  'NEIGH_CREATEFAIL',
  'PKT_TOO_BIG',
  'XFRM_POLICY',
  'IPV6DISABLED',
  'VXLAN_NO_REMOTE',
  'TC_INGRESS',
  'TC_EGRESS',
  'XDP',
] as const;

/** Numbers of reasons differ from kernel to kernel, so they are taken from how the tracepoint prints them: `{ 6, "NETFILTER_DROP" }`. */
export function readReasons(tracefs: string): ReadonlyMap<number, string> {
  const format = readFileSync(join(tracefs, tracepoint, 'format'), 'latin1');
  const names = new Map<number, string>();
  for (const [, number, name = ''] of format.matchAll(/\{ *(\d{1,10}|0x[\da-f]{1,8}), *"(\w{1,64})" *\}/g))
    names.set(Number(number), name);
  return names;
}

export function toldNumbers(names: ReadonlyMap<number, string>): number[] {
  const told: ReadonlySet<string> = new Set(toldReasons);
  if (![...names.values()].includes('NETFILTER_DROP'))
    throw new Error('this kernel does not say why it drops packets (Linux 5.18 does)');
  return [...names].flatMap(([number, name]) => (told.has(name) ? [number] : []));
}

export function conditionOn(field: string, numbers: readonly number[]): string {
  return numbers.map((number) => `${field} == ${number}`).join(' || ');
}

/**
 * Defines the probe if it is not there yet, and returns the name of its event, which differs where the definition does. The
 * condition spares the kernel the fields of packets that it frees for other reasons: fetching them costs ten times as much as the check.
 */
export function defineProbe(tracefs: string, definition: string, told: readonly number[], group: string): string {
  const condition = conditionOn('reason', told);
  const hash = createHash('sha256').update(`${definition} if ${condition}`);
  const event = `drop_${hash.digest('hex').slice(0, 8)}`;
  if (existsSync(join(tracefs, 'events', group, event))) return event;
  removeProbes(tracefs, group);
  const probe = `e:${group}/${event} skb.kfree_skb ${definition}`;
  try {
    order(tracefs, `${probe} if ${condition}`);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EINVAL') throw error;
    // Before Linux 6.1 no probe has a condition. The first ones with it looked for its field in the probe, where it has another name.
    order(tracefs, probe);
  }
  return event;
}

/** Appends, because writing from the beginning would remove the probes of all others. */
export function order(tracefs: string, command: string): void {
  const fd = openSync(join(tracefs, 'dynamic_events'), constants.O_WRONLY | constants.O_APPEND);
  try {
    writeSync(fd, `${command}\n`);
  } finally {
    closeSync(fd);
  }
}

/** The name of the device stands last, because it may hold any character but white space. */
export function definitionFor(btf: Buffer): string {
  const { offsetOf } = readBtf(btf);
  const skb = (field: string): string => `+${offsetOf('sk_buff', field)}($skbaddr)`;
  const inum = offsetOf('net', 'ns', 'inum');
  return [
    'code=$reason:u32',
    'protocol=$protocol:u16',
    `node=@init_net+${inum}:u32`,
    `device=${skb('dev')}:x64`,
    `netns=+${inum}(+${offsetOf('net_device', 'nd_net')}(${skb('dev')})):u32`,
    `sock=${skb('sk')}:x64`,
    `socknetns=+${inum}(+${offsetOf('sock_common', 'skc_net')}(${skb('sk')})):u32`,
    `iif=${skb('skb_iif')}:u32`,
    `ifindex=+${offsetOf('net_device', 'ifindex')}(${skb('dev')}):u32`,
    `len=${skb('len')}:u32`,
    `paged=${skb('data_len')}:u32`,
    `head=${skb('head')}:x64`,
    `data=${skb('data')}:x64`,
    `nh=${skb('network_header')}:u16`,
    `dst=${skb('_skb_refdst')}:x64`,
    // The pointer to the route has its lowest bit set, unless somebody holds the route for longer (skb_dst_set_noref of the kernel).
    `mtu=+${offsetOf('net_device', 'mtu')}(${signed(offsetOf('dst_entry', 'dev') - 1)}(${skb('_skb_refdst')})):u32`,
    `bytes=+0(${skb('data')}):x64[8]`,
    `dev=+${offsetOf('net_device', 'name')}(${skb('dev')}):string`,
  ].join(' ');
}

function signed(offset: number): string {
  return offset < 0 ? String(offset) : `+${offset}`;
}

/** Removes the probes of the group, also those that a killed agent left. */
export function removeProbes(tracefs: string, group: string): void {
  const folder = join(tracefs, 'events', group);
  if (!existsSync(folder)) return;
  const trace = join(tracefs, 'instances', group);
  // A probe cannot be removed while an instance records it.
  if (existsSync(trace)) rmdirSync(trace);
  for (const entry of readdirSync(folder, { withFileTypes: true }))
    if (entry.isDirectory()) order(tracefs, `-:${group}/${entry.name}`);
}

/** More than any kernel has reasons. What finds no room there is in no count. */
const size = 512;

/** Lets the kernel count an event by the numbers in its field, which costs the reader nothing. `folder`: that of the event. */
export function startHistogram(folder: string, field: string): void {
  try {
    writeFileSync(join(folder, 'trigger'), `hist:keys=${field}:size=${size}`);
  } catch {
    // It is there already, or the kernel has no histograms (CONFIG_HIST_TRIGGERS).
  }
}

/** Reads lines like `{ reason:          7 } hitcount:         26`. Returns the count of each number; an empty map if the kernel counts nothing. */
export function readHistogram(folder: string): ReadonlyMap<number, number> {
  try {
    const text = readFileSync(join(folder, 'hist'), 'latin1');
    const lines = text.matchAll(/^\{ \w+: +(\d{1,10}) \} hitcount: +(\d{1,15})$/gm);
    return new Map(Array.from(lines, ([, number, count]) => [Number(number), Number(count)]));
  } catch {
    return new Map();
  }
}
