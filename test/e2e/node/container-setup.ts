import type { SetupOptions } from './setup-options.ts';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Mount } from './oci.ts';
import { type Container, fieldOf } from './pod-object.ts';
import { prepareVolume } from './volumes.ts';

/** The volumes of a container, and the files about its network. Throws, with what the Pod then waits for. */
export async function mountsOf(container: Container, options: SetupOptions): Promise<readonly Mount[]> {
  const { pod, folder, address } = options;
  const hosts = join(folder, 'hosts');
  writeFileSync(hosts, `127.0.0.1\tlocalhost\n${address}\t${pod.metadata.name}\n`);
  const mounts: Mount[] = [
    { destination: '/etc/hosts', source: hosts, readOnly: false },
    { destination: '/etc/resolv.conf', source: '/etc/resolv.conf', readOnly: true },
  ];
  for (const { name, mountPath, readOnly = false, subPath = '' } of container.volumeMounts ?? []) {
    const volume = pod.spec.volumes?.find((each) => each.name === name);
    if (volume === undefined) throw new Error(`there is no volume ${name}`);
    const source = join(await prepareVolume(volume, options), subPath);
    mounts.push({ destination: mountPath, source, readOnly });
  }
  // What is mounted below another must come after it.
  return mounts.toSorted((left, right) => left.destination.length - right.destination.length);
}

/** The variables that the Pod gives a container. */
export function variablesOf(container: Container, { pod, machine, address }: SetupOptions): Record<string, string> {
  if ((container.envFrom ?? []).length > 0) throw new Error('envFrom is not known here');
  return Object.fromEntries(
    (container.env ?? []).map(({ name, value = '', valueFrom }) => {
      const path = valueFrom?.fieldRef?.fieldPath;
      if (valueFrom !== undefined && path === undefined) throw new Error(`${name}: only fieldRef is known here`);
      return [name, path === undefined ? value : fieldOf(pod, path, address, machine.address)];
    }),
  );
}
