import type { Connection } from '../control-plane/connection.ts';
import type { Pod } from './pod-object.ts';
import { type PodRunner, type RunnerOptions, runPod } from './pod-runner.ts';
import { watchPods } from './watch-pods.ts';

/** Runs the Pods that are bound to the Node; resolves to what ends them all. */
export async function startKubelet(node: string, options: RunnerOptions): Promise<() => Promise<void>> {
  const { connection } = options;
  const runners = new Map<string, PodRunner>();
  const endings = new Map<string, Promise<void>>();
  const end = (pod: Pod, graceSeconds: number): void => {
    const { uid } = pod.metadata;
    if (endings.has(uid)) return;
    const ending = endPod(connection, pod, graceSeconds, runners.get(uid));
    ending.catch((error: unknown) => process.stderr.write(`[node] ending ${pod.metadata.name}: ${String(error)}\n`));
    endings.set(uid, ending);
  };
  const stopWatching = await watchPods(connection, node, (type, pod) => {
    const { uid, deletionTimestamp, deletionGracePeriodSeconds = 30 } = pod.metadata;
    if (type === 'DELETED') end(pod, 0);
    else if (deletionTimestamp !== undefined) end(pod, deletionGracePeriodSeconds);
    else if (type === 'ADDED' && !runners.has(uid)) runners.set(uid, runPod(pod, options));
  });
  return async () => {
    stopWatching();
    await Promise.all([...runners].filter(([uid]) => !endings.has(uid)).map(([, runner]) => runner.stop(0)));
    await Promise.allSettled(endings.values());
  };
}

/** Until nothing of it runs; then it is taken from the API server, too. */
async function endPod(
  { request }: Connection,
  { metadata: { namespace, name, uid } }: Pod,
  graceSeconds: number,
  runner: PodRunner | undefined,
): Promise<void> {
  await runner?.stop(graceSeconds);
  const body = { apiVersion: 'v1', kind: 'DeleteOptions', gracePeriodSeconds: 0, preconditions: { uid } };
  const answer = await request('DELETE', `/api/v1/namespaces/${namespace}/pods/${name}`, { body });
  // 404: another client was faster. 409: another Pod of that name.
  if (![200, 404, 409].includes(answer.status)) throw new Error(JSON.stringify(answer.body));
}
