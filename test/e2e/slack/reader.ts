import { appendFileSync } from 'node:fs';
import { type AgentRig, dropLine } from '../agent-rig.ts';

/** An agent that reads a log of its own, to which drops are written. */
export interface Reader {
  readonly drop: (from: string, to: string, port: number, packets: number, time?: Date) => void;
  /** Kills the agent and starts another; `lost`: without the state of the first. */
  readonly restart: (lost: boolean) => Promise<void>;
}

export async function startReader(rig: AgentRig, node: string): Promise<Reader> {
  const log = rig.newLog();
  let stateDir = rig.newFolder();
  const start = async () => {
    const agent = rig.start({ NODE_NAME: node, SOURCES: `file:${log}`, STATE_DIR: stateDir });
    await agent.untilReady();
    return agent;
  };
  let agent = await start();
  return {
    drop: (from, to, port, packets, time = new Date()) =>
      appendFileSync(log, dropLine(from, to, port, { time }).repeat(packets)),
    async restart(lost) {
      await agent.kill();
      if (lost) stateDir = rig.newFolder();
      agent = await start();
    },
  };
}
