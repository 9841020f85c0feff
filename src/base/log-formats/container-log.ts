/** Reads paths and lines of container logs: CRI (Kubernetes, KEP "CRI container log format") and Docker's json-file. */
import { sep } from 'node:path';
import type { Millis } from '../model/log-line.ts';
import { isLabel, isOpaqueId, isSubdomain } from '../platform/api-names.ts';
import { readRfc3339 } from './rfc3339.ts';

export interface PodLogName {
  namespace: string;
  pod: string;
  uid: string;
}

export interface ContainerName extends PodLogName {
  container: string;
  restarts: number;
}

/** On Windows, where `replay` may run, both separators are allowed. */
const separator = sep === '/' ? sep : /[/\\]/;

/** Matches `<n>.log`, also as the kubelet renames and packs it: `0.log.20261121-101503.gz`. */
const logFile = /^(\d{1,9})\.log(?:\.[\w.-]{1,64})?$/;
/** Matches the links in /var/log/containers: `<pod>_<namespace>_<container>-<id>.log`. */
const linkFile = /^([^_]{1,253})_([^_]{1,63})_([^_]{1,253})-([0-9a-f]{64})\.log$/;

/** Reads the path of a log, `…/<namespace>_<pod>_<uid>/<container>/<n>.log` or that of a link to it; undefined for other paths. */
export function containerOfPath(path: string): ContainerName | undefined {
  const [file = '', container, folder = ''] = path.split(separator).toReversed();
  const link = linkFile.exec(file);
  if (link !== null) return linkedContainer(link);
  const pod = podOfFolder(folder);
  const restarts = logFile.exec(file)?.[1];
  if (pod === undefined || container === undefined || container === '' || restarts === undefined) return undefined;
  return { ...pod, container, restarts: Number(restarts) };
}

/** A link is named after the container's ID, which each restart changes. */
function linkedContainer([, pod = '', namespace = '', container = '', uid = '']: RegExpExecArray):
  | ContainerName
  | undefined {
  if (!isLabel(namespace) || !isSubdomain(pod)) return undefined;
  return { namespace, pod, uid, container, restarts: 0 };
}

/** Reads the name of a Pod's log folder. None of its parts can contain `_` (Kubernetes pkg/kubelet/kuberuntime/helpers.go). */
export function podOfFolder(folder: string): PodLogName | undefined {
  const [namespace, pod, uid, more] = folder.split('_');
  if (namespace === undefined || pod === undefined || uid === undefined || more !== undefined) return undefined;
  return isLabel(namespace) && isSubdomain(pod) && isOpaqueId(uid) ? { namespace, pod, uid } : undefined;
}

export type Stream = 'stdout' | 'stderr';

export interface ContainerRecord {
  time: Millis;
  stream: Stream;
  /** The container's line continues in the next record of this stream. */
  partial: boolean;
  /** latin1, without newline. */
  text: string;
}

/** Matches stream and tags, behind the stamp. Only the first tag has a meaning so far: P (partial) or F (full). */
export const criMarks = /^ (stdout|stderr) ([^ :]{1,16})(?::[^ ]{0,256})?(?: |$)/;

/** Reads a line of CRI or Docker; undefined for other lines. Never throws. */
export function readContainerRecord(line: string): ContainerRecord | undefined {
  return line.startsWith('{') ? readDocker(line) : readCri(line);
}

function readCri(line: string): ContainerRecord | undefined {
  const stamp = readRfc3339(line);
  if (stamp === undefined) return undefined;
  const rest = line.slice(stamp.length);
  const marks = criMarks.exec(rest);
  if (marks === null) return undefined;
  const text = rest.slice(marks[0].length);
  return { time: stamp.time, stream: marks[1] as Stream, partial: marks[2] === 'P', text };
}

function readDocker(line: string): ContainerRecord | undefined {
  let record: { log?: unknown; stream?: unknown; time?: unknown };
  try {
    record = JSON.parse(decodeText(line)) as typeof record;
  } catch {
    return undefined;
  }
  const { log, stream, time } = record;
  if (typeof log !== 'string' || typeof time !== 'string' || (stream !== 'stdout' && stream !== 'stderr'))
    return undefined;
  const stamp = readRfc3339(time);
  if (stamp?.length !== time.length) return undefined;
  const partial = !log.endsWith('\n');
  // JSON is decoded text, but records have one character for each byte.
  const text = Buffer.from(partial ? log : log.slice(0, -1)).toString('latin1');
  return { time: stamp.time, stream, partial, text };
}

/** Decodes UTF-8 that was read as latin1; other bytes become U+FFFD. */
export function decodeText(text: string): string {
  return /[\x80-\xff]/.test(text) ? Buffer.from(text, 'latin1').toString('utf8') : text;
}
