import { closeSync, openSync, writeSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { interfaceNames } from '../../src/explain/resolving/pod-index.ts';
import { benchPod } from './pods.ts';

export type LogKind = '1 drop in 10' | 'drops only' | 'each drop of another flow';

const node = 'node-000';
let sequence = 0;

/** The log begins with more bytes than kube-iptables-tailer recognizes a file by. */
export function firstLine(): string {
  return `${stamp()} ${node} systemd[1]: Reached target multi-user.target, Multi-User System, after a while.\n`;
}

/** Writes a log of at least this many bytes as rsyslog does, stamped now; returns the number of its lines. */
export function writeLog(file: string, kind: LogKind, bytes: number, pods: number): number {
  const nextLine = createLiveLines(kind, pods);
  const fd = openSync(file, 'w');
  let size = 0;
  let lines = 0;
  for (let chunk = ''; size < bytes; chunk = '') {
    for (; chunk.length < 1 << 20; lines++) chunk += nextLine();
    size += writeSync(fd, chunk);
  }
  closeSync(fd);
  return lines;
}

export interface Written {
  lines: number;
  seconds: number;
  /** The most milliseconds by which the writer was behind its rate. */
  behind: number;
}

/** Appends `rate` lines a second for `duration` seconds. */
export async function writeAtRate(
  file: string,
  nextLine: () => string,
  rate: number,
  duration: number,
): Promise<Written> {
  const log = openSync(file, 'a');
  const began = performance.now();
  let written: Written = { lines: 0, seconds: 0, behind: 0 };
  while (written.lines < rate * duration) {
    // rsyslog writes as records arrive; the kernel wakes the readers of its log within ten milliseconds.
    await delay(10);
    let { lines } = written;
    const due = Math.min(rate * duration, Math.floor(((performance.now() - began) / 1000) * rate));
    let text = '';
    for (; lines < due; lines++) text += nextLine();
    if (text !== '') writeSync(log, text);
    const seconds = (performance.now() - began) / 1000;
    written = { lines, seconds, behind: Math.max(written.behind, (seconds - lines / rate) * 1000) };
  }
  closeSync(log);
  return written;
}

/** Each call makes the next line, stamped now. */
export function createLiveLines(kind: LogKind, pods: number): () => string {
  const ends = Array.from({ length: pods }, (_, number) => {
    const { metadata, status } = benchPod(number, 0);
    return { address: status.podIP, veth: interfaceNames('bench', metadata.name)[0] };
  });
  let lines = 0;
  return () => {
    const number = lines++;
    const head = `${stamp()} ${node}`;
    if (kind !== '1 drop in 10' || number % 10 === 0) return `${head} kernel: ${packet()}\n`;
    return `${head} systemd[1]: Started session ${number} of user root, containerd task cri-containerd-${number % 97}.scope.\n`;
  };

  function packet(): string {
    const n = sequence++;
    const to = ends[(n * 7 + 1) % pods];
    const from = ends[n % pods];
    const stranger = Math.imul(n, 2_654_435_761) >>> 0;
    const source =
      kind === 'each drop of another flow'
        ? [1 + ((stranger >>> 24) % 200), (stranger >>> 16) & 255, (stranger >>> 8) & 255, stranger & 255].join('.')
        : from?.address;
    const device = source === from?.address ? from?.veth : 'eth0';
    return (
      `[${(86_400 + n / 5000).toFixed(6)}] calico-drop: IN=${device} OUT=${to?.veth} MAC=ee:ee:ee:ee:ee:ee:c6:22:0b:f9:63:81:08:00 SRC=${source} DST=${to?.address} ` +
      `LEN=60 TOS=0x00 PREC=0x00 TTL=63 ID=${n % 65_536} DF PROTO=TCP SPT=${32_768 + (n % 28_000)} DPT=${[80, 443, 5432, 8080][n % 4]} WINDOW=64240 RES=0x00 SYN URGP=0 `
    );
  }
}

/** RFC 3339 with microseconds and an offset, which both readers understand. */
function stamp(): string {
  const micros = String(sequence % 1000).padStart(3, '0');
  return `${new Date().toISOString().slice(0, -1)}${micros}+00:00`;
}
