/** Writes the inputs of `npm run bench -- growth`: saved objects and logs of any size, at a time in the past. */
import { closeSync, openSync, writeSync } from 'node:fs';
import { benchPod } from '../pods.ts';

/** The first line of each log. */
const begin = Date.parse('2026-03-02T08:00:00Z');
const hour = 3_600_000;

interface Cluster {
  pods: number;
  /** The hours after the log's first line during which the Pods started; 0: all started before it. */
  startedDuring?: number;
  /** Whether each Pod is as large as `kubectl get -o json` prints it. */
  isWhole?: boolean;
  /** Characters of an annotation of each Pod. */
  annotation?: number;
}

/** A snapshot as `kubectl get -o json` prints it: indented by four spaces. */
export function writeSnapshot(
  file: string,
  { pods, startedDuring = 0, isWhole = false, annotation = 0 }: Cluster,
): void {
  const annotations = annotation === 0 ? {} : { 'example.com/configuration': 'c'.repeat(annotation) };
  writeParts(file, function* parts() {
    yield '{\n    "apiVersion": "v1",\n    "items": [\n';
    for (let number = 0; number < pods; number++) {
      const { metadata, spec, status } = benchPod(number, number % 100);
      const started = startedDuring === 0 ? begin - hour : begin + (number / pods) * startedDuring * hour;
      const startTime = new Date(started).toISOString().replace(/\.\d+/, '');
      const uid = `00000000-0000-4000-8000-${String(number).padStart(12, '0')}`;
      const pod = {
        apiVersion: 'v1',
        kind: 'Pod',
        metadata: isWhole ? { ...metadata, uid } : { ...metadata, uid, annotations },
        spec: isWhole ? spec : { nodeName: spec?.['nodeName'] },
        status: { ...status, startTime },
      };
      yield `${number === 0 ? '' : ',\n'}${JSON.stringify(pod, null, 4)}`;
    }
    yield '\n    ],\n    "kind": "List"\n}\n';
  });
}

interface Log {
  lines: number;
  /** One in this many lines is a dropped packet. */
  dropEvery?: number;
  pods: number;
  /** Senders outside the cluster, in turn; 'random': another one for each packet. */
  senders: number | 'random';
  hosts?: number;
  hours: number;
  /** How the Pod of a drop is chosen: in turn, or as far through the Pods as the line is through the log. */
  receiver?: 'in turn' | 'as time passes';
  prefixes?: number;
}

/** A log as rsyslog writes it. */
export function writeGrowthLog(file: string, log: Log): void {
  const { lines, dropEvery = 1, pods, senders, hosts = 1, hours, receiver = 'in turn', prefixes = 1 } = log;
  const addresses = Array.from({ length: pods }, (_, number) => benchPod(number, 0).status.podIP);
  writeParts(file, function* parts() {
    for (let number = 0; number < lines; number++) {
      const time = new Date(begin + (number / lines) * hours * hour).toISOString();
      const head = `${time.slice(0, -1)}000+00:00 node-${String(number % hosts).padStart(3, '0')}`;
      if (number % dropEvery !== 0) {
        yield `${head} systemd[1]: Started session ${number} of user root, containerd task cri-containerd-${number % 97}.scope.\n`;
        continue;
      }
      const at = receiver === 'in turn' ? Math.floor(number / dropEvery) % pods : Math.floor((number / lines) * pods);
      const sender = senders === 'random' ? Math.imul(number, 2_654_435_761) >>> 0 : number % senders;
      const source = `${20 + ((sender >>> 24) % 80)}.${(sender >>> 16) & 255}.${(sender >>> 8) & 255}.${sender & 255}`;
      const prefix = prefixes === 1 ? 'calico-drop' : `calico-drop-${number % prefixes}`;
      yield (
        `${head} kernel: [${(86_400 + number / 5000).toFixed(6)}] ${prefix}: IN=eth0 OUT=lxc${at} MAC=ee:ee:ee:ee:ee:ee:c6:22:0b:f9:63:81:08:00 ` +
        `SRC=${source} DST=${addresses[at]} LEN=60 TOS=0x00 PREC=0x00 TTL=63 ID=${number % 65_536} DF PROTO=TCP ` +
        `SPT=${32_768 + (number % 28_000)} DPT=${[80, 443, 5432, 8080][number % 4]} WINDOW=64240 RES=0x00 SYN URGP=0 \n`
      );
    }
  });
}

/** The objects of `why`: two Pods, and policies for one of them, each with rules for other peers; and other Pods, as kubectl prints them. */
export function writePolicies(file: string, { policies = 1, rules = 1, pods = 0 }): void {
  writeParts(file, function* parts() {
    yield '{"apiVersion":"v1","kind":"List","items":[';
    for (let number = 0; number < pods; number++) yield `${JSON.stringify(benchPod(number + 256, number % 100))},`;
    for (const name of ['web', 'client'])
      yield `${JSON.stringify({
        apiVersion: 'v1',
        kind: 'Pod',
        metadata: { name, namespace: 'bench', labels: { app: name } },
        spec: { nodeName: 'node-000' },
        status: { podIP: name === 'web' ? '10.64.0.1' : '10.64.0.2', phase: 'Running' },
      })},`;
    for (let number = 0; number < policies; number++)
      yield `${JSON.stringify({
        apiVersion: 'networking.k8s.io/v1',
        kind: 'NetworkPolicy',
        metadata: { name: `policy-${number}`, namespace: 'bench' },
        spec: {
          podSelector: { matchLabels: { app: 'web' } },
          ingress: Array.from({ length: rules }, (_, rule) => ({
            from: [{ podSelector: { matchLabels: { app: `peer-${number}-${rule}` } } }],
            ports: [{ port: 1024 + rule }],
          })),
        },
      })},`;
    yield '{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"bench"}}]}';
  });
}

function writeParts(file: string, parts: () => Iterable<string>): void {
  const fd = openSync(file, 'w');
  let block = '';
  for (const part of parts()) {
    block += part;
    if (block.length < 1 << 20) continue;
    writeSync(fd, block);
    block = '';
  }
  writeSync(fd, block);
  closeSync(fd);
}
