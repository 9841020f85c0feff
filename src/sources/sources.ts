/** Reads logs: the lines of files, the kernel, the journal and programs, each once, with what log daemons put around them taken off. */
export {
  chooseKernelGiver,
  chooseKernelSource,
  type Choice,
  type ConfiguredKernelSource,
  type KernelSource,
} from './auto.ts';
export {
  createCalicoFlows,
  defaultFlowsFolder,
  obstacleOf as calicoFlowsObstacle,
} from './calico-flows/calico-flows.ts';
export { type Clock, type ClockOptions, createClock, zoneTime } from './envelopes/clock.ts';
export type { Envelope } from './envelopes/envelope.ts';
export { readEnvelope } from './envelopes/read-envelope.ts';
export { blockSize, type Input, InputError, openInput } from './framing/input.ts';
export { createScanner, type Scanner, withoutHalfValue } from './framing/scanner.ts';
export { createJournal } from './journald/journal.ts';
export { findJournal } from './journald/journalctl.ts';
export { createLineStarts, streamFieldsOf, streamMark } from './journald/units.ts';
export { kmsgDevice, readRecord, recordSize } from './kmsg/device.ts';
export { createKernelRing } from './kmsg/kernel-ring.ts';
export { createContainerLogs } from './kubelet/container-logs.ts';
export { createDiscovery, folders } from './kubelet/discovery.ts';
export { type ContainerRule, createContainerMatcher, parseContainerRule } from './kubelet/rules.ts';
export { createSavedLogReader, isProgramLog } from './kubelet/saved-log.ts';
export { fatalNeedles } from './records/joiner.ts';
export { createRepeatedLines } from './repeats/repeated-lines.ts';
export type { Json, LineOrigin, Loss, Notice, Position, Repeat, Repeats, Source, SourceListener } from './source.ts';
export { createFollowFile, createFollowProgram, findProgramLogs, type ProgramLog } from './tail/follow-file.ts';
export { lookAt, readingAdviceOn } from './tail/open-log.ts';
export { createBpfTrace, obstacleOf as bpfTraceObstacle } from './tracefs/bpf-trace.ts';
export { createKernelDrops, obstacleOf as kernelDropsObstacle } from './tracefs/kernel-drops.ts';
export { defaultTracefs } from './tracefs/trace.ts';
