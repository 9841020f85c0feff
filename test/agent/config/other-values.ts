import type { Config } from '../../../src/agent/config/config.ts';

const tables: {
  others: Record<keyof Config, [flag: string | string[], env: string, expected: unknown]>;
} = {
  // A value of each setting other than its default: as a flag, as a variable, and its meaning.
  others: {
    node: ['node-b', 'node-b', 'node-b'],
    sources: [
      ['kernel', 'file:/var/log/kern.log'],
      'kernel,file:/var/log/kern.log',
      [{ kind: 'kernel' }, { kind: 'file', path: '/var/log/kern.log' }],
    ],
    containers: [
      ['kube-system/cilium*/agent', 'a,b/*/c'],
      'kube-system/cilium*/agent a,b/*/c',
      [
        { namespaces: ['kube-system'], pods: ['cilium*'], containers: ['agent'] },
        { namespaces: ['a', 'b'], pods: ['*'], containers: ['c'] },
      ],
    ],
    podLogs: ['/pods', '/pods', '/pods'],
    units: [['rke2', 'machine-a.scope'], 'rke2 machine-a.scope', ['rke2.service', 'machine-a.scope']],
    stateDir: ['/state', '/state', '/state'],
    podCache: ['cluster', 'cluster', 'cluster'],
    podLookups: [['field-selector', 'pod-cidr'], 'field-selector pod-cidr', ['field-selector', 'pod-cidr']],
    directory: ['/directory', '/directory', '/directory'],
    policies: ['off', 'off', 'off'],
    prefixes: [
      ['my-drop=dropped', 'noted=logged'],
      'my-drop=dropped\nnoted=logged',
      [
        { prefix: 'my-drop', verdict: 'dropped' },
        { prefix: 'noted', verdict: 'logged' },
      ],
    ],
    includeNoise: ['true', 'true', true],
    nodeCondition: ['true', 'true', true],
    timeZone: ['Europe/Berlin', 'Europe/Berlin', 'Europe/Berlin'],
    reverseDns: ['false', 'false', false],
    metricsAddress: ['[::1]:8080', '[::1]:8080', '[::1]:8080'],
    healthAddress: [':8081', ':8081', ':8081'],
    dropsAddress: [':8082', ':8082', ':8082'],
    legacyMetric: ['workload', 'workload', 'workload'],
    logLevel: ['debug', 'debug', 'debug'],
    kubeconfig: ['/kubeconfig', '', '/kubeconfig'],
    cluster: ['prod', 'prod', 'prod'],
    audit: [
      ['file:/audit.ndjson', 'otlp:https://collector:4318'],
      'file:/audit.ndjson,otlp:https://collector:4318',
      [
        { kind: 'file', path: '/audit.ndjson' },
        { kind: 'otlp', url: 'https://collector:4318' },
      ],
    ],
    auditVerdicts: [['dropped', 'accepted'], 'dropped accepted', ['dropped', 'accepted']],
    auditInterval: ['10', '10', 10],
    auditQueue: ['64', '64', 64],
    auditPeers: ['redacted', 'redacted', 'redacted'],
    auditIpv4Prefix: ['24', '24', 24],
    auditIpv6Prefix: ['48', '48', 48],
    auditOptOut: ['true', 'true', true],
    auditLabels: [['app', 'example.com/team'], 'app,example.com/team', ['app', 'example.com/team']],
    auditFileSize: ['1', '1', 1],
    auditFileTotal: ['1', '1', 1],
    auditOtlpHeaders: ['/headers', '/headers', '/headers'],
    auditOtlpCa: ['/ca.pem', '/ca.pem', '/ca.pem'],
    maxNodes: ['0', '0', 0],
    maxServices: ['123456789', '123456789', 123456789],
    maxEndpointSlices: ['0', '0', 0],
    procRoot: ['/host/proc', '/host/proc', '/host/proc'],
  },
};

/** A value of each setting other than its default: as a flag; as a variable, if that differs; and its meaning. */
export const others: Record<keyof Config, [flag: string | string[], env: string, expected: unknown]> = tables.others;
