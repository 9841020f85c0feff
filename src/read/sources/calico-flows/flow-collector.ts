/** The part of Goldmane's protocol with which Calico's Felix reports the flows of its node (goldmane/proto/api.proto). */
import type { ServiceDefinition } from '@grpc/grpc-js';
import { fromJSON } from '@grpc/proto-loader';

/** Fields that are zero are missing. The value of an enumeration is its name, or its number if this program does not know it. */
export interface GoldmaneFlow {
  readonly Key?: FlowKey;
  /** The beginning of the interval, in seconds. */
  readonly start_time?: number;
  readonly packets_in?: number;
  readonly packets_out?: number;
  readonly num_connections_started?: number;
}

interface FlowKey {
  readonly action?: string | number;
}

const field = (id: number, type: string) => ({ type, id });
const repeated = (id: number, type: string) => ({ type, id, rule: 'repeated' });
const enumeration = (...names: string[]) => ({ values: Object.fromEntries(names.map((name, id) => [name, id])) });

const goldmane = {
  FlowUpdate: { fields: { flow: field(1, 'Flow') } },
  FlowReceipt: { fields: {} },
  Flow: {
    fields: {
      Key: field(1, 'FlowKey'),
      start_time: field(2, 'int64'),
      packets_in: field(6, 'int64'),
      packets_out: field(7, 'int64'),
      num_connections_started: field(10, 'int64'),
    },
  },
  FlowKey: {
    fields: {
      source_name: field(1, 'string'),
      source_namespace: field(2, 'string'),
      source_type: field(3, 'EndpointType'),
      dest_name: field(4, 'string'),
      dest_namespace: field(5, 'string'),
      dest_type: field(6, 'EndpointType'),
      dest_port: field(7, 'int64'),
      proto: field(12, 'string'),
      reporter: field(13, 'Reporter'),
      action: field(14, 'Action'),
      policies: field(15, 'PolicyTrace'),
    },
  },
  PolicyTrace: { fields: { enforced_policies: repeated(1, 'PolicyHit') } },
  PolicyHit: {
    fields: {
      kind: field(1, 'PolicyKind'),
      namespace: field(2, 'string'),
      name: field(3, 'string'),
      tier: field(4, 'string'),
      action: field(5, 'Action'),
      trigger: field(8, 'PolicyHit'),
    },
  },
  EndpointType: enumeration('EndpointTypeUnspecified', 'WorkloadEndpoint', 'HostEndpoint', 'NetworkSet', 'Network'),
  Reporter: enumeration('ReporterUnspecified', 'Src', 'Dst'),
  Action: enumeration('ActionUnspecified', 'Allow', 'Deny', 'Pass'),
  PolicyKind: enumeration(
    'KindUnspecified',
    'CalicoNetworkPolicy',
    'GlobalNetworkPolicy',
    'StagedNetworkPolicy',
    'StagedGlobalNetworkPolicy',
    'StagedKubernetesNetworkPolicy',
    'NetworkPolicy',
    'AdminNetworkPolicy',
    'BaselineAdminNetworkPolicy',
    'Profile',
    'EndOfTier',
    'ClusterNetworkPolicy',
  ),
  FlowCollector: {
    methods: {
      Connect: {
        requestType: 'FlowUpdate',
        requestStream: true,
        responseType: 'FlowReceipt',
        responseStream: true,
        comment: '',
      },
    },
  },
};

/** The service that Felix connects to. Felix waits for a `FlowReceipt` after each `FlowUpdate`. */
export const flowCollector = fromJSON(
  { nested: { goldmane: { nested: goldmane } } },
  { keepCase: true, longs: Number, enums: String },
)['goldmane.FlowCollector'] as ServiceDefinition;
