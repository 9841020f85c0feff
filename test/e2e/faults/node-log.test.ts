import { renameSync, rmSync, writeFileSync } from 'node:fs';
import { type Scene, testFaults } from './suite.ts';

/** The log that the agent reads, replaced while it is read. */

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
]);
