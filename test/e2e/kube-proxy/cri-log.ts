import { appendFileSync, mkdirSync, renameSync } from 'node:fs';
import { join } from 'node:path';

export interface CriLogOptions {
  /** The folder that is /var/log/pods on a node. */
  readonly podLogs: string;
  readonly namespace: string;
  readonly pod: string;
  readonly uid: string;
  readonly container: string;
}

/** The log of a container as containerd writes it and the kubelet rotates it. */
export interface CriLog {
  /** The file that is written to now. */
  readonly path: string;
  /** One line of what the container printed, without its end. */
  readonly write: (line: string) => void;
  /** Rotates as the kubelet does once a file is large: renamed, and a new one begun under the old name. */
  readonly rotate: () => void;
}

/** Format: https://github.com/kubernetes/design-proposals-archive/blob/main/node/kubelet-cri-logging.md */
export function createCriLog({ podLogs, namespace, pod, uid, container }: CriLogOptions): CriLog {
  const folder = join(podLogs, `${namespace}_${pod}_${uid}`, container);
  mkdirSync(folder, { recursive: true });
  const path = join(folder, '0.log');
  return {
    path,
    write: (line) => appendFileSync(path, `${nanoseconds()} stderr F ${line}\n`),
    rotate: () =>
      renameSync(
        path,
        `${path}.${new Date()
          .toISOString()
          .replaceAll(/[-:]|\..*/g, '')
          .replace('T', '-')}`,
      ),
  };
}

// Returns nine digits; the clock here has six.
function nanoseconds(): string {
  const time = performance.timeOrigin + performance.now();
  const micros = Math.floor((time % 1) * 1000);
  return new Date(time).toISOString().replace('Z', `${String(micros).padStart(3, '0')}000Z`);
}
