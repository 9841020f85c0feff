import { arch, release } from 'node:os';
import { KUBERNETES_VERSION } from '../control-plane/binaries.ts';
import type { KubernetesObject } from '../control-plane/creatable.ts';
import { now } from './pod-status.ts';

/** A Node as a kubelet registers it, which is ready. The API server reaches its kubelet on 127.0.0.1, where the test machine's is. */
export function nodeObject(name: string, address: string, podCIDR: string, kubeletPort: number): KubernetesObject {
  const architecture = arch() === 'x64' ? 'amd64' : arch();
  const since = now();
  const condition = (type: string, status: string): object => ({
    type,
    status,
    reason: 'KubeletReady',
    lastHeartbeatTime: since,
    lastTransitionTime: since,
  });
  const resources = { cpu: '2', memory: '4Gi', pods: '110', 'ephemeral-storage': '10Gi' };
  const labels = { 'kubernetes.io/hostname': name, 'kubernetes.io/os': 'linux', 'kubernetes.io/arch': architecture };
  return {
    apiVersion: 'v1',
    kind: 'Node',
    metadata: { name, labels },
    spec: { podCIDR, podCIDRs: [podCIDR] },
    status: {
      addresses: [
        { type: 'InternalIP', address },
        { type: 'Hostname', address: name },
        { type: 'ExternalDNS', address: 'localhost' },
      ],
      daemonEndpoints: { kubeletEndpoint: { Port: kubeletPort } },
      capacity: resources,
      allocatable: resources,
      conditions: [
        condition('MemoryPressure', 'False'),
        condition('DiskPressure', 'False'),
        condition('PIDPressure', 'False'),
        condition('Ready', 'True'),
      ],
      nodeInfo: {
        machineID: '',
        systemUUID: '',
        bootID: '',
        kernelVersion: release(),
        osImage: 'test',
        kubeProxyVersion: '',
        containerRuntimeVersion: 'crun://',
        kubeletVersion: `v${KUBERNETES_VERSION}`,
        operatingSystem: 'linux',
        architecture,
      },
    },
  };
}
