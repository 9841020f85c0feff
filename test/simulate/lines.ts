/** Lines as kernels, kube-proxy and calico-node print them, without their envelopes. */
import type { LineOrigin } from '../../src/read/sources/source.ts';

export interface LoggedLine {
  text: string;
  /** A file of the kubelet, or the kernel's log. */
  source: string;
  origin: LineOrigin;
}

/** A TCP SYN that a network policy drops. */
export function droppedPacket(source: string, destination: string, port: number, sourcePort: number): LoggedLine {
  const text =
    `calico-drop: IN=cali0a1b2c3d4e5 OUT=eth0 MAC=ee:ee:ee:ee:ee:ee:02:00:00:00:00:01:08:00 SRC=${source} DST=${destination} ` +
    `LEN=60 TOS=0x00 PREC=0x00 TTL=63 ID=4711 DF PROTO=TCP SPT=${sourcePort} DPT=${port} WINDOW=64240 RES=0x00 SYN URGP=0`;
  return { text, source: '/dev/kmsg', origin: 'kernel' };
}

/** kube-proxy's sync fails because another program has deleted a chain. */
export function failedSync(source: string, time: number, chain: string): LoggedLine[] {
  return proxyLines(source, time, [
    `E 1406 "Failed to execute iptables-restore" err=<\n\texit status 2: iptables-restore v1.8.9 (legacy): ` +
      `Couldn't load target \`${chain}':No such file or directory\n\t\n\tError occurred at line: 25\n` +
      "\tTry `iptables-restore -h' or 'iptables-restore --help' for more information.\n > ipFamily=\"IPv4\"",
    'I 673 "Sync failed" ipFamily="IPv4" retryingTime="30s"',
    'I 662 "SyncProxyRules complete" ipFamily="IPv4" elapsed="6.1ms"',
  ]);
}

export function succeededSync(source: string, time: number): LoggedLine[] {
  return proxyLines(source, time, [
    'I 668 "Syncing iptables rules" ipFamily="IPv4" fullSync=true',
    'I 662 "SyncProxyRules complete" ipFamily="IPv4" elapsed="39.9ms"',
  ]);
}

function proxyLines(source: string, time: number, lines: readonly string[]): LoggedLine[] {
  return lines.map((line) => {
    const [level = '', place = '', ...rest] = line.split(' ');
    const text = `${level}${klogTime(time)}       1 proxier.go:${place}] ${rest.join(' ')}`;
    return { text, source, origin: 'container' };
  });
}

/** Felix has lost the API server. */
export function datastoreLost(source: string, time: number): LoggedLine {
  const stamp = new Date(time).toISOString().replace('T', ' ').slice(0, 23);
  const text =
    `${stamp} [ERROR][61] felix/watchercache.go 205: Failed to perform list of current data during resync ` +
    'ListRoot="/calico/resources/v3/projectcalico.org/profiles" error=Get "https://10.96.0.1:443/api/v1/namespaces": dial tcp 10.96.0.1:443: connect: connection refused';
  return { text, source, origin: 'container' };
}

export function containerLog(
  { namespace, name, uid }: { namespace: string; name: string; uid: string },
  container: string,
): string {
  return `/var/log/pods/${namespace}_${name}_${uid}/${container}/0.log`;
}

function klogTime(time: number): string {
  const text = new Date(time).toISOString();
  return `${text.slice(5, 7)}${text.slice(8, 10)} ${text.slice(11, 23)}000`;
}
