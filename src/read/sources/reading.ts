/** The door for modules that do not follow logs. `sources.ts` also loads the code that follows logs, and with it the package `tail`. */
export { type ClockOptions, createClock, type StampClock, zoneTime } from './envelopes/clock.ts';
export { createDocumentReader, type DocumentKind, documentKind, type DocumentReader } from './documents/documents.ts';
export type { Envelope } from './envelopes/envelope.ts';
export type { KnownTexts } from './envelopes/json-messages.ts';
export { readEnvelope } from './envelopes/read-envelope.ts';
export { blockSize, type Input, InputError, openInput } from './framing/input.ts';
export { createScanner, type Scanner, withoutHalfValue } from './framing/scanner.ts';
export { createLineStarts, streamFieldsOf, streamMark } from './journald/units.ts';
export { type ContainerRule, isNetworkComponent, parseContainerRule } from './kubelet/find-logs.ts';
export { createSavedLogReader, isProgramLog, readOwnStamp } from './kubelet/saved-log.ts';
export { blockNeedles, fatalNeedles } from './records/joiner.ts';
export { createLineRecords } from './records/line-records.ts';
export { readText } from './records/text-records.ts';
export { createRepeatedLines } from './repeats/repeated-lines.ts';
export type { LineOrigin } from './source.ts';
