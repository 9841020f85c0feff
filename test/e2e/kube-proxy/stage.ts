import type { TestContext } from 'vitest';
import type { AgentProcess } from '../agent-process.ts';
import type { AgentRig } from '../agent-rig.ts';
import type { Connection } from '../control-plane/connection.ts';
import { createScene, playInTurn, type Scene, type SceneOptions } from './scene.ts';

/** The end of a test, with which all that it has begun ends. */
type Ending = Pick<TestContext, 'onTestFinished'>;

/** Where tests play what happens to a kube-proxy, and to the agent that reads its log. */
export interface Stage {
  /** When it is this test's turn. */
  readonly play: (
    context: Ending,
    name: string,
    net: number,
    options: Omit<SceneOptions, 'podLogs'>,
    act: (scene: Scene) => Promise<void>,
  ) => Promise<Scene>;
  /** On the node of the scene. Default: reads containers, with a state of its own. */
  readonly startAgent: (
    context: Ending,
    scene: Scene,
    options?: { sources?: string; stateDir?: string },
  ) => Promise<AgentProcess>;
}

export function createStage(connection: Connection, rig: AgentRig): Stage {
  return {
    play(context, name, net, options, act) {
      const create = async (): Promise<Scene> => {
        const scene = await createScene(connection, name, net, { ...options, podLogs: rig.newFolder() });
        context.onTestFinished(scene.end);
        return scene;
      };
      return playInTurn(connection, create, act);
    },
    async startAgent(context, { name, podLogs }, { sources = 'containers', stateDir = rig.newFolder() } = {}) {
      const agent = rig.start({ NODE_NAME: name, SOURCES: sources, POD_LOGS: podLogs, STATE_DIR: stateDir });
      context.onTestFinished(agent.kill);
      await agent.untilReady();
      return agent;
    },
  };
}

/** Three, with successes in between: what is no flap. */
export async function fight({ fail }: Scene): Promise<void> {
  for (let round = 0; round < 3; round++) await fail();
}
