/** Reads the trace of the connections of Pods that failed. */
import type { ConnectFailure, Unparsable } from '../../base/model/observation.ts';
import { connectFailure, TcpFlag } from '../../base/model/packet.ts';
import { observePacket, unparsable } from './policy-loggers/record.ts';

/** A saved trace has the task, the processor and the time before it. The name of a task may be any 15 bytes. */
const begin =
  /^(?:.{1,16}-\d{1,10} +\[\d{3,5}\] \S{1,8} +\d{1,10}\.\d{1,9}: connect_\w{8}: )?\(sock\.inet_sock_set_state\) oldstate=/;
const half = String.raw`0x[\da-f]{1,16}`;
const nameAs = (field: string): string => String.raw`${field}=(?:"(?<${field}>[^\s"]{1,255})"|\(fault\))`;
const line = new RegExp(
  [
    String.raw`\(sock\.inet_sock_set_state\) oldstate=2 newstate=7 protocol=6 family=(?<family>2|10)`,
    String.raw`sport=(?<sport>\d{1,5}) dport=(?<dport>\d{1,5}) from=0x(?<from>[\da-f]{1,8}) to=0x(?<to>[\da-f]{1,8})`,
    String.raw`from6=\{(?<from6>${half},${half})\} to6=\{(?<to6>${half},${half})\}`,
    String.raw`error=(?<error>\d{1,10}) tries=(?<tries>\d{1,3}) answers=(?<answers>\d{1,10}) queued=\d{1,10} reported=\d{1,10}`,
    String.raw`cgroup=0x(?<cgroup>[\da-f]{1,16}) level=(?<level>\d{1,10}) ${nameAs('first')} ${nameAs('second')} ${nameAs('third')}$`,
  ].join(' '),
);

/**
 * Reads a connection that ended before it was established, as the probe in src/read/sources/tracefs/connects.ts prints it:
 *
 *     (sock.inet_sock_set_state) oldstate=2 newstate=7 … from=0x1601f40a … tries=2 answers=0 … first="kubepods.slice" …
 *
 * A Pod can choose only the destination and, with CAP_NET_RAW, the source address: the cgroup identifies the Pod.
 */
export function parseConnectFailure(text: string): ConnectFailure | Unparsable | undefined {
  if (!begin.test(text)) return undefined;
  const { groups } = line.exec(text) ?? {};
  if (groups === undefined) return unparsable(connectFailure, 'the line is not as the probe prints it');
  const of = (field: string): string => groups[field] ?? '';
  if (of('answers') !== '0') return unparsable(connectFailure, 'the other end has answered');
  // If a pointer is 0, the kernel prints what was in memory before, as it does for cgroups below the last one.
  const levels = /^0+$/.test(of('cgroup')) ? 0 : Number(of('level'));
  const pod = podOf(['first', 'second', 'third'].slice(0, levels).map(of));
  if (pod === undefined) return unparsable(connectFailure, 'its cgroup is not that of a Pod');
  const isFour = of('family') === '2';
  const connection = observePacket({
    logger: connectFailure,
    verdict: 'dropped',
    source: isFour ? fourOf(of('from')) : sixOf(of('from6')),
    destination: isFour ? fourOf(of('to')) : sixOf(of('to6')),
    protocol: 'TCP',
    sourcePort: of('sport'),
    destinationPort: of('dport'),
    tcpFlags: TcpFlag.SYN,
  });
  return connection.kind === 'packet' ? { kind: 'connect-failure', pod, connection } : connection;
}

/** The names that kubelets give to cgroups, by systemd and without: `kubepods.slice`, `kubepods-burstable.slice`, `kubepods-burstable-podUID.slice`. */
const root = /^kubepods(?:\.slice)?$/;
const quality = /^(?:kubepods-)?(?:burstable|besteffort)(?:\.slice)?$/;
const ofPod =
  /^(?:kubepods-(?:burstable-|besteffort-)?)?pod([\da-f]{8}(?:[_-][\da-f]{4}){3}[_-][\da-f]{12}|[\da-f]{32})(?:\.slice)?$/;

/** Returns the uid of the Pod. `names`: of the cgroups from the root on, since a Pod may make others, with any names, below its own. */
function podOf([first = '', second = '', third = '']: readonly string[]): string | undefined {
  if (!root.test(first)) return undefined;
  return ofPod.exec(quality.test(second) ? third : second)?.[1]?.replaceAll('_', '-');
}

/** The kernel prints four bytes as one number, the first byte last. */
function fourOf(word: string): string {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32LE(Number.parseInt(word, 16));
  return bytes.join('.');
}

/** A socket of IPv6 may have an address of IPv4: `::ffff:10.244.1.22`. */
function sixOf(words: string): string {
  const bytes = Buffer.alloc(16);
  for (const [index, word] of words.split(',').entries()) bytes.writeBigUInt64LE(BigInt(word), index * 8);
  const isMapped = bytes.readBigUInt64BE(0) === 0n && bytes.readUInt32BE(8) === 0xffff;
  if (isMapped) return bytes.subarray(12).join('.');
  return Array.from({ length: 8 }, (_, index) => bytes.readUInt16BE(index * 2).toString(16)).join(':');
}
