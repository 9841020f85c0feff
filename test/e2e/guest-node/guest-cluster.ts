/**
 * A real cluster of one node with a kernel of its own: a kernel of Debian in QEMU, with containerd, a kubelet,
 * kube-proxy, and kube-router, which enforces NetworkPolicies. The control plane runs outside of it, on this machine.
 * Needs root on Linux, and /dev/net/tun.
 */
import { randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { API_SERVER, podRangeOf, startKubeProxy, untilReady } from '../cluster/cluster.ts';
import { KUBE_PROXY_IMAGE } from '../cluster/images.ts';
import { CONTROL_ADDRESS, createLan } from '../cluster/lan.ts';
import { bootMachine, connectNode, type Node, startService } from '../cluster/node.ts';
import { ownSnapshotter, PAUSE_IMAGE, writeConfiguration } from '../cluster/node-configuration.ts';
import { ensurePrograms } from '../control-plane/build.ts';
import { type ControlPlane, startControlPlane } from '../control-plane/control-plane.ts';
import { startControllers } from '../control-plane/controllers.ts';
import { lastLines } from '../control-plane/running.ts';
import { createOwnFolder } from '../own-folder.ts';
import { CONSOLE, CONTAINERS, startGuestMachine } from './guest-machine.ts';
import { unpackImages } from './unpacked-images.ts';

export interface GuestCluster {
  readonly controlPlane: ControlPlane;
  readonly node: Node;
  /** The seconds after which its parts had started. */
  readonly times: Readonly<Record<'booted' | 'ready', number>>;
  /** Stops everything and removes what it has on this machine. */
  readonly end: () => Promise<void>;
}

/**
 * Resolves when the node is ready and kube-router has been started. `version`: of Linux, like `6.12`; `images`: on the
 * node from the beginning, in addition to those of ensureImages, which must exist (images.ts).
 */
export async function startGuestCluster(version: string, images: readonly string[]): Promise<GuestCluster> {
  const { 'kube-router': kubeRouter, ...binaries } = await ensurePrograms([
    'kubelet',
    'containerd',
    'containerd-shim-runc-v2',
    'ctr',
    'runc',
    'kube-router',
  ]);
  const [name, token] = ['node-a', randomBytes(16).toString('hex')];
  const folder = createOwnFolder('guest');
  const ending: (() => unknown)[] = [() => rmSync(folder, { recursive: true, force: true })];
  const end = async (): Promise<void> => {
    for (const each of ending.splice(0)) await each();
  };
  try {
    const machineFolder = join(folder, name);
    mkdirSync(machineFolder);
    const snapshotter = ownSnapshotter();
    const all = [PAUSE_IMAGE, KUBE_PROXY_IMAGE, ...images];
    const containers = await unpackImages(binaries, all, folder, snapshotter);
    const lan = await createLan();
    ending.unshift(lan.remove);
    const place = { network: lan.control, address: CONTROL_ADDRESS, nodes: new Map([[name, token]]) };
    const controlPlane = await startControlPlane({ place });
    ending.unshift(controlPlane.stop);
    ending.unshift((await startControllers(controlPlane)).stop);
    const kubeconfig = await controlPlane.writeKubeconfig(`node-${name}`, token, API_SERVER);
    const routerKubeconfig = await controlPlane.writeKubeconfig('kube-router', controlPlane.adminToken, API_SERVER);

    const started = performance.now();
    const seconds = (): number => (performance.now() - started) / 1000;
    const guest = await startGuestMachine(name, lan, { version, folder: machineFolder, containers });
    ending.unshift(guest.end);
    const booted = seconds();
    writeConfiguration(guest.machine, {
      group: '/',
      containers: CONTAINERS,
      snapshotter,
      syncFrequency: '1m',
    });
    const data = await bootMachine(guest.machine, guest.address, { binaries, kubeconfig });
    const range = await podRangeOf(controlPlane, data);
    await lan.route(range, guest.address);
    const node = connectNode(data);
    await node.writePodNetwork(range);
    await startKubeProxy(controlPlane);
    await untilReady(controlPlane);
    const parts = [
      '--run-firewall=true',
      '--run-router=false',
      '--run-service-proxy=false',
      '--iptables-sync-period=1m',
    ];
    const where = [`--kubeconfig=${routerKubeconfig}`, `--hostname-override=${name}`];
    startService(data, 'kube-router', [kubeRouter, ...parts, ...where, '-v=1']);
    return { controlPlane, node, times: { booted, ready: seconds() }, end };
  } catch (cause) {
    // Only the console shows a kernel that has failed.
    const log = join(folder, name, CONSOLE);
    const printed = existsSync(log) ? lastLines(log, 30) : '(it was not started)';
    await end();
    throw new Error(`[guest] the cluster did not start. The end of the guest's console:\n${printed}`, { cause });
  }
}
