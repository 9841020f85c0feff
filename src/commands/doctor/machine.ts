/** Reads the machine, or the container, that doctor runs on. Functions here change nothing, and never throw or reject. */
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, existsSync } from 'node:fs';
import { get, type IncomingMessage } from 'node:http';
import { hostname } from 'node:os';
import { nodeLogs } from '../../agent/open-sources.ts';
import type { Millis } from '../../model/log-line.ts';
import { hostAndPort, type ListenAddress, parseListenAddress } from '../../platform/address.ts';
import { hostProcess, namespaceOf } from '../../platform/proc.ts';

export const thisMachine = {
  now: Date.now,
  run: runProgram,
  readFile,
  ...nodeLogs,
  lookAtNetwork,
};

export type Machine = Readonly<typeof thisMachine>;

export type Ran = { kind: 'done'; output: string } | { kind: 'missing' } | { kind: 'failed'; reason: string };

/** Shorter than the limit of a check, so that the check can say what was slow. */
const timeout: Millis = 4000;
/** The most output of a program, in bytes. The ruleset of a busy node with kube-proxy in iptables mode has some 20 MB. */
const maxOutput = 64 * 1024 * 1024;

function runProgram(program: string, args: readonly string[]): Promise<Ran> {
  const { promise, resolve } = Promise.withResolvers<Ran>();
  const options = { timeout, killSignal: 'SIGKILL', maxBuffer: maxOutput, encoding: 'latin1' } as const;
  execFile(program, args, options, (error, output, errors) => {
    if (error === null) return resolve({ kind: 'done', output });
    if (error.code === 'ENOENT') return resolve({ kind: 'missing' });
    if (error.killed === true) return resolve({ kind: 'failed', reason: 'it did not end in time' });
    const [first = ''] = errors.trim().split('\n');
    resolve({ kind: 'failed', reason: first === '' ? error.message : first });
  });
  return promise;
}

/** Returns undefined if the file cannot be read. A missing list of iptables' tables counts as empty, because the kernel then has no tables. */
function readFile(path: string): string | undefined {
  try {
    return readFileSync(path, 'latin1').trim();
  } catch (error) {
    const isMissing = (error as NodeJS.ErrnoException).code === 'ENOENT';
    return isMissing && path.endsWith('_tables_names') ? '' : undefined;
  }
}

export type AgentAnswer =
  | { kind: 'nowhere' }
  | { kind: 'silent'; address: string; reason: string }
  | { kind: 'answers'; address: string; status: number; readiness: string; metrics: string };

export async function askAgent(metricsAddress: string): Promise<AgentAnswer> {
  const where = parseListenAddress(metricsAddress);
  if (where === undefined || where.port === 0) return { kind: 'nowhere' };
  const address = reachableAt(where);
  try {
    const url = `http://${address}`;
    const [ready, metrics] = await Promise.all([httpGet(`${url}/readyz`), httpGet(`${url}/metrics`)]);
    return { kind: 'answers', address, status: ready.status, readiness: ready.body, metrics: metrics.body };
  } catch (error) {
    const { name, message } = error as Error;
    return { kind: 'silent', address, reason: name === 'AbortError' ? 'no answer in time' : message };
  }
}

/** Returns the address at which a server can be reached from its own machine. */
export function reachableAt({ host, port }: ListenAddress): string {
  const isAny = host === undefined || host === '0.0.0.0' || host === '::';
  return hostAndPort(isAny ? '127.0.0.1' : host, port);
}

const maxBody = 16 * 1024 * 1024;

async function httpGet(url: string): Promise<{ status: number; body: string }> {
  const request = get(url, { agent: false, signal: AbortSignal.timeout(timeout) });
  // `once` listens only until the answer begins.
  request.on('error', () => {});
  const [response] = (await once(request, 'response')) as [IncomingMessage];
  const parts: Buffer[] = [];
  let size = 0;
  for await (const part of response as AsyncIterable<Buffer>) {
    size += part.length;
    if (size > maxBody) throw new Error('the answer is too long');
    parts.push(part);
  }
  return { status: response.statusCode ?? 0, body: Buffer.concat(parts).toString() };
}

export interface PodName {
  namespace: string;
  name: string;
}

const accountFolder = '/var/run/secrets/kubernetes.io/serviceaccount';

/** Finds the Pod of this process by POD_NAME and POD_NAMESPACE, else by the host's name, which is the Pod's unless it has hostNetwork. */
export function findOwnPod(env: NodeJS.ProcessEnv): PodName | undefined {
  const name = env['POD_NAME'] || (existsSync(accountFolder) ? hostname() : undefined);
  const namespace = env['POD_NAMESPACE'] || accountNamespace();
  return name === undefined || namespace === undefined ? undefined : { namespace, name };
}

function accountNamespace(): string | undefined {
  try {
    return readFileSync(`${accountFolder}/namespace`, 'utf8').trim();
  } catch {
    return undefined;
  }
}

/**
 * The network that doctor sees. `initial`: the kernel's first namespace; `node`: that of a node that is itself a container; `pod`: a Pod's own,
 * without the node's rules.
 */
export type NetworkView = 'initial' | 'node' | 'pod';

/** `procRoot`: the host's /proc, or this container's. Undefined if it is not known whether this Pod has hostNetwork. */
async function lookAtNetwork(procRoot: string): Promise<'initial' | 'node' | undefined> {
  if ((await hostProcess('/proc')) === 'self') return 'initial';
  if (!existsSync(accountFolder)) return 'node';
  if (procRoot === '/proc') return undefined;
  const [own, first] = await Promise.all([namespaceOf('/proc', 'self'), namespaceOf(procRoot, '1')]);
  return own !== undefined && own === first ? 'node' : undefined;
}
