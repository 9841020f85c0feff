import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Connection } from '../control-plane/connection.ts';
import { CERTIFICATES } from '../control-plane/servers.ts';

export interface KubeletServer {
  /** On 127.0.0.1. */
  readonly port: number;
  /** What is known of a container from now on (`../control-plane/go/kubernetes/kubelet-server`); `id`: NAMESPACE_POD_CONTAINER. */
  readonly describe: (id: string, description: object) => void;
  readonly stop: () => Promise<void>;
}

/** Answers the API server's requests for logs and commands, and no others. It never outlives this process. */
export async function startKubeletServer(
  program: string,
  connection: Connection,
  folder: string,
): Promise<KubeletServer> {
  const containers = join(folder, 'containers');
  mkdirSync(containers);
  const certificate = join(connection.folder, CERTIFICATES, 'apiserver.crt');
  const child = spawn(program, [containers, certificate], { stdio: ['pipe', 'pipe', 'inherit'] });
  const ended = once(child, 'exit');
  const [port] = (await Promise.race([once(child.stdout, 'data'), ended])) as [unknown];
  if (!Buffer.isBuffer(port)) throw new Error('[node] the kubelet server did not start');
  return {
    port: Number(port.toString()),
    describe(id, description) {
      // In one step: it may be read at any time.
      const unfinished = join(containers, `.${id}`);
      writeFileSync(unfinished, JSON.stringify(description));
      renameSync(unfinished, join(containers, `${id}.json`));
    },
    async stop() {
      child.stdin.end();
      await ended;
    },
  };
}
