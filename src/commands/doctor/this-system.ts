import { readFileSync } from 'node:fs';
import { searchPath } from '../../config/config.ts';
import { chooseKernelSource } from '../../sources/auto.ts';
import { findJournal } from '../../sources/journald/find-journal.ts';
import { findProgramLogs } from '../../sources/program-log/find-logs.ts';
import { lookAtContainers } from './container-look.ts';
import { httpGet } from './http-get.ts';
import { lookAtFolder, readKeptState } from './kept-state.ts';
import { lookAtNetwork } from './network-view.ts';
import { isInPod } from './own-pod.ts';
import { lookAtProgramLog } from './program-log.ts';
import { runProgram } from './program.ts';
import type { System } from './system.ts';

/** The machine, or container, that this runs on. */
export function thisSystem(): System {
  return {
    now: Date.now,
    run: runProgram,
    get: httpGet,
    readFile,
    choose: () => chooseKernelSource({ journal: () => journal() }),
    findJournal: journal,
    lookAtContainers: ({ podLogs, containers }) => lookAtContainers(podLogs, containers),
    findPrograms: () => findProgramLogs(),
    lookAtProgramLog,
    lookAtFolder,
    readKeptState,
    lookAtNetwork: (options) => lookAtNetwork({ ...options, isPod: isInPod() }),
  };
}

function journal(directory?: string): ReturnType<typeof findJournal> {
  return findJournal({ searchPath: searchPath(), ...(directory !== undefined && { directories: [directory] }) });
}

function readFile(path: string): string | undefined {
  try {
    return readFileSync(path, 'latin1').trim();
  } catch (error) {
    // A list of tables that is not there is one without tables.
    const isMissing = (error as NodeJS.ErrnoException).code === 'ENOENT';
    return isMissing && path.endsWith('_tables_names') ? '' : undefined;
  }
}
