import { existsSync } from 'node:fs';
import { run } from '../network/command.ts';
import { createNamespaceGroup } from '../network/namespaces.ts';
import { prepareNode } from '../network/topology.ts';

/** The address of the control plane in the network of a cluster (TEST-NET-1 of RFC 5737). */
export const CONTROL_ADDRESS = '192.0.2.1';

const TUN = '/dev/net/tun';

export type Lan = Awaited<ReturnType<typeof createLan>>;

/** The network that joins the nodes of one cluster with its control plane, each in a network namespace of its own. */
export async function createLan() {
  const group = await createNamespaceGroup();
  const control = await group.add('control');
  await prepareNode(control);
  await ip(control, [
    'link add lan type bridge',
    `address add ${CONTROL_ADDRESS}/24 dev lan`,
    'link set lan up',
    // A machine without any default route has no address of its own for the API server to advertise.
    'route add default dev lan',
  ]);
  const nodes: { network?: string; address: string }[] = [];
  const nextAddress = (): string => `192.0.2.${10 + nodes.length}`;
  return {
    /** Name of the control plane's namespace. */
    control,
    /** Joins one more node; returns its namespace and its address (192.0.2.10 and up). */
    async join() {
      const number = nodes.length;
      const [network, address] = [await group.add(`node${number}`), nextAddress()];
      nodes.push({ network, address });
      await prepareNode(network);
      // No two devices of this machine have the same name, so that a line of the kernel shows whose it is
      // (kernel-log.ts).
      const device = `e${process.pid}n${number}`;
      await ip(control, [
        `link add port${number} type veth peer name ${device} netns ${network}`,
        `link set port${number} master lan up`,
      ]);
      await ip(network, [
        `address add ${address}/24 dev ${device}`,
        `link set ${device} up`,
        `route add default via ${CONTROL_ADDRESS}`,
      ]);
      return { network, address };
    },
    /**
     * Joins a node that is a machine of its own; returns the TAP device for it, in the control plane's namespace, and
     * its address.
     */
    async joinGuest() {
      if (!existsSync(TUN)) throw new Error(`[cluster] a node in QEMU needs ${TUN}: modprobe tun`);
      const [device, address] = [`port${nodes.length}`, nextAddress()];
      nodes.push({ address });
      // `ip -n` would make the device in the namespace of this process.
      await run('ip', ['netns', 'exec', control, 'ip', 'tuntap', 'add', 'dev', device, 'mode', 'tap']);
      await ip(control, [`link set ${device} master lan up`]);
      return { device, address };
    },
    /** Makes all other nodes, except those that are machines of their own, send packets for `range` to this node. */
    async route(range: string, address: string): Promise<void> {
      for (const network of [control, ...nodes.flatMap((node) => node.network ?? [])])
        if (nodes.find((node) => node.network === network)?.address !== address)
          await ip(network, [`route replace ${range} via ${address}`]);
    },
    remove: group.remove,
  };
}

async function ip(namespace: string, commands: readonly string[]): Promise<void> {
  await run('ip', ['-n', namespace, '-batch', '-'], `${commands.join('\n')}\n`);
}
