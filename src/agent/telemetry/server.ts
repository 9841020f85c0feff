import { hostname } from 'node:os';
import type { Millis } from '../../base/model/log-line.ts';
import { printable } from '../../base/platform/printable.ts';
import { hostAndPort, parseListenAddress } from '../../base/platform/address.ts';
import { type RequestHead, type RequestServer, type ServedAnswer, startServing } from '../serving/serving.ts';
import { createSharedText, type SharedText } from './shared-text.ts';

/** Each function is called at each request, and returns the reasons why the program is not healthy. */
export interface Health {
  live: () => readonly string[];
  ready: () => readonly string[];
}

export interface MetricsText {
  readonly contentType: string;
  text: () => Promise<string>;
}

export interface ServerOptions {
  setting: 'METRICS_ADDRESS' | 'HEALTH_ADDRESS' | 'DROPS_ADDRESS';
  /** `HOST:PORT`, `:PORT` or `[IPv6]:PORT`. */
  address: string;
  metrics?: MetricsText | undefined;
  /** The answer to `/drops`, as JSON. */
  drops?: (() => Promise<string | Buffer>) | undefined;
  health: Health;
  /** Whether the address, or the name of a host, is one of this node. */
  isOfNode?: ((host: string) => boolean) | undefined;
  /** A connection, or a part of a request, has come. */
  onArrival?: (() => void) | undefined;
  /** The longest time to send a request; twice as long to take the answer. */
  timeout?: Millis | undefined;
  /** All requests within this time get the same text. Default: 1000. */
  scrapeInterval?: Millis | undefined;
}

export interface RunningServer {
  /** The address with the real port, even if the setting has port 0. */
  readonly address: string;
  /** Ends idle connections at once, and others after their answer, or after twice `timeout`. */
  stop: () => Promise<void>;
}

/** The most open connections of strangers, and as many of the node's own: its kubelet finds room, however many others connect. */
const ownLimits = { total: 64, perAddress: 8 };

/** New connections of a stranger's address. Probes have no such limit, because they may come from an address that strangers share. */
const rate = { rate: 20, burst: 64 };

const longestHead = 8192;

/** If it cannot listen, rejects with an error that names the setting. */
export async function startServer(given: ServerOptions): Promise<RunningServer> {
  const { address, setting, metrics, drops, isOfNode, timeout = 5000, scrapeInterval = 1000, onArrival } = given;
  const served = new Map<string, ServedText>();
  if (metrics !== undefined)
    served.set('/metrics', { type: metrics.contentType, text: createSharedText(metrics.text, scrapeInterval) });
  if (drops !== undefined)
    served.set('/drops', { type: 'application/json', text: createSharedText(drops, scrapeInterval) });
  const where = parseListenAddress(address);
  if (where === undefined) throw new Error(`${setting} is "${address}": expected HOST:PORT, :PORT or [IPv6]:PORT`);
  const { address: bound, stop } = await listen(given, {
    listen: where,
    limits: served.size === 0 ? ownLimits : { ...ownLimits, rate },
    isClose: (from) => from === '127.0.0.1' || from === '::1' || isOfNode?.(from) === true,
    isOwnHost: (host) => host === hostname().toLowerCase() || isOfNode?.(host) === true,
    timeout,
    onArrival,
    // Scrapers and probes ask less often than a connection may be idle.
    idleTimeout: 0,
    longestHead,
    answer: (asked) => answerTo(asked, served, given.health),
    refuse: ({ status, text }) => plain(status, text),
  });
  return { address: hostAndPort(bound.address, bound.port), stop };
}

interface ServedText {
  readonly type: string;
  readonly text: SharedText;
}

async function listen(
  { address, setting }: ServerOptions,
  options: Parameters<typeof startServing>[0],
): Promise<RequestServer> {
  try {
    return await startServing(options);
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    const reason = (code !== undefined && failures[code]) || message;
    throw new Error(`${setting} is "${address}": cannot listen there: ${reason}`, { cause: error });
  }
}

const failures: Record<string, string> = {
  EADDRINUSE: 'another program does',
  EADDRNOTAVAIL: 'this machine has no such address',
  EACCES: 'permission denied',
  ENOTFOUND: 'no such host',
};

async function answerTo(
  { method, target }: RequestHead,
  served: ReadonlyMap<string, ServedText>,
  health: Health,
): Promise<ServedAnswer> {
  const [path = ''] = target.split('?');
  const data = served.get(path);
  if (data === undefined && path !== '/healthz' && path !== '/readyz')
    return plain(404, `There is ${[...served.keys()].map((at) => `${at}, `).join('')}/healthz and /readyz.\n`);
  if (method !== 'GET' && method !== 'HEAD')
    return { ...plain(405, 'Only GET and HEAD.\n'), headers: { allow: 'GET, HEAD' } };
  try {
    if (data !== undefined) return { status: 200, type: data.type, body: await data.text() };
    return healthOf(path === '/healthz' ? health.live() : health.ready());
  } catch (error) {
    return plain(500, `${printable(String(error))}\n`);
  }
}

function healthOf(reasons: readonly string[]): ServedAnswer {
  if (reasons.length === 0) return plain(200, 'ok\n');
  return plain(503, reasons.map((reason) => `${printable(reason)}\n`).join(''));
}

function plain(status: number, text: string): ServedAnswer {
  return { status, type: 'text/plain; charset=utf-8', body: Buffer.from(text) };
}
