import { renameSync, rmSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import type { Scene } from './fault.ts';
import { testFaults } from './suite.ts';

/** The log that the agent reads, replaced or truncated while it is read (docs/sources.md, Files). */

function rotate({ log }: Scene): void {
  renameSync(log, `${log}.1`);
  writeFileSync(log, '');
}

testFaults({ name: 'log', subnet: '10.113' }, [
  {
    title: 'the log is rotated again and again',
    begin: rotate,
    lasts: async (scene) => {
      for (let round = 0; round < 20; round++) {
        await scene.drop('during', 3);
        rotate(scene);
      }
    },
    problems: [],
  },
  {
    title: 'the log is deleted and made again',
    begin: ({ log }) => {
      rmSync(log);
      writeFileSync(log, '');
    },
    problems: [],
  },
  {
    title: 'the log is emptied while it is read',
    begin: ({ log }) => truncateSync(log),
    problems: [],
    loses: true,
  },
  {
    title: 'the log is cut in half, within a line, while it is read: the half that is left does not count again',
    begin: async ({ agent, log }) => {
      truncateSync(log, statSync(log).size / 2 + 20);
      // Lines that are written before that may be taken for what was there.
      await agent.untilLog(({ problem }) => problem === `lost ${log}`);
    },
    problems: [],
    loses: true,
  },
]);
