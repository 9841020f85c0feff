/** Writes counts as Events: their content, the time of each write, and the consequences of the API server's answer. */
export { type Denier, denierOf } from './denial.ts';
export {
  annotationPrefix,
  annotationSchema,
  type AnyEvent,
  component,
  type CoreEvent,
  eventOf,
  type EventText,
  identityText,
  namespaceOfEvents,
  removableAnnotations,
  timestamp,
  tolerableSkew,
} from './event.ts';
export { createEventWriter, type EventStore, type Refusal, type StoreAnswer } from './event-writer.ts';
export { createPublisher, type Publisher } from './publisher.ts';
export { createRecorder, type Recorder, type WriteRequest } from './recorder.ts';
export { type Attempt, retryDelays } from './retry.ts';
export { createWriteBudget } from './write-budget.ts';
