import { Agent, request } from 'node:https';
import type { Millis } from '../../base/model/log-line.ts';
import { type BackOff, createBackOff } from '../../base/platform/rates.ts';
import type { Clock } from '../../base/platform/clock.ts';
import { answerTo, bodyOf } from '../../base/platform/http-answer.ts';
import { reasonOf } from '../../base/platform/system-error.ts';
import type { Owners, PodFinder, FinderState } from '../../explain/resolving/resolving.ts';
import { answerLimit, decodeAnswer, readFolder, type Replica } from './replicas.ts';
import { hostAndPort } from '../../base/platform/address.ts';

export interface DirectoryClientOptions {
  /** The folder with the token and the replicas; undefined if no directory is configured. */
  folder: string | undefined;
  clock: Pick<Clock, 'now' | 'fromWall'>;
  random: () => number;
  /** The time limit for one replica. At most two replicas are asked for an address. */
  timeout?: Millis;
}

/** Two replicas must fit into the two seconds for which a packet waits. */
const defaultTimeout: Millis = 900;

/** The age at which the folder is read again. The kubelet itself takes a minute or two to change its files. */
const folderAge: Millis = 10_000;

/** Pauses after failures of a replica: random, at least a second, with a limit that doubles each time. */
const cooldowns = { first: 2000, longest: 60_000 };

interface Peer {
  replica: Replica;
  agent: Agent;
  backOff: BackOff;
  restsUntil: Millis;
}

/**
 * A replica is trusted only with its published certificate. Agents begin with different replicas, and each stays with the one that has
 * answered. `find` rejects if none answers.
 */
export function createDirectoryFinder(options: DirectoryClientOptions): Required<PodFinder> {
  const { folder, clock, random, timeout = defaultTimeout } = options;
  const { now } = clock;
  let peers: Peer[] = [];
  let token = '';
  let folderRead: Millis = -Infinity;

  return { way: 'directory', find, look };

  async function find(address: string): Promise<Owners | undefined> {
    if (folder === undefined) return undefined;
    renew(folder);
    let failure = new Error(peers.length === 0 ? 'no replica is published' : 'all replicas failed a moment ago');
    for (const peer of peers.filter(({ restsUntil }) => restsUntil <= now()).slice(0, 2)) {
      try {
        const owners = decodeAnswer(await ask(peer, address, token, timeout), address, clock);
        peer.backOff.reset();
        peers = [peer, ...peers.filter((other) => other !== peer)];
        return owners;
      } catch (error) {
        failure = error as Error;
        peer.restsUntil = now() + peer.backOff.next(cooldowns.first / 2);
      }
    }
    throw failure;
  }

  function renew(path: string): void {
    if (now() - folderRead < folderAge) return;
    const found = readFolder(path);
    folderRead = now();
    ({ token } = found);
    const old = new Map(peers.map((peer) => [keyOf(peer.replica), peer]));
    const next = found.replicas.map((replica) => {
      const peer = old.get(keyOf(replica));
      const backOff = createBackOff(cooldowns, random);
      return peer ?? { replica, agent: agentOf(replica), backOff, restsUntil: -Infinity };
    });
    for (const peer of peers) if (!next.includes(peer)) peer.agent.destroy();
    // Known replicas stay first, so that their connections are reused. New ones follow in random order.
    const known = peers.filter((peer) => next.includes(peer));
    const fresh = next.filter((peer) => !peers.includes(peer));
    peers = [
      ...known,
      ...fresh
        .map((peer) => ({ peer, at: random() }))
        .toSorted((a, b) => a.at - b.at)
        .map(({ peer }) => peer),
    ];
  }

  async function look(): Promise<FinderState> {
    if (folder === undefined) return { usable: false, why: 'none is configured' };
    try {
      await find(unused);
      const { host, port } = (peers[0] as Peer).replica;
      return { usable: true, why: `${hostAndPort(host, port)} answers, ${peers.length} published` };
    } catch (error) {
      return { usable: false, why: `${folder}: ${reasonOf(error)}` };
    }
  }
}

/** Rejects for any status except 200, and for an answer that is too long or too late. */
async function ask({ replica, agent }: Peer, address: string, token: string, timeout: Millis): Promise<string> {
  const { host, port } = replica;
  const headers = { authorization: `Bearer ${token}` };
  const path = `/v1/owners/${encodeURIComponent(address)}`;
  const asked = request({ host, port, path, agent, headers, signal: AbortSignal.timeout(timeout) });
  asked.end();
  const response = await answerTo(asked);
  const body = await bodyOf(response, answerLimit);
  if (response.statusCode === 200) return body.toString();
  throw new Error(`answers ${response.statusCode}`);
}

/** An address for documentation (RFC 5737). No Pod has it. */
const unused = '192.0.2.1';

/** Keeps few connections, because thousands of agents are connected to a replica, and each asks little. */
function agentOf({ certificate }: Replica): Agent {
  return new Agent({ ca: certificate, keepAlive: true, maxSockets: 2, minVersion: 'TLSv1.3', timeout: 30_000 });
}

function keyOf(replica: Replica): string {
  return JSON.stringify(replica);
}
