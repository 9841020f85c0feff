import { type ControlPlane, startControlPlane } from './control-plane/control-plane.ts';
import { startControllers } from './control-plane/controllers.ts';
import { createPrograms, type Programs } from './first-event-programs.ts';
import { imageByName, startNode, type TestNode } from './node/node.ts';

export interface Cluster {
  readonly controlPlane: ControlPlane;
  readonly programs: Programs;
  readonly node: TestNode;
  /** Ends all of it; the folder stays. */
  readonly end: () => Promise<void>;
}

/**
 * What a reader of docs/quickstart.md has: a cluster with one Node, a container engine and SSH (node/node.ts and first-event-programs.ts say what of
 * that is real). The bundle has to be built (bundle.ts). `folder`: takes the programs; `signal`: gives up after the step that is under way.
 * What was begun is ended if it fails.
 */
export async function startCluster(folder: string, name: string, signal?: AbortSignal): Promise<Cluster> {
  const ending: (() => Promise<void>)[] = [];
  const end = async (): Promise<void> => {
    for (const each of ending.splice(0)) await each();
  };
  try {
    const controlPlane = await startControlPlane({ withNodes: true });
    ending.unshift(controlPlane.stop);
    signal?.throwIfAborted();
    const controllers = await startControllers(controlPlane);
    ending.unshift(controllers.stop);
    signal?.throwIfAborted();
    const programs = createPrograms(folder, controlPlane.kubectlPath);
    const node = await startNode(controlPlane, {
      name,
      image: (reference, images) =>
        programs.pushed().includes(reference) ? imageByName(reference, images) : undefined,
    });
    ending.unshift(node.destroy);
    signal?.throwIfAborted();
    programs.lead(node);
    return { controlPlane, programs, node, end };
  } catch (error) {
    await end();
    throw error;
  }
}
