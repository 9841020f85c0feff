/** A pipeline that takes failed connections. The test sets the judge and the times. */
import type { Finding, FlowDetails } from '../../../src/base/model/finding.ts';
import type { PolicyAnswer } from '../../../src/base/model/policy-answer.ts';
import { createPrefixTable } from '../../../src/read/parsing/netfilter/prefixes.ts';
import {
  createPipeline,
  createStatistics,
  type ConnectionJudge,
  type Drop,
} from '../../../src/count/pipeline/pipeline.ts';
import { createLookupQueue } from '../../../src/count/pipeline/lookup-queue.ts';
import { createEndpointFinder, type EndpointFinder } from '../../../src/explain/resolving/endpoint-finder.ts';
import { createSeriesTable } from '../../../src/count/series/series.ts';
import { cluster, line, nine, node, pod, service } from '../../builders.ts';
import { stateOf } from '../series/state-of.ts';
import { nodeIncidents } from '../../explain/incidents/node-incidents.ts';
import { fakeTime } from '../../read/sources/fake-time.ts';

export const uid = '0b4fe5a1-6d2c-4c35-9d55-5e1c2b2f7a01';
const wordOf = (address: string): string =>
  Buffer.from(address.split('.').map(Number)).readUInt32LE().toString(16).padStart(1, '0');

export interface Connection {
  from?: string;
  to?: string;
  port?: number;
  sourcePort?: number;
  of?: string;
}

/** As the probe printed it in a guest with Linux 6.12. */
export function failureLine({
  from = '10.244.1.22',
  to = '10.244.1.30',
  port = 5432,
  sourcePort = 41_856,
  of = uid,
}: Connection = {}): string {
  return (
    `(sock.inet_sock_set_state) oldstate=2 newstate=7 protocol=6 family=2 sport=${sourcePort} dport=${port} from=0x${wordOf(from)} ` +
    `to=0x${wordOf(to)} from6={0x0,0x0} to6={0x0,0x0} error=110 tries=6 answers=0 queued=0 reported=0 cgroup=0xff43 level=4 ` +
    `first="kubepods.slice" second="kubepods-burstable.slice" third="kubepods-burstable-pod${of.replaceAll('-', '_')}.slice"`
  );
}

const shop = createEndpointFinder(
  cluster({
    pods: [
      pod({ name: 'cart-0', uid, addresses: ['10.244.1.22'] }),
      pod({ name: 'db-0', uid: 'uid-db-0', addresses: ['10.244.1.30'] }),
      pod({ name: 'db-1', uid: 'uid-db-1', addresses: ['10.244.1.31'] }),
    ],
    nodes: [node({ addresses: ['192.168.50.12'] })],
    services: [service({ name: 'db', addresses: ['10.96.0.7'] })],
  }),
);

export const answer = (outcome: PolicyAnswer['verdict']['outcome'], text = '', isOwn = true): PolicyAnswer => ({
  verdict: { outcome, text, act: '', policy: undefined, isOwn },
  facts: {
    verdict: outcome === 'denies' ? 'denied' : 'admitted',
    direction: 'egress',
    decidedBy: [text],
    count: 1,
    rule: undefined,
    nearest: undefined,
  },
});

export const peerOf = ({ details }: Finding): string => (details as FlowDetails).peer.address;
export const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

export function rig(
  judge: Partial<ConnectionJudge> = {},
  {
    isSynced = true,
    hasKernelDrops,
    isLookedUp = () => false,
    isUnsure = () => false,
    endpoints = shop,
    worked,
  }: {
    isSynced?: boolean;
    hasKernelDrops?: boolean;
    isLookedUp?: () => boolean;
    isUnsure?: () => boolean;
    endpoints?: EndpointFinder;
    worked?: () => number;
  } = {},
) {
  const time = fakeTime(nine);
  const table = createSeriesTable({ limits: { perObject: 1000, total: 1000 } });
  const statistics = createStatistics();
  const lists = { isSynced };
  const shown: Drop[] = [];
  const pipeline = createPipeline({
    prefixes: createPrefixTable(),
    endpoints,
    statistics,
    counts: () => ({ table, incidents: nodeIncidents(table.count) }),
    node: 'node-a',
    includeNoise: false,
    packets: { drop: (drop) => void shown.push(drop) },
    ...(hasKernelDrops !== undefined && { hasKernelDrops }),
    judge: { judge: () => answer('denies'), targetsOf: () => [], publishedTargetsOf: () => undefined, ...judge },
    lookups: {
      queue: createLookupQueue(10),
      remote: { startLookups: isLookedUp, isUnsure },
      isSynced: () => lists.isSynced,
      now: time.now,
      ...(worked && { worked }),
      schedule: time.schedule,
    },
  });
  return {
    lists,
    statistics,
    shown,
    fail: (connection?: Connection): void =>
      pipeline.take(line({ text: failureLine(connection), time: time.now(), program: 'kernel-drops' }), 'kernel'),
    read: (text: string, program?: string): void =>
      pipeline.take(line({ text, time: time.now(), ...(program !== undefined && { program }) }), 'kernel'),
    stop: pipeline.stop,
    repeats: pipeline.repeats,
    series: () => stateOf(table).series,
    /** Waits this long, and until everything that is due is judged. */
    async wait(this: void, duration = 4000): Promise<void> {
      for (let waited = 0; waited < duration; waited += 250) {
        time.advance(250);
        await settled();
      }
    },
    counted: (): string[] =>
      stateOf(table).series.flatMap(({ finding: { regarding, details }, count }) =>
        details.kind === 'flow' ? `${count} ${regarding.name} > ${details.peer.address}:${details.port}` : [],
      ),
  };
}

export const logLine = (sourcePort: number, from = '10.244.1.22', to = '10.244.1.31'): string =>
  `calico-drop: IN=va OUT=vb SRC=${from} DST=${to} LEN=60 TOS=0x00 PREC=0x00 TTL=63 ID=1 DF PROTO=TCP SPT=${sourcePort} DPT=5432 WINDOW=64240 RES=0x00 SYN URGP=0 `;
