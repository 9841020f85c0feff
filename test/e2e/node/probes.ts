import { setTimeout as delay } from 'node:timers/promises';
import type { Machine } from './machine.ts';
import type { Container, Probe } from './pod-object.ts';

/** Asked from the machine, as a kubelet does: exit status 0 for an answer from 200 to 399. */
const request = `
const [, url, timeout] = process.argv;
const { get } = require(new URL(url).protocol === 'https:' ? 'node:https' : 'node:http');
get(url, { timeout: Number(timeout), rejectUnauthorized: false }, ({ statusCode }) => {
  console.log('HTTP probe failed with statuscode: ' + statusCode);
  process.exit(statusCode >= 200 && statusCode < 400 ? 0 : 1);
}).on('timeout', () => process.exit(1)).on('error', (error) => { console.log(error.message); process.exit(1); });
`;

export interface Probing {
  readonly machine: Machine;
  readonly container: Container;
  readonly address: string;
  /** Begins a command within the container. */
  readonly exec: readonly string[];
  readonly signal: AbortSignal;
  readonly onStarted: () => void;
  readonly onReady: (ready: boolean) => void;
  /** One probe has failed; `kind` is Startup, Readiness or Liveness. */
  readonly onUnhealthy: (kind: string, reason: string) => Promise<void>;
  /** So many of a kind that the container is to be restarted. */
  readonly onDead: (kind: string) => Promise<void>;
}

/**
 * Runs the probes of a container until `signal`: the startup probe first, then the others, as
 * https://kubernetes.io/docs/concepts/configuration/liveness-readiness-startup-probes/ has it.
 */
export async function probe(probing: Probing): Promise<void> {
  const { startupProbe, livenessProbe, readinessProbe } = probing.container;
  if (startupProbe !== undefined) {
    const outcome = await untilOver('Startup', startupProbe, probing, { onceIsEnough: true });
    if (outcome === 'aborted') return;
    if (outcome === 'failed') return probing.onDead('startup');
  }
  probing.onStarted();
  if (readinessProbe === undefined) probing.onReady(true);
  const liveness = async (how: Probe): Promise<void> => {
    if ((await untilOver('Liveness', how, probing)) === 'failed') await probing.onDead('liveness');
  };
  await Promise.all([
    readinessProbe === undefined
      ? undefined
      : untilOver('Readiness', readinessProbe, probing, { onResult: probing.onReady }),
    livenessProbe === undefined ? undefined : liveness(livenessProbe),
  ]);
}

/** `onResult`: called when it has passed, and when it has failed as often as it may; then it goes on. */
async function untilOver(
  kind: string,
  how: Probe,
  probing: Probing,
  { onceIsEnough = false, onResult }: { onceIsEnough?: boolean; onResult?: (passed: boolean) => void } = {},
): Promise<'passed' | 'failed' | 'aborted'> {
  let failures = 0;
  for await (const failure of results(how, probing)) {
    if (failure === undefined) {
      failures = 0;
      onResult?.(true);
      if (onceIsEnough) return 'passed';
      continue;
    }
    failures += 1;
    await probing.onUnhealthy(kind, failure);
    if (failures < (how.failureThreshold ?? 3)) continue;
    if (onResult === undefined) return 'failed';
    onResult(false);
  }
  return 'aborted';
}

/** One result each period: undefined if it passed, else why not. */
async function* results(how: Probe, probing: Probing): AsyncGenerator<string | undefined> {
  const { signal } = probing;
  const wait = (seconds: number): Promise<unknown> => delay(seconds * 1000, undefined, { signal }).catch(() => {});
  await wait(how.initialDelaySeconds ?? 0);
  while (!signal.aborted) {
    const failure = await ask(how, probing);
    if (signal.aborted) return;
    yield failure;
    await wait(how.periodSeconds ?? 10);
  }
}

async function ask({ httpGet, exec, timeoutSeconds = 1 }: Probe, probing: Probing): Promise<string | undefined> {
  const command = exec === undefined ? httpCommand() : [...probing.exec, ...exec.command];
  const { code, stdout } = await probing.machine.run(command);
  return code === 0 ? undefined : stdout.trim();

  function httpCommand(): readonly string[] {
    if (httpGet === undefined) throw new Error('[node] probes other than httpGet and exec are not known here');
    const { path = '/', port: named, scheme = 'HTTP' } = httpGet;
    const port =
      typeof named === 'number' ? named : probing.container.ports?.find(({ name }) => name === named)?.containerPort;
    const url = `${scheme.toLowerCase()}://${probing.address}:${port}${path}`;
    return [process.execPath, '--eval', request, url, String(timeoutSeconds * 1000)];
  }
}
