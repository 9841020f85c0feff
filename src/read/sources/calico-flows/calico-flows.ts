import { createHash } from 'node:crypto';
import { accessSync, constants, linkSync, lstatSync, renameSync, rmSync } from 'node:fs';
import { createConnection } from 'node:net';
import { join } from 'node:path';
import type { Server, ServerDuplexStream } from '@grpc/grpc-js';
import * as z from 'zod/mini';
import type { Millis } from '../../../base/model/log-line.ts';
import { reasonOf } from '../../../base/platform/system-error.ts';
import { createTimer } from '../../../base/platform/timer.ts';
import {
  type JsonValue,
  type Position,
  type Source,
  type SourceListener,
  systemTiming,
  type Timing,
} from '../source.ts';
import type { GoldmaneFlow } from './flow-collector.ts';

/** Where Felix looks for a socket every ten seconds. It sends its flows to the program that listens there (felix/collector/local). */
export const defaultFlowsFolder = '/var/run/calico/flows';
const socketName = 'flows.sock';

const name = 'calico-flows';
/** How often to check whether the socket was removed, or whether the other program that listens there has ended. */
const lookAgain: Millis = 10_000;
const longestMessage = 1 << 20;
const longestText = 65_536;
/** How long Felix may still repeat a flow: it keeps sent flows for five minutes, and forgets them within 30 s after that. */
const longestKept: Millis = 360_000;
/** The most flows that are remembered (100 KB of state). Older flows count twice if Felix connects again within five minutes. */
const mostKept = 4096;

export interface CalicoFlowsOptions {
  folder: string;
  saved: Position | undefined;
  listener: SourceListener;
  timing?: Timing;
}

/**
 * Receives the flows that Calico's Felix counts on this node, and hands over those that were denied. After each new connection, Felix
 * repeats the flows of the last five minutes, so none is lost while the agent restarts. The position has the flows that were already taken.
 */
export function createCalicoFlows({ folder, saved, listener, timing = systemTiming }: CalicoFlowsOptions): Source {
  const path = join(folder, socketName);
  const taken = createTakenFlows(saved?.['taken'], timing.wall);
  const counts = { lines: 0, bytes: 0, tooLong: 0 };
  const timer = createTimer(timing.schedule, timing.now, () => void listen());
  let state: Source['state'] = 'waiting';
  let socket: { server: Server; inode: number } | undefined;

  return {
    name,
    get state() {
      return state;
    },
    get position() {
      return counts.lines === 0 && saved === undefined ? undefined : { taken: taken.state() };
    },
    counts,
    start: () => void listen(),
    stop() {
      state = 'stopped';
      timer.cancel();
      close();
    },
  };

  async function listen(): Promise<void> {
    try {
      const inode = inodeOf(path);
      if (socket === undefined || inode !== socket.inode) {
        close();
        if (inode === undefined || !(await isAnswered(path))) await open();
        else reportFailure(`another program listens at ${path}: flows of Calico go to one program only`);
      }
    } catch (error) {
      reportFailure(`${path} cannot be made: ${adviceOn(error)}`);
    }
    if (state !== 'stopped') timer.set(lookAgain);
  }

  async function open(): Promise<void> {
    rmSync(path, { force: true });
    const server = await serve(path, takeUpdate);
    socket = { server, inode: inodeOf(path) ?? 0 };
    if (state === 'stopped') return close();
    if (state === 'failed')
      listener.notice({ level: 'info', key: 'well', text: `Flows of Calico come to ${path} again` });
    state = 'reading';
  }

  function reportFailure(text: string): void {
    if (state === 'stopped') return;
    state = 'failed';
    listener.notice({ level: 'error', key: 'failed', text: `${text}. It is tried again every 10 seconds` });
  }

  function close(): void {
    const { server } = socket ?? {};
    socket = undefined;
    if (server !== undefined) keepingFile(path, () => server.forceShutdown());
  }

  function takeUpdate(flow: GoldmaneFlow): void {
    if (state === 'stopped') return;
    counts.lines++;
    if (flow.Key?.action !== 'Deny') return;
    const text = JSON.stringify(flow);
    counts.bytes += text.length;
    if (text.length > longestText) {
      counts.tooLong++;
      return;
    }
    if (!taken.isNew(text)) return;
    const time = Math.min(timing.wall(), (flow.start_time ?? 0) * 1000);
    listener.take(
      { source: name, line: counts.lines, text, time, timeIsExact: false, host: undefined, program: name },
      'kernel',
    );
  }
}

/** gRPC is loaded only if it is needed, because it takes 5 MB. */
async function serve(path: string, take: (flow: GoldmaneFlow) => void): Promise<Server> {
  const [grpc, { flowCollector }] = await Promise.all([import('@grpc/grpc-js'), import('./flow-collector.ts')]);
  // Otherwise gRPC would write to the agent's output, between the log lines.
  grpc.setLogVerbosity(grpc.logVerbosity.NONE);
  const server = new grpc.Server({ 'grpc.max_receive_message_length': longestMessage });
  server.addService(flowCollector, {
    Connect(stream: ServerDuplexStream<{ flow?: GoldmaneFlow }, object>) {
      stream.on('data', ({ flow }: { flow?: GoldmaneFlow }) => {
        if (flow !== undefined) take(flow);
        stream.write({});
      });
      stream.on('end', () => stream.end());
      stream.on('error', () => {});
    },
  });
  await new Promise<void>((resolve, reject) => {
    server.bindAsync(`unix:${path}`, grpc.ServerCredentials.createInsecure(), (error) =>
      error === null ? resolve() : reject(error),
    );
  });
  return server;
}

/** Keeps the socket's file, which closing the server would remove. Without a file, Felix forgets the flows that the next agent needs. */
function keepingFile(path: string, closeServer: () => void): void {
  const kept = `${path}~`;
  try {
    rmSync(kept, { force: true });
    linkSync(path, kept);
  } catch {
    return closeServer();
  }
  closeServer();
  try {
    renameSync(kept, path);
  } catch {
    // Without the file, Felix forgets the flows so far, and sends only new ones.
  }
}

async function isAnswered(path: string): Promise<boolean> {
  return await new Promise((resolve) => {
    const connection = createConnection(path, () => settle(true)).on('error', () => settle(false));
    function settle(answered: boolean): void {
      connection.destroy();
      resolve(answered);
    }
  });
}

function inodeOf(path: string): number | undefined {
  return lstatSync(path, { throwIfNoEntry: false })?.ino;
}

function adviceOn(error: unknown): string {
  return `${reasonOf(error)}. The folder must be the node's ${defaultFlowsFolder}, and the agent root there`;
}

export function calicoFlowsObstacle(folder: string): string | undefined {
  try {
    accessSync(folder, constants.W_OK);
    return undefined;
  } catch (error) {
    return adviceOn(error);
  }
}

/** The hash of each flow, and when it was taken. */
const shapeOfTaken = z.array(z.tuple([z.string(), z.number()]));

function createTakenFlows(saved: JsonValue | undefined, now: () => Millis) {
  const times = new Map<string, Millis>(shapeOfTaken.safeParse(saved).data);
  return {
    state: (): JsonValue => [...times],
    isNew(text: string): boolean {
      const hash = createHash('sha1').update(text).digest('base64').slice(0, 12);
      if (times.has(hash)) return false;
      times.set(hash, now());
      for (const [oldest, time] of times) {
        if (times.size <= mostKept && time > now() - longestKept) break;
        times.delete(oldest);
      }
      return true;
    },
  };
}
