import type { Config } from '../../config/config.ts';
import type { Millis } from '../../model/log-line.ts';
import type { PrefixTable } from '../../parsing/netfilter/prefixes.ts';
import type { Choice } from '../../sources/auto.ts';
import type { ProgramLog } from '../../sources/program-log/find-logs.ts';
import type { Api } from './api.ts';
import type { LocateOptions } from './checks/kernel-source.ts';
import type { ReadFile } from './checks/kernel-switches.ts';
import type { ContainerLook } from './container-look.ts';
import type { HttpGet } from './http-get.ts';
import type { KeptState, StateFolder } from './kept-state.ts';
import type { NetworkView, NetworkViewOptions } from './network-view.ts';
import type { PodName } from './own-pod.ts';
import type { ProgramLogLook } from './program-log.ts';
import type { RunProgram } from './program.ts';

/** What doctor asks of the machine. Nothing of it changes anything, throws or rejects. */
export interface System {
  now: () => Millis;
  run: RunProgram;
  get: HttpGet;
  readFile: ReadFile;
  choose: () => Choice;
  findJournal: LocateOptions['findJournal'];
  lookAtContainers: (config: Pick<Config, 'podLogs' | 'containers'>) => ContainerLook;
  /** As `auto` finds them. */
  findPrograms: () => readonly ProgramLog[];
  lookAtProgramLog: (path: string) => ProgramLogLook;
  lookAtFolder: (path: string) => StateFolder;
  readKeptState: (folder: string) => KeptState;
  lookAtNetwork: (options: Omit<NetworkViewOptions, 'isPod'>) => Promise<NetworkView>;
}

export interface DoctorContext {
  config: Config;
  problems: readonly string[];
  warnings: readonly string[];
  api: Api;
  ownPod: PodName | undefined;
  prefixes: PrefixTable;
  system: System;
}
