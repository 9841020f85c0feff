import { readdirSync, renameSync, rmSync, statSync, truncateSync } from 'node:fs';
import { join } from 'node:path';
import type { Scene } from './fault.ts';
import { testFaults } from './suite.ts';

/** The disk of the state, a real file system: full, hanging, read-only, and a state that another process changes. */

const cutInHalf = ({ stateDir }: Scene): void => {
  for (const name of readdirSync(stateDir)) {
    const file = join(stateDir, name);
    truncateSync(file, Math.floor(statSync(file).size / 2));
  }
};

testFaults({ name: 'disk', subnet: '10.112' }, [
  {
    title: 'the disk of the state is full',
    disk: true,
    begin: ({ disk }) => disk.fill(),
    end: ({ disk }) => disk.empty(),
    problems: ['state save'],
  },
  {
    title: 'the disk of the state does not answer',
    disk: true,
    begin: ({ disk }) => disk.freeze(),
    end: ({ disk }) => disk.thaw(),
    problems: ['state save'],
  },
  {
    title: 'the disk of the state can only be read after an error, and is mounted again',
    disk: true,
    begin: ({ disk }) => disk.fail(),
    end: ({ disk }) => disk.repair(),
    problems: ['state save'],
  },
  {
    title: 'the folder of the state is deleted',
    begin: ({ stateDir }) => rmSync(stateDir, { recursive: true }),
    problems: ['state lost'],
  },
  {
    title: 'the folder of the state is moved away',
    begin: ({ stateDir }) => renameSync(stateDir, `${stateDir}-moved`),
    problems: ['state lost'],
  },
  { title: 'the files of the state are cut in half', begin: cutInHalf, problems: ['state lost'] },
]);
