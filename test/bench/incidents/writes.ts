import { messageOf } from '../../../src/pipeline/message.ts';
import { slimEndpointSlice, slimNode, slimPod, slimService } from '../../../src/kubernetes/slim.ts';
import type { Millis } from '../../../src/model/log-line.ts';
import { createPrefixTable } from '../../../src/parsing/netfilter/prefixes.ts';
import { createPipeline } from '../../../src/pipeline/pipeline.ts';
import { createRecorder } from '../../../src/events/recorder.ts';
import { createReplayIncidents } from '../../../src/commands/replay/incidents.ts';
import { createDirectory } from '../../../src/resolving/directory.ts';
import type { ClusterObjects } from '../../../src/resolving/objects.ts';
import { createSeriesTable } from '../../../src/series/series.ts';
import { createStatistics } from '../../../src/pipeline/statistics.ts';
import type { KubernetesObject } from '../../e2e/control-plane/creatable.ts';
import { lines } from '../../incidents/catalogue/lines.ts';
import { benchPod } from '../pods.ts';
import { chainOf, nodeWithProxy } from './cluster.ts';
import { failedLines, recordsOf, syncedLines } from './records.ts';

const hour: Millis = 3_600_000;
const begin: Millis = Date.UTC(2026, 10, 21, 9);
/** The quiet after the hour, in which incidents that end by silence end and are taken back. */
const afterwards: Millis = 1_800_000;
const podsOfNode = 110;
const { name: node, proxyPod, objects, chain } = nodeWithProxy(0);

type Script = Iterable<readonly [at: Millis, record: string]>;

/** Writes to the API server of one hour of failures on a node with 110 Pods, in virtual time, by the kind of object. */
export function writes(): string[][] {
  return [
    writesOf('fails every 30 s for an hour, then is well', failing(30_000, false)),
    writesOf('fails every 90 s for an hour and is well in between', failing(90_000, true)),
    writesOf('10,000 different errors a minute for an hour', storm()),
  ];
}

function* failing(every: Millis, wellBetween: boolean): Script {
  for (let at = 0; at < hour; at += every) {
    for (const record of recordsOf(failedLines(chain))) yield [at, record];
    if (wellBetween) for (const record of recordsOf(syncedLines())) yield [at + every / 2, record];
  }
  for (const record of recordsOf(syncedLines())) yield [hour, record];
}

/** Every cause, with names of which no two are the same. */
function* storm(): Script {
  const errors = lines.filter(({ sign }) => sign !== undefined && 'code' in sign).map(({ text }) => text);
  for (let number = 0; number < 600_000; number++) {
    const text = errors[number % errors.length] ?? '';
    yield [number * 6, text.replaceAll(/KUBE-(SVC|SEP|FW|EXT|SVL|XLB)-[A-Z2-7]{16}/g, chainOf(`service-${number}`))];
  }
}

function writesOf(what: string, script: Script): string[] {
  const byObject = new Map<string, number>();
  let all = 0;
  let read = 0;
  const known = cluster();
  const directory = createDirectory(known);
  const recorder = createRecorder({
    createTable: () => createSeriesTable(),
    messageOf,
    onWrite({ event: { involvedObject } }) {
      const isProxy = involvedObject.name === proxyPod;
      const kind = involvedObject.kind === 'Pod' ? (isProxy ? 'Pod that fails' : 'Pods hit') : involvedObject.kind;
      byObject.set(kind, (byObject.get(kind) ?? 0) + 1);
      all++;
    },
  });
  const incidents = createReplayIncidents({
    objects: known,
    directory,
    felixOf: () => ({ kind: 'absent' }),
    recorder,
  });
  const pipeline = createPipeline({
    prefixes: createPrefixTable(),
    directory,
    statistics: createStatistics(),
    node,
    includeNoise: false,
    advance: atMostEverySecond(incidents.advance),
    series: recorder.series,
    incidents: incidents.of,
    nodeOfLog: incidents.nodeOfLog,
  });
  const source = `/var/log/pods/kube-system_${proxyPod}_${'0'.repeat(8)}/kube-proxy/0.log`;
  for (const [at, text] of script) {
    read++;
    pipeline.take({ source, line: read, text, time: begin + at, timeIsExact: true, host: undefined }, 'container');
  }
  incidents.advance(node, begin + hour + afterwards);
  recorder.finish();
  const parts = [...byObject].toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([kind, count]) => `${kind} ${count}`);
  return [`writes: ${what} (${read.toLocaleString('en-US')} records)`, `${all}: ${parts.join(', ')}`];
}

/** The agent looks no more often than that, either. */
function atMostEverySecond(advance: (place: string, time: Millis) => void): (place: string, time: Millis) => void {
  let latest: Millis = -Infinity;
  return (place, time) => {
    if (time < latest + 1000) return;
    latest = time;
    advance(place, time);
  };
}

function cluster(): ClusterObjects {
  const all: KubernetesObject[] = [
    ...objects,
    ...Array.from({ length: podsOfNode }, (_, number) => benchPod(number, 0)),
  ].map(withUid);
  const of = (kind: string): KubernetesObject[] => all.filter((object) => object.kind === kind);
  return {
    pods: of('Pod').map((pod) => slimPod(pod)),
    nodes: of('Node').map(slimNode),
    services: of('Service').map(slimService),
    endpointSlices: of('EndpointSlice').map(slimEndpointSlice),
    namespaces: [],
  };
}

function withUid(object: KubernetesObject, number: number): KubernetesObject {
  const uid = `00000000-0000-4000-8000-${String(number).padStart(12, '0')}`;
  return { ...object, metadata: { ...object.metadata, uid, resourceVersion: '1' } };
}
