import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import type { Cluster } from './cluster.ts';

/** docker.ts does what docker would do. */
const ours = `${process.execPath} ${join(import.meta.dirname, 'docker.ts')}`;

const docker = (data: string): string => `#!/bin/bash
# The cache of images is this user's, whatever home the reader has.
export HOME=${homedir()}
case "$*" in
  'build --target '*' -t '*' .') exec ${ours} build "$3" "$5" . ;;
  'push '*) exec ${ours} push "$2" ${data} ;;
  *) echo "docker is only played here: it knows build --target TARGET -t REFERENCE . and push REFERENCE" >&2; exit 64 ;;
esac
`;

/** Joins ssh's arguments to one line for root's shell on the node, as ssh does. */
const ssh = (cluster: Cluster): string => `#!/bin/bash
host=$1
shift
case $host in
${cluster.nodes.map(({ name, enter }) => `  root@${name}) exec ${enter.join(' ')} sh -c "$*" ;;`).join('\n')}
  *) echo "ssh is only played here: it knows root@ and the name of a node, not $host" >&2; exit 255 ;;
esac
`;

/** Makes a folder of programs that the cluster's operator has, to be first on the PATH: kubectl, docker, ssh. */
export function createPrograms(folder: string, cluster: Cluster): string {
  const path = join(folder, 'bin');
  mkdirSync(path);
  const data = join(folder, 'cluster.json');
  writeFileSync(data, JSON.stringify(cluster.data));
  symlinkSync(cluster.controlPlane.kubectlPath, join(path, 'kubectl'));
  writeFileSync(join(path, 'docker'), docker(data), { mode: 0o755 });
  writeFileSync(join(path, 'ssh'), ssh(cluster), { mode: 0o755 });
  return path;
}
