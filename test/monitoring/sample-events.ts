import type { CoreEvent } from '../../src/publish/events/event.ts';
import type { Outcome } from '../samples/sample.ts';
import { textOf } from './files.ts';

/** The Events of a sample; test/samples compares them with the program's output. */
export function eventsOfSample(sample: string): readonly CoreEvent[] {
  return (JSON.parse(textOf(`samples/${sample}.expected.json`)) as Outcome).events;
}
