/**
 * A Node that runs Pods, for tests of what a user types: `kubectl apply -k`, `rollout status`, `logs`, `exec`, `describe`.
 *
 *   const controlPlane = await startControlPlane({ withNodes: true });   // one's own: controllers act on all that it has
 *   const controllers = await startControllers(controlPlane);            // ../control-plane/controllers.ts
 *   const node = await startNode(controlPlane, { name: 'node-a', image: (reference) => … });
 *   … kubectl, with `controlPlane.adminKubeconfig` as KUBECONFIG and `controlPlane.kubectlPath` …
 *   await node.destroy(); await controllers.stop(); await controlPlane.stop();
 *
 * It stands in for a kubelet, a container runtime's image store, a network plug-in and kube-proxy. **Real** are: etcd, API server,
 * controllers and scheduler; the containers (crun: namespaces, root read-only, capabilities, users, mounts as the Pod says); the
 * ServiceAccount's token, of a TokenRequest bound to the Pod; the kubelet's libraries that read logs and serve `exec`; the probes' HTTP
 * requests; network namespaces and veths, made as Calico makes them; the kernel's log in a journald of the machine.
 * **Not real**: it is the administrator rather than `system:node:NAME`; images are the built bundle and this machine's libraries
 * (image.ts); the Service of the API server is a relay, and no other Service or DNS works; requests and limits, seccomp and AppArmor are
 * not applied; Pods have no init containers; of volumes, hostPath, emptyDir, configMap and projected ones are known, of probes httpGet
 * and exec; `kubectl attach`, `port-forward`, `cp` with a shell and `logs --previous` are not answered.
 *
 * Needs root on Linux.
 */
import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { ensureNodeBinaries } from '../control-plane/build.ts';
import type { Connection } from '../control-plane/connection.ts';
import { createObjects } from '../control-plane/objects.ts';
import { createOwnFolder } from '../own-folder.ts';
import { apiServiceAddress, serveApi } from './api-service.ts';
import { agentImage, type Image } from './image.ts';
import { startKubelet } from './kubelet.ts';
import { startKubeletServer } from './kubelet-server.ts';
import type { Outcome } from '../outcome.ts';
import { type Machine, startMachine } from './machine.ts';
import { nodeObject } from './node-object.ts';

export interface NodeOptions {
  readonly name: string;
  /** In the network of the machine. Default: 192.0.2.10. */
  readonly address?: string;
  /** The first three bytes of its Pods' addresses. Default: `10.77.0`. */
  readonly podRange?: string;
  /**
   * What there is under a reference such as `registry.example.com/kube-netfilter-tailer:0.1.0-journal`; undefined: nothing, and the Pod
   * waits with ErrImagePull. Default: the agent's image under each reference that ends in its name and a tag.
   */
  readonly image?: (reference: string, images: AgentImages) => Image | undefined;
}

/** The two targets of the Dockerfile. */
export interface AgentImages {
  readonly plain: Image;
  readonly journal: Image;
}

export interface TestNode {
  readonly name: string;
  /** What is under it: its files (`machine.outside('/var/log/kern.log')`), its network, its programs. */
  readonly machine: Machine;
  /** Runs a line of shell on the machine as root, in its network: what `ssh NODE …` would do. */
  readonly shell: (line: string, input?: string) => Promise<Outcome>;
  /** Ends all Pods at once; their objects and the Node's stay. */
  readonly destroy: () => Promise<void>;
}

/** The bundle has to be built (../bundle.ts). Resolves when the Node is ready for Pods. */
export async function startNode(connection: Connection, options: NodeOptions): Promise<TestNode> {
  const { name, address = '192.0.2.10', podRange = '10.77.0', image = imageByName } = options;
  const binaries = await ensureNodeBinaries();
  const folder = createOwnFolder('machine');
  const ending: (() => unknown)[] = [() => rmSync(folder, { recursive: true, force: true })];
  const destroy = async (): Promise<void> => {
    for (const end of ending.splice(0)) await end();
  };
  try {
    const service = await apiServiceAddress(connection);
    const machine = await startMachine(name, address, folder, [service.host]);
    ending.unshift(machine.destroy);
    const api = await serveApi(connection, machine, folder, service);
    ending.unshift(api.close);
    const server = await startKubeletServer(binaries['kubelet-server'], connection, folder);
    ending.unshift(server.stop);
    await createObjects(connection, { items: [nodeObject(name, address, `${podRange}.0/24`, server.port)] });
    mkdirSync(join(folder, 'images'));
    const images: AgentImages = {
      plain: agentImage(join(folder, 'images'), { journalctl: false }),
      journal: agentImage(join(folder, 'images'), { journalctl: true }),
    };
    let pods = 1;
    const stopKubelet = await startKubelet(name, {
      connection,
      machine,
      folder,
      image: (reference) => image(reference, images),
      serviceEnv: { KUBERNETES_SERVICE_HOST: service.host, KUBERNETES_SERVICE_PORT: String(service.port) },
      takeAddress: () => `${podRange}.${++pods}`,
      describe: server.describe,
    });
    ending.unshift(stopKubelet);
    return { name, machine, shell: (line, input) => machine.run(['bash', '-c', line], input), destroy };
  } catch (error) {
    await destroy();
    throw error;
  }
}

/** Both targets by their tags, from any registry. */
export function imageByName(reference: string, { plain, journal }: AgentImages): Image | undefined {
  const [, target] = /(?:^|\/)kube-netfilter-tailer:[\w.]+(-journal)?$/.exec(reference) ?? [undefined, 'none'];
  if (target === 'none') return undefined;
  return target === undefined ? plain : journal;
}
