import { statSync } from 'node:fs';

export interface ProgramLog {
  program: string;
  path: string;
}

/** kube-proxy's where its Pod writes to the host: GKE, kops, and clusters set up like them. */
const usual: readonly ProgramLog[] = [{ program: 'kube-proxy', path: '/var/log/kube-proxy.log' }];

/** Logs of programs that are there, at their usual places. Such a log is made before the program, so before any Pod, is started. */
export function findProgramLogs(places = usual): readonly ProgramLog[] {
  return places.filter(({ path }) => {
    try {
      return statSync(path).isFile();
    } catch {
      return false;
    }
  });
}
