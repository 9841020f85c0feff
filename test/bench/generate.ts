import { closeSync, openSync, writeFileSync, writeSync } from 'node:fs';
import { interfaceNames } from '../../src/resolving/pod-index.ts';

/** A node of 110 Pods, as many as the kubelet takes by default, in 20 Deployments; and as many Pods on other nodes. */
const podsPerNode = 110;
const start = Date.UTC(2026, 10, 21, 3);

interface BenchPod {
  name: string;
  address: string;
  veth: string;
}

/** Writes a snapshot of the cluster that the logs are about. */
export function writeCluster(file: string): void {
  const items = [...pods(0), ...pods(1)].map(({ name, address }, index) => ({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name,
      namespace: 'bench',
      uid: `00000000-0000-4000-8000-${String(index).padStart(12, '0')}`,
      labels: { 'pod-template-hash': 'abcde' },
      ownerReferences: [
        { apiVersion: 'apps/v1', kind: 'ReplicaSet', name: `app${index % 20}-abcde`, controller: true },
      ],
    },
    spec: { nodeName: index < podsPerNode ? 'node-0' : 'node-1' },
    status: { phase: 'Running', podIP: address, podIPs: [{ ip: address }], startTime: '2026-11-20T00:00:00Z' },
  }));
  writeFileSync(file, JSON.stringify({ apiVersion: 'v1', kind: 'List', items }));
}

/**
 * Writes a kern.log of at least `bytes` in which every `every`th line is a drop; returns the number of lines. In a `flood`
 * each drop has another source, and nothing that is remembered helps.
 */
export function writeLog(file: string, bytes: number, every: number, flood = false): { lines: number; drops: number } {
  const local = pods(0);
  const remote = pods(1);
  const fd = openSync(file, 'w');
  let size = 0;
  let lines = 0;
  let drops = 0;
  for (let chunk = ''; size < bytes; chunk = '') {
    for (; chunk.length < 1 << 20; lines++) {
      const stamp = stampOf(start + lines / 2);
      if (lines % every === 0) chunk += dropLine(drops++, stamp, local, remote, flood);
      else
        chunk += `${stamp} node-0 systemd[1]: Started session ${lines} of user root, containerd task cri-containerd-${lines % 97}.scope.\n`;
    }
    writeSync(fd, chunk);
    size += chunk.length;
  }
  closeSync(fd);
  return { lines, drops };
}

function dropLine(n: number, stamp: string, local: BenchPod[], remote: BenchPod[], flood: boolean): string {
  const from = (n % 2 === 0 ? local : remote)[n % podsPerNode] as BenchPod;
  const to = local[(n * 7 + 1) % podsPerNode] as BenchPod;
  const iface = n % 2 === 0 && !flood ? from.veth : 'eth0';
  // A multiplication by an odd number modulo 2^32 gives every number once.
  const stranger = Math.imul(n, 2_654_435_761) >>> 0;
  const source = flood
    ? [1 + ((stranger >>> 24) % 200), (stranger >>> 16) & 255, (stranger >>> 8) & 255, stranger & 255].join('.')
    : from.address;
  const uptime = (86_400 + n / 5000).toFixed(6);
  return (
    `${stamp} node-0 kernel: [${uptime}] calico-drop: IN=${iface} OUT=${to.veth} MAC=ee:ee:ee:ee:ee:ee:c6:22:0b:f9:63:81:08:00 SRC=${source} DST=${to.address} ` +
    `LEN=60 TOS=0x00 PREC=0x00 TTL=63 ID=${n % 65_536} DF PROTO=TCP SPT=${32_768 + (n % 28_000)} DPT=${[80, 443, 5432, 8080][n % 4]} WINDOW=64240 RES=0x00 SYN URGP=0 \n`
  );
}

function pods(node: number): BenchPod[] {
  return Array.from({ length: podsPerNode }, (_, index) => {
    const name = `app${(node * podsPerNode + index) % 20}-abcde-${node}${String(index).padStart(4, '0')}`;
    return { name, address: `10.244.${node}.${index + 2}`, veth: interfaceNames('bench', name)[0] as string };
  });
}

/** RFC 3164. */
function stampOf(time: number): string {
  const iso = new Date(time).toISOString();
  return `Nov ${iso.slice(8, 10).replace(/^0/, ' ')} ${iso.slice(11, 19)}`;
}
