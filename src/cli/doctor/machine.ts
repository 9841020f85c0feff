/** Reads the machine, or the container, that doctor runs on. Functions here open no log, change nothing, and never throw or reject. */
import { execFile } from 'node:child_process';
import { accessSync, constants, existsSync, readFileSync, statfsSync, statSync } from 'node:fs';
import { get } from 'node:http';
import { hostname } from 'node:os';
import { dirname } from 'node:path';
import { nodeLogs } from '../../agent/open-sources.ts';
import { documentAt } from '../../agent/config/docs-url.ts';
import { type ContainerName, containerOfPath } from '../../base/log-formats/container-log.ts';
import type { Millis } from '../../base/model/log-line.ts';
import { hostAndPort, type ListenAddress, parseListenAddress } from '../../base/platform/address.ts';
import { answerTo, bodyOf } from '../../base/platform/http-answer.ts';
import { hostProcess, networkNamespaceOf } from '../../base/platform/proc.ts';
import { reasonOf } from '../../base/platform/system-error.ts';
import type { ContainerRule } from '../../read/sources/reading.ts';
import { createLogFinder, lookAt, readingAdviceOn } from '../../read/sources/sources.ts';
import { type AgentState, findState, lastTimes, unusableReason } from '../../publish/state/state.ts';

export const thisMachine = {
  now: Date.now,
  run: runProgram,
  readFile,
  ...nodeLogs,
  lookAtNetwork,
};

export type Machine = Readonly<typeof thisMachine>;

export type RunResult = { kind: 'done'; output: string } | { kind: 'missing' } | { kind: 'failed'; reason: string };

/** Shorter than the limit of a check, so that the check can name the slow part. */
const timeout: Millis = 4000;
/** In bytes: the ruleset of a busy node with kube-proxy in iptables mode has some 20 MB. */
const maxOutput = 64 * 1024 * 1024;

function runProgram(program: string, args: readonly string[]): Promise<RunResult> {
  const { promise, resolve } = Promise.withResolvers<RunResult>();
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

export function reachableAt({ host, port }: ListenAddress): string {
  const isAny = host === undefined || host === '0.0.0.0' || host === '::';
  return hostAndPort(isAny ? '127.0.0.1' : host, port);
}

const maxBody = 16 * 1024 * 1024;

async function httpGet(url: string): Promise<{ status: number; body: string }> {
  const request = get(url, { agent: false, signal: AbortSignal.timeout(timeout) });
  const response = await answerTo(request);
  return { status: response.statusCode ?? 0, body: (await bodyOf(response, maxBody)).toString() };
}

export interface PodName {
  namespace: string;
  name: string;
}

const accountFolder = '/var/run/secrets/kubernetes.io/serviceaccount';

/** Finds the Pod of this process by POD_NAME and POD_NAMESPACE or, without these, by the host's name, which is the Pod's unless it has hostNetwork. */
export function findOwnPod(env: NodeJS.ProcessEnv): PodName | undefined {
  const name = env['POD_NAME'] || (existsSync(accountFolder) ? hostname() : undefined);
  const namespace = env['POD_NAMESPACE'] || readFile(`${accountFolder}/namespace`);
  return name === undefined || namespace === undefined ? undefined : { namespace, name };
}

/** `initial`: the kernel's first network; `node`: that of a node that is a container; `pod`: a Pod's own, without the node's rules. */
export type NetworkView = 'initial' | 'node' | 'pod';

/** `procRoot`: the host's /proc, or this container's. Undefined if it is not known whether this Pod has hostNetwork. */
async function lookAtNetwork(procRoot: string): Promise<'initial' | 'node' | undefined> {
  if ((await hostProcess('/proc')) === 'self') return 'initial';
  if (!existsSync(accountFolder)) return 'node';
  if (procRoot === '/proc') return undefined;
  const [own, first] = await Promise.all([networkNamespaceOf('/proc', 'self'), networkNamespaceOf(procRoot, '1')]);
  return own !== undefined && own === first ? 'node' : undefined;
}

export type SavedState =
  | { kind: 'none' }
  | { kind: 'kept'; saved: Millis; node: string; lastDrop: Millis | undefined; lastEvent: Millis | undefined }
  | { kind: 'unusable' | 'unreadable'; reason: string };

export function readKeptState(folder: string): SavedState {
  try {
    const found = findState(folder);
    if (found === undefined) return { kind: 'none' };
    const reason = unusableReason(found);
    if (reason !== undefined) return { kind: 'unusable', reason };
    const { node, series } = found.state as AgentState;
    return { kind: 'kept', saved: found.saved, node, ...lastTimes(series) };
  } catch (error) {
    return { kind: 'unreadable', reason: reasonOf(error) };
  }
}

export type StateFolder = { kind: 'writable' | 'missing'; free: number } | { kind: 'refused'; reason: string };

/** If the folder does not exist, the one in which it would be made is checked. */
export function lookAtFolder(path: string): StateFolder {
  try {
    if (!statSync(path).isDirectory()) return { kind: 'refused', reason: `${path}: is not a folder` };
    accessSync(path, constants.W_OK | constants.X_OK);
    const { bavail, bsize } = statfsSync(path);
    return { kind: 'writable', free: bavail * bsize };
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code !== 'ENOENT' || path === '/')
      return { kind: 'refused', reason: `${path}: ${code === 'EROFS' ? 'it is mounted read-only' : reasonOf(error)}` };
    const above = lookAtFolder(dirname(path));
    return above.kind === 'refused' ? above : { ...above, kind: 'missing' };
  }
}

export interface ContainerLogFile extends ContainerName {
  path: string;
  state: { written: Millis } | { reason: string };
}

/** The latest log of each container that the agent would read. */
export type ContainerLogs =
  | { kind: 'missing' }
  | { kind: 'error'; reason: string }
  | { kind: 'logs'; logs: readonly ContainerLogFile[] };

export function lookAtContainers(root: string, rules: readonly ContainerRule[]): ContainerLogs {
  const { root: state, found, unreadable } = createLogFinder(root, rules)();
  if (state === 'missing') return { kind: 'missing' };
  if (typeof state === 'object') return { kind: 'error', reason: `${root}: ${reasonOf(state.error)}` };
  const [first] = unreadable;
  if (first !== undefined) return { kind: 'error', reason: `${first.path}: ${reasonOf(first.error)}` };
  const logs = [...found.values()].flatMap(({ key, isOlder, isThere }) => {
    const name = containerOfPath(key);
    const path = `${root}/${key}`;
    return name === undefined || isOlder || !isThere ? [] : [{ ...name, path, state: writtenAt(path, reasonOf) }];
  });
  return { kind: 'logs', logs };
}

export type ProgramLogState = { kind: 'written'; at: Millis } | { kind: 'missing' | 'unreadable'; reason: string };

export function lookAtProgramLog(path: string): ProgramLogState {
  const there = lookAt(path);
  if ('kind' in there) return { kind: there.kind === 'missing' ? 'missing' : 'unreadable', reason: there.text };
  const state = writtenAt(path, (error) => `${path} cannot be read: ${readingAdviceOn(error)}`);
  return 'written' in state ? { kind: 'written', at: state.written } : { kind: 'unreadable', ...state };
}

/** In /var/log/pods, a log is often a link into a folder that cannot be read. */
function writtenAt(path: string, reason: (error: unknown) => string): { written: Millis } | { reason: string } {
  try {
    accessSync(path, constants.R_OK);
    return { written: statSync(path).mtimeMs };
  } catch (error) {
    return { reason: reason(error) };
  }
}

/** The files in which data planes log dropped packets, each with how to turn it on. */
const switches: Readonly<Record<string, readonly [text: string, page: `docs/${string}`]>> = {
  '/run/cilium/hubble/events.log': [
    "turn on the export of Cilium's Hubble, and mount that folder of the node",
    'docs/logging/cilium.md',
  ],
  '/var/log/acns/hubble/events.log': [
    'create a ContainerNetworkLog: AKS writes nothing without it',
    'docs/networks/aks.md',
  ],
  '/var/log/network/policy_action.log': [
    'turn network policy logging on: GKE writes nothing without it',
    'docs/networks/gke.md',
  ],
};

/** `source`: a path, or `file:PATH`. */
export function switchOf(source: string): string | undefined {
  const found = switches[withoutLink(source.replace(/^file:/, ''))];
  return found && `${found[0]}; doctor --enable-logging prints how, and ${documentAt(found[1])} explains it`;
}

export function findUnread(read: readonly string[]): string[] {
  const known = new Set(read.map(withoutLink));
  return Object.keys(switches).filter((path) => !known.has(path) && lookAtProgramLog(path).kind === 'written');
}

/** Replaces /var/run by /run, because it is a link to it on every node. */
function withoutLink(path: string): string {
  return path.replace(/^\/var\/run\//, '/run/');
}
