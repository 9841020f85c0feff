/** The agent's bundle in the guest, at an API server outside of it. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import { defaultTracefs as tracefs } from '../../../src/read/sources/tracefs/trace.ts';
import { joinSockets } from '../sockets.ts';
import { addPods, attempt, print, run, wait } from './guest-node.ts';
import { packets, type Scene, sceneFile } from './scene.ts';

/** Only something that hangs takes so long: without KVM, and while other tests run, a guest is slow. */
const withinMs = 300_000;

export type GuestAgent = ReturnType<typeof startAgent>;

/** Makes the Pods, and the way to the API server that the agent's kubeconfig names. */
export async function makeScene(gateway = '10.244.1.1'): Promise<Scene> {
  const scene = JSON.parse(readFileSync(sceneFile, 'utf8')) as Scene;
  addPods(scene.pods, gateway);
  run('ip addr add 10.0.2.15/24 dev eth0');
  run('ip link set eth0 up');
  mkdirSync('/run/state');
  const server = createServer((near) => joinSockets(near, connect(scene.port, '10.0.2.2')));
  await once(server.listen(scene.port, '127.0.0.1'), 'listening');
  return scene;
}

export function startAgent({ command: [program = '', ...args], env }: Scene) {
  const child = spawn(program, args, { env, stdio: ['ignore', 'pipe', 'pipe'] });
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => print('log', text));
  const get = async (path: string): Promise<string> => {
    // Before it listens and after its end, nothing answers.
    const answer = await fetch(`http://${env['METRICS_ADDRESS']}${path}`).catch(() => undefined);
    return (await answer?.text()) ?? '';
  };
  return {
    process: child,
    get,
    /** Resolves when a scrape has this line, and prints it; resolves after five minutes in any case. */
    async until(line: RegExp): Promise<void> {
      const deadline = performance.now() + withinMs;
      let text = '';
      while (!line.test(text) && child.exitCode === null && performance.now() < deadline) {
        await wait(500);
        text = await get('/metrics');
      }
      if (!line.test(text)) print('failed', `${line} is not in\n${text}`);
    },
    /** Resolves when it has ended. */
    async end(signal: NodeJS.Signals): Promise<void> {
      const ended = once(child, 'close');
      child.kill(signal);
      print('ended', await ended);
    },
  };
}

/** The agent is killed, packets are dropped while none runs, and another one is started. */
export async function tryAgent(): Promise<void> {
  const scene = await makeScene();
  const [cart, web, other] = scene.pods;
  run(`iptables -I FORWARD -d ${web?.address} -j DROP`);
  run(`ip -n ${cart?.netns} addr add ${other?.address}/32 dev lo`);
  const send = (count: number, from = cart): Promise<unknown> => {
    const ping = `ip netns exec ${cart?.netns} timeout 20 ping -c 1 -W 1 -I ${from?.address} ${web?.address}`;
    return Promise.all(Array.from({ length: count }, () => attempt(ping)));
  };

  const killed = startAgent(scene);
  await killed.until(/_source_state\{source="kernel-drops",state="reading"\} 1$/m);
  await send(packets.before);
  // Events on both Pods; their counts are on the disk.
  await killed.until(new RegExp(`_event_packets_published_total ${packets.before * 2}$`, 'm'));
  await killed.end('SIGKILL');
  print('between', between());
  await send(packets.between);
  const next = startAgent(scene);
  await next.until(new RegExp(`_packets_total\\{verdict="dropped"\\} ${packets.between}$`, 'm'));
  print('between', between());
  await send(packets.after);
  await send(packets.forged, other);
  // Half a minute after their first write. For each Event it is uncertain whether the state had what was published
  // before the kill.
  const after = packets.between + packets.after + packets.forged;
  const published = [0, 1, 2].map((again) => after * 2 + again * packets.before).join('|');
  await next.until(new RegExp(`_event_packets_published_total (?:${published})$`, 'm'));
  await next.end('SIGTERM');
}

function between(): unknown {
  return {
    instances: readdirSync(`${tracefs}/instances`).toSorted(),
    probes: readFileSync(`${tracefs}/dynamic_events`, 'latin1').match(/^e:/gm)?.length,
  };
}
