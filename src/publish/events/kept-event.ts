import type { ObjectRef } from '../../base/model/endpoint.ts';
import type { Millis } from '../../base/model/log-line.ts';
import type { CoreEvent } from './event.ts';

/** An Event as text, which takes a quarter of the memory: a long log has hundreds of thousands. */
export class KeptEvent {
  readonly regarding: Pick<ObjectRef, 'kind' | 'namespace' | 'name'>;
  /** `lastTimestamp`. */
  readonly last: Millis;
  /** One byte for each character, because a single arrow in the message would double the memory of a string. */
  readonly #bytes: string;

  constructor(event: CoreEvent, regarding: ObjectRef) {
    this.regarding = regarding;
    this.last = Date.parse(event.lastTimestamp);
    this.#bytes = Buffer.from(JSON.stringify(event)).toString('latin1');
  }

  read(): CoreEvent {
    return JSON.parse(Buffer.from(this.#bytes, 'latin1').toString()) as CoreEvent;
  }
}
