/** Reads logs (of files, the kernel, the journal and programs), each line once, and removes the envelopes of log daemons. */
export {
  pickKernelSource,
  chooseKernelSource,
  type KernelChoice,
  type ConfiguredKernelSource,
  type KernelSource,
} from './auto.ts';
export { createCalicoFlows, defaultFlowsFolder, calicoFlowsObstacle } from './calico-flows/calico-flows.ts';
export { createJournal } from './journald/journal.ts';
export { findJournal } from './journald/journalctl.ts';
export { hasKernelRecords } from './journald/kernel-records.ts';
export { kmsgDevice, readKmsgRecord, recordSize } from './kmsg/device.ts';
export { createKernelRing } from './kmsg/kernel-ring.ts';
export { createContainerLogs } from './kubelet/container-logs.ts';
export { createLogFinder } from './kubelet/find-logs.ts';
export { createSharedLines, type LineDedupe, type SharedLines } from './shared-lines.ts';
export type {
  JsonValue,
  LineOrigin,
  Loss,
  Notice,
  Position,
  Repeat,
  Repeats,
  Source,
  SourceListener,
} from './source.ts';
export { createFollowFile, createFollowProgram, findProgramLogs, type ProgramLog } from './tail/follow-file.ts';
export { lookAt, readingAdviceOn } from './tail/open-log.ts';
export { connectionsObstacleOf, createKernelDrops, kernelDropsObstacle } from './tracefs/kernel-drops.ts';
export { hasHistograms } from './tracefs/probe.ts';
export { createBpfTrace, defaultTracefs, bpfTraceObstacle } from './tracefs/trace.ts';
