import { verdicts } from '../../model/packet.ts';
import type { MetricRow } from '../metric-row.ts';

const code = 'a cause: KN102, …; see docs/causes';

/** What is found in them, and counted. */
export const counting = {
  packets: {
    type: 'counter',
    name: 'packets_total',
    labels: { verdict: verdicts },
    help: 'Packets that were logged, by what became of them as far as the LOG prefix tells.',
  },
  lastDrop: {
    type: 'gauge',
    name: 'last_drop_timestamp_seconds',
    labels: {},
    help: 'When a lost packet was last seen (Unix time, good to five seconds; over a restart, from the state); 0: none is known of.',
  },
  unparsable: {
    type: 'counter',
    name: 'unparsable_total',
    labels: {},
    help: 'Lines of a known format that could not be understood.',
  },
  dropsWithoutPod: {
    type: 'counter',
    name: 'drops_without_pod_total',
    labels: {},
    help: 'Lost packets with no known Pod at either end.',
  },
  noise: {
    type: 'counter',
    name: 'noise_total',
    labels: {},
    help: 'Lost packets that are chatter of the link (multicast, broadcast, DHCP, …) and make no Event.',
  },
  programRecords: {
    type: 'counter',
    name: 'program_records_total',
    labels: {},
    help: 'Records that kube-proxy and calico-node wrote about their own work and that could be read.',
  },
  failures: {
    type: 'counter',
    name: 'failures_total',
    labels: { code },
    help: 'Failures of kube-proxy, calico-node and kernel tables, also those that happened once and are no incident.',
  },
  failuresUnrepeated: {
    type: 'counter',
    name: 'failures_unrepeated_total',
    labels: { code },
    help: 'Attempts that failed once and were forgotten 15 minutes later, or longer where it is tried again more rarely: no Event tells of them.',
  },
  incidentsOpen: { type: 'gauge', name: 'incident_open', labels: { code }, help: '1 while an incident lasts, else 0.' },
  incidentsOpened: {
    type: 'counter',
    name: 'incidents_opened_total',
    labels: { code },
    help: 'Incidents: failures that came again.',
  },
  series: { type: 'gauge', name: 'series', labels: {}, help: 'Problems that are being counted.' },
  seriesUncountedPackets: {
    type: 'counter',
    name: 'series_uncounted_packets_total',
    labels: {},
    help: 'Lost packets that no Event tells of, because there were too many problems at once.',
  },
  seriesOverflowPackets: {
    type: 'counter',
    name: 'series_overflow_packets_total',
    labels: {},
    help: 'Lost packets counted in the Event "and N other peers" of a Pod with too many problems.',
  },
  waitingFlows: {
    type: 'gauge',
    name: 'waiting_flows',
    labels: {},
    help: 'Flows that wait until it is known whose they are.',
  },
  waitingOverflowPackets: {
    type: 'counter',
    name: 'waiting_overflow_packets_total',
    labels: {},
    help: 'Lost packets that found no room to wait and were counted with what was known.',
  },
} as const satisfies Record<string, MetricRow>;
