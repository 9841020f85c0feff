import { isIPv6 } from 'node:net';
import { until } from '../until.ts';
import { run } from './command.ts';

// Calico gives this MAC to the node's end of each veth, and these gateways to every Pod; the IPv6 gateway follows from
// the MAC.
const NODE_MAC = 'ee:ee:ee:ee:ee:ee';
const GATEWAYS = ['169.254.1.1', 'fe80::ecee:eeff:feee:eeee'];

const POD_DEVICE = 'eth0';

// Skips the second in which a new IPv6 address must not be used.
const WITHOUT_DAD = { 'ipv6/conf/all/accept_dad': 0, 'ipv6/conf/default/accept_dad': 0 };

/** Makes a new network namespace a router. */
export async function prepareNode(namespace: string): Promise<void> {
  await setSysctls(namespace, {
    ...WITHOUT_DAD,
    'ipv4/ip_forward': 1,
    'ipv6/conf/all/forwarding': 1,
    'ipv4/conf/all/rp_filter': 0,
    'ipv4/conf/default/rp_filter': 0,
  });
  await ip(namespace, ['link set lo up']);
}

/**
 * Joins a new network namespace to the node's, as Calico does: one route to each address at the node's end, `device`,
 * and gateways that are not addresses of the Pod. Neighbours are fixed, so that no packet waits for one to be found.
 */
export async function joinPod(node: string, pod: string, device: string, addresses: readonly string[]): Promise<void> {
  await setSysctls(pod, WITHOUT_DAD);
  await ip(node, [
    `link add ${device} address ${NODE_MAC} type veth peer name ${POD_DEVICE} netns ${pod}`,
    `link set ${device} up`,
  ]);
  await ip(pod, ['link set lo up', `link set ${POD_DEVICE} up`]);
  await untilUp(node, device);
  const { address: podMac } = await untilUp(pod, POD_DEVICE);
  await ip(
    node,
    addresses.flatMap((address) => [
      `route add ${address} dev ${device}`,
      `neighbour add ${address} lladdr ${podMac} dev ${device} nud permanent`,
    ]),
  );
  await ip(pod, [
    ...addresses.map((address) => `address add ${address} dev ${POD_DEVICE}${isIPv6(address) ? ' nodad' : ''}`),
    ...GATEWAYS.flatMap((gateway) => [
      `neighbour add ${gateway} lladdr ${NODE_MAC} dev ${POD_DEVICE} nud permanent`,
      `route add default via ${gateway} dev ${POD_DEVICE} onlink`,
    ]),
  ]);
}

interface Link {
  readonly operstate: string;
  readonly address: string;
}

// Both ends are up at once, but the kernel drops what they send until it has noticed, somewhat later.
async function untilUp(namespace: string, device: string): Promise<Link> {
  const linkThatIsUp = async (): Promise<Link | undefined> => {
    const { stdout } = await run('ip', ['-n', namespace, '-json', 'link', 'show', 'dev', device]);
    return (JSON.parse(stdout) as readonly Link[]).find(({ operstate }) => operstate === 'UP');
  };
  return await until(linkThatIsUp, () => `[network] ${device} is not up after a minute`);
}

async function ip(namespace: string, commands: readonly string[]): Promise<void> {
  await run('ip', ['-n', namespace, '-batch', '-'], `${commands.join('\n')}\n`);
}

// Not by sysctl, which a small image does not have.
async function setSysctls(namespace: string, values: Readonly<Record<string, number>>): Promise<void> {
  const script = Object.entries(values).map(([path, value]) => `echo ${value} > /proc/sys/net/${path}`);
  await run('ip', ['netns', 'exec', namespace, 'sh', '-ec', script.join('\n')]);
}
