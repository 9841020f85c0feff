// The options of `podman run` for what a DaemonSet says of its Pods: image-pod.mjs NODE < MANIFESTS
// NODE is the folder that stands for the root of a node. Prints one option a line.
import { mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { loadAll } from 'js-yaml';

const [, , node] = process.argv;
if (node === undefined) {
  console.error('image-pod.mjs: expected the folder that stands for the root of a node');
  process.exit(2);
}
const daemonSet = loadAll(readFileSync(0, 'utf8')).find(({ kind }) => kind === 'DaemonSet');
const { containers, securityContext: pod, volumes, hostPID, hostNetwork } = daemonSet.spec.template.spec;
const [{ env, volumeMounts, securityContext: container, resources }] = containers;

const options = [
  '--read-only-tmpfs=false',
  `--user=${pod.runAsUser}:${pod.runAsGroup}`,
  `--memory=${resources.limits.memory.replace('Mi', 'm')}`,
  ...(container.readOnlyRootFilesystem ? ['--read-only'] : []),
  ...(container.privileged ? ['--privileged'] : []),
  ...(container.allowPrivilegeEscalation ? [] : ['--security-opt=no-new-privileges']),
  ...(pod.supplementalGroups ?? []).map((group) => `--group-add=${group}`),
  ...(container.capabilities?.drop ?? []).map((name) => `--cap-drop=${name.toLowerCase()}`),
  ...(container.capabilities?.add ?? []).map((name) => `--cap-add=${name}`),
  ...env.map(({ name, value = 'proof-node' }) => `--env=${name}=${value}`),
  ...volumeMounts.map(
    ({ name, mountPath, readOnly }) => `--volume=${source(name)}:${mountPath}${readOnly ? ':ro' : ''}`,
  ),
];
if (hostPID || hostNetwork) throw new Error('image-pod.mjs: hostPID and hostNetwork are not tried');
console.log(options.join('\n'));

function source(name) {
  const { path, type } = volumes.find((volume) => volume.name === name).hostPath;
  // What the kernel shows cannot be stood for by a folder.
  if (path === '/proc' || path.startsWith('/proc/')) return path;
  const folder = join(node, path);
  if (type === 'DirectoryOrCreate') mkdirSync(folder, { recursive: true });
  return folder;
}
