import type { Millis } from '../../src/base/model/log-line.ts';
import { containerLog, datastoreLost, droppedPacket, failedSync, succeededSync } from './lines.ts';
import type { Scenario, Simulation } from './simulation.ts';

const second: Millis = 1000;
const minute: Millis = 60_000;
const hour: Millis = 3_600_000;

/** When a client sends its SYN again (net.ipv4.tcp_syn_retries). */
const synRetries: readonly Millis[] = [0, 1, 3, 7, 15, 31].map((seconds) => seconds * second);

/** Well-known ports: the longer a port is searched for in IANA's list, the longer a simulation takes. */
const ports: readonly number[] = [22, 53, 80, 389, 443];
const scanned: readonly number[] = Array.from({ length: 100 }, (_, index) => index + 1);

export const scenarios: readonly Scenario[] = [
  {
    name: 'quiet-day',
    // On each node, a policy refuses a connection five times a day, and 100 Pods of the cluster are refused every 30 s
    // all day.
    duration: 24 * hour,
    play(simulation) {
      chatter(simulation, 5 / 24);
      for (let index = 0; index < shareOf(simulation, 100); index++) keepTrying(simulation, 30 * second);
    },
  },
  {
    name: 'noisy-policy',
    // A new policy refuses what a namespace with one Pod on every node requests from ten servers every five seconds.
    duration: hour,
    play(simulation) {
      const { cluster, random, at } = simulation;
      for (let node = 0; node < cluster.nodes; node++) {
        // Felix applies it within two seconds.
        const first = minute + random() * 2 * second;
        at(first + random() * 5 * second, () => {
          every(simulation, 5 * second, () => {
            const server = Math.floor(random() * 10) * Math.floor(cluster.nodes / 10);
            packet(simulation, node, 0, server, 1, 443);
          });
        });
      }
    },
  },
  {
    name: 'conflict',
    // For 30 minutes Felix deletes kube-proxy's chains on every node. Each sync fails, every 30 s and whenever a
    // Service changes, which all nodes learn at once.
    duration: hour,
    play(simulation) {
      const { cluster, random, at, api, log, time } = simulation;
      at(0, () => {
        api.felix = { metadata: { name: 'default' }, spec: { bpfEnabled: true } };
      });
      for (let node = 0; node < cluster.nodes; node++) {
        const source = containerLog(cluster.podName(node, cluster.podsPerNode), 'kube-proxy');
        at(minute + random() * second, () => {
          let syncs = 0;
          every(simulation, 30 * second, () => {
            const isOver = ++syncs > 60;
            if (syncs > 62) return;
            log(
              node,
              ...(isOver
                ? succeededSync(source, time.now())
                : failedSync(source, time.now(), 'KUBE-SVC-JD5MR3NA4I4DYORP')),
            );
          });
        });
      }
    },
  },
  {
    name: 'rolling-restart',
    // A new version of the DaemonSet, on 10 % of the nodes at a time, with twenty times the refused connections of a
    // quiet day.
    duration: hour,
    play(simulation) {
      const { cluster, random, at, restart } = simulation;
      chatter(simulation, 100 / 24);
      const queue = Array.from({ length: cluster.nodes }, (_, node) => node);
      const worker = async (): Promise<void> => {
        for (let node = queue.shift(); node !== undefined; node = queue.shift()) {
          // The image has already been pulled. The container starts, and is ready when its lists are.
          await restart(node, 2000 + random() * 6000);
          await simulation.time.pause(5000);
        }
      };
      at(minute, () => {
        for (let number = 0; number < Math.ceil(cluster.nodes / 10); number++) void worker();
      });
    },
  },
  {
    name: 'api-away',
    // Felix also loses it and logs this on every node, with twenty times the refused connections of a quiet day.
    duration: hour,
    play(simulation) {
      const { cluster, random, at, api, log, time } = simulation;
      chatter(simulation, 100 / 24);
      at(5 * minute, api.leave);
      at(15 * minute, api.back);
      for (let node = 0; node < cluster.nodes; node++) {
        const source = containerLog(cluster.podName(node, cluster.podsPerNode + 1), 'calico-node');
        at(5 * minute + random() * 2 * second, () => {
          every(simulation, 10 * second, () => {
            if (time.now() < simulation.start + 15 * minute) log(node, datastoreLost(source, time.now()));
          });
        });
      }
    },
  },
  {
    name: 'scan',
    // For half an hour a Pod tries 200 addresses a second: all Pods of the cluster one after another, on one port after
    // another. Everything else is a quiet day.
    duration: hour,
    play(simulation) {
      const { cluster, at, time, end } = simulation;
      chatter(simulation, 5 / 24);
      const pods = cluster.nodes * (cluster.podsPerNode - 1);
      const interval = second / shareOf(simulation, 200);
      let tried = 0;
      at(minute, function tryNext() {
        const target = tried % pods;
        const pod = 1 + Math.floor(target / cluster.nodes);
        packet(
          simulation,
          target % cluster.nodes,
          pod,
          0,
          1,
          scanned[Math.floor(tried++ / pods) % scanned.length] ?? 1,
          true,
        );
        if (time.now() < end - 29 * minute) at(minute + tried * interval, tryNext);
      });
    },
  },
];

/** Single refused connections, anywhere and at any time; a client tries six times. */
function chatter(simulation: Simulation, perNodeAndHour: number): void {
  const { cluster, random, start, end, at } = simulation;
  const rate = (cluster.nodes * perNodeAndHour) / hour;
  next(0);

  function next(after: Millis): void {
    if (start + after >= end) return;
    at(after, () => {
      const [node, pod] = anyPod(simulation);
      const [peerNode, peer] = anyPod(simulation);
      const port = ports[Math.floor(random() * ports.length)] ?? 443;
      for (const retry of synRetries) at(after + retry, () => packet(simulation, node, pod, peerNode, peer, port));
      next(after - Math.log(1 - random()) / rate);
    });
  }
}

/** A Pod that does not give up. */
function keepTrying(simulation: Simulation, interval: Millis): void {
  const [node, pod] = anyPod(simulation);
  const [peerNode, peer] = anyPod(simulation);
  simulation.at(simulation.random() * interval, () =>
    every(simulation, interval, () => packet(simulation, node, pod, peerNode, peer, 443)),
  );
}

export function scenarioNamed(name: string): Scenario {
  const found = scenarios.find((each) => each.name === name);
  if (found === undefined) throw new Error(`there is no scenario ${name}`);
  return found;
}

/** Returns how many of `number` nodes of the whole cluster are simulated. */
function shareOf({ cluster }: Simulation, number: number): number {
  return (number * cluster.nodes) / cluster.nodeCount;
}

function anyPod({ cluster, random }: Simulation): [node: number, pod: number] {
  return [Math.floor(random() * cluster.nodes), 1 + Math.floor(random() * (cluster.podsPerNode - 1))];
}

/** A packet from one Pod to another is dropped on the sender's node or, otherwise, on the receiver's. */
function packet(
  { cluster, random, log }: Simulation,
  node: number,
  pod: number,
  peerNode: number,
  peer: number,
  port: number,
  isReceiver = false,
): void {
  const [here, there] = [cluster.address(node, pod), cluster.address(peerNode, peer)];
  const [source, destination] = isReceiver ? [there, here] : [here, there];
  log(node, droppedPacket(source, destination, port, 32_768 + Math.floor(random() * 28_000)));
}

function every({ time, end }: Simulation, interval: Millis, task: () => void): void {
  task();
  if (time.now() + interval < end) time.schedule(() => every({ time, end } as Simulation, interval, task), interval);
}
