/** The first process of the guest: Pods connect to each other while random policies are enforced. */
import { readFileSync } from 'node:fs';
import { createKernelDrops } from '../../../src/read/sources/tracefs/kernel-drops.ts';
import { defaultTracefs as tracefs } from '../../../src/read/sources/tracefs/trace.ts';
import { addPods, begin, print, run, switchOff } from './guest-node.ts';
import { podProgram, runPod, startPod, type Try } from './guest-pod.ts';
import { gateway, ports, randomPods, roundsFile } from './random-pods.ts';
import type { Round } from './random-policies.ts';

async function tryRounds(rounds: readonly Pick<Round, 'rules' | 'connections'>[]): Promise<void> {
  addPods(randomPods, gateway);
  const pods = randomPods.map(({ netns, uid }) => startPod(netns, uid));
  await Promise.all(pods.map(({ listen }) => listen(ports)));
  const end = Promise.withResolvers<void>();
  const lastPort = 9999;
  const listener = {
    take({ text }: { text: string }): void {
      print('line', text);
      if (text.includes(` sport=${lastPort} `)) end.resolve();
    },
    lost: (loss: unknown) => print('lost', loss),
    notice: (notice: unknown) => print('notice', notice),
  };
  const source = createKernelDrops({ tracefs, listener });
  source.start();
  for (const { rules, connections } of rounds) {
    for (const [index, text] of rules.entries()) run(`ip netns exec p${index} nft -f -`, text);
    const ended = pods.map(async ({ connect }, from) => {
      const own = connections.filter((each) => each.from === from);
      const tries = own.map(({ address, port, localPort }): Try => ({ to: address, port, localPort }));
      const outcomes = tries.length === 0 ? [] : await connect(tries);
      return own.map(({ localPort }, place) => [localPort, outcomes[place]?.outcome]);
    });
    print('round', (await Promise.all(ended)).flat());
  }
  // Makes the kernel write a last line.
  const drop = ['table inet u {', 'chain c {', 'type filter hook input priority 0;', 'drop', '}', '}', ''];
  run('ip netns exec p1 nft -f -', drop.join('\n'));
  const to = randomPods[1]?.address ?? '';
  await pods[0]?.connect([{ to, port: 80, localPort: lastPort }]);
  await end.promise;
  source.stop();
}

async function main(): Promise<void> {
  begin();
  run('mount -t cgroup2 cgroup2 /sys/fs/cgroup');
  await tryRounds(JSON.parse(readFileSync(roundsFile, 'utf8')) as Round[]);
  print('end', true);
  switchOff();
}

void (process.argv[2] === podProgram ? runPod() : main());
