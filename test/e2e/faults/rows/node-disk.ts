import { rmSync } from 'node:fs';
import type { FaultRows } from '../fault.ts';

/**
 * Faults of the disk with the state, which is a real file system: full, hanging, or read-only; and a state that another
 * process deletes.
 */

export const diskRows: FaultRows = {
  name: 'disk',
  subnet: '10.112',
  rows: [
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
  ],
};
