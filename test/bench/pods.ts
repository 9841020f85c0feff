/** Objects as a cluster has them: a Pod of 14 KB, most of which no code here reads. */
import { writeFileSync } from 'node:fs';
import type { KubernetesObject } from '../e2e/control-plane/creatable.ts';

interface BenchPod extends KubernetesObject {
  status: { podIP: string } & Record<string, unknown>;
}

/** Logs are stamped now. */
const started = new Date(Date.now() - 3_600_000).toISOString().replace(/\.\d+/, '');
const replicas = 20;

export function benchNode(number: number): KubernetesObject {
  const address = `192.168.${number >> 8}.${number & 255}`;
  return {
    apiVersion: 'v1',
    kind: 'Node',
    metadata: { name: nodeName(number) },
    spec: {},
    status: { addresses: [{ type: 'InternalIP', address }] },
  };
}

/** A Pod of a Deployment of 20; its address follows from its number. */
export function benchPod(number: number, node: number): BenchPod {
  const deployment = `service-${Math.floor(number / replicas)}`;
  const hash = `${(0x6c8d5f7b + Math.floor(number / replicas)).toString(16)}94`;
  const podIP = `10.${64 + (number >> 16)}.${(number >> 8) & 255}.${number & 255}`;
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name: `${deployment}-${hash}-${(0x5a000 + number).toString(36)}`,
      namespace: 'bench',
      labels: { app: deployment, 'pod-template-hash': hash, 'app.kubernetes.io/managed-by': 'bench' },
      annotations: { 'example.com/configuration': 'c'.repeat(4000) },
      ownerReferences: [
        {
          apiVersion: 'apps/v1',
          kind: 'ReplicaSet',
          name: `${deployment}-${hash}`,
          uid: '00000000-0000-4000-8000-000000000000',
          controller: true,
        },
      ],
    },
    spec: {
      nodeName: nodeName(node),
      containers: Array.from({ length: 3 }, (_, index) => ({
        name: `container-${index}`,
        image: `registry.example.com/team/${deployment}:1.${index}`,
        env: Array.from({ length: 20 }, (__, each) => ({
          name: `SETTING_${each}`,
          value: 'value-of-some-length'.repeat(3),
        })),
      })),
    },
    status: {
      phase: 'Running',
      podIP,
      podIPs: [{ ip: podIP }, { ip: `fd00:10::${(number + 1).toString(16)}` }],
      startTime: started,
      conditions: [{ type: 'Ready', status: 'True', lastTransitionTime: started }],
    },
  };
}

/** Writes a snapshot of the Pods of one node, for `replay`. */
export function writeCluster(file: string, count: number): void {
  const pods = Array.from({ length: count }, (_, number) => {
    const { metadata, ...pod } = benchPod(number, 0);
    const uid = `00000000-0000-4000-8000-${String(number).padStart(12, '0')}`;
    return { ...pod, metadata: { ...metadata, uid, annotations: {} }, spec: { nodeName: nodeName(0) } };
  });
  writeFileSync(file, JSON.stringify({ apiVersion: 'v1', kind: 'List', items: pods }));
}

function nodeName(number: number): string {
  return `node-${String(number).padStart(3, '0')}`;
}
