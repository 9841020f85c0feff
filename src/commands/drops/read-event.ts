/** What an Event says of lost packets: by its annotations (docs/events.md), and where it has none, by its message. */
import { annotationPrefix, annotationSchema } from '../../events/annotations.ts';
import { at, type Json, text } from '../../platform/json.ts';
import { endText } from '../terminal.ts';
import { readProse, type ReadDrop } from './prose.ts';

/** Undefined for an Event of something else. */
export function readDrop(event: Json): ReadDrop | undefined {
  const prose = readProse(text(at(event, 'message')) ?? '');
  const annotations = at(event, 'metadata', 'annotations');
  const of = (key: string): string | undefined => text(at(annotations, annotationPrefix + key));
  const direction = of('direction');
  if (of('schema') !== annotationSchema || (direction !== 'receiving' && direction !== 'sending')) return prose;
  const [port, protocol, verdict] = [of('port'), of('protocol'), of('verdict')];
  const [peer, policy] = [of('peer'), of('policy')];
  return {
    direction,
    peer: peer === undefined ? prose?.peer : peerOf(peer),
    address: prose?.address,
    port: port === undefined ? (prose?.port ?? protocol) : `${port}/${protocol ?? 'TCP'}`,
    verdict: verdict === 'rejected' || verdict === 'dropped' ? verdict : (prose?.verdict ?? 'dropped'),
    policy: policy === undefined ? prose?.policy : policyOf(policy),
    isOther: prose?.isOther ?? false,
  };
}

/** Of `Deployment/batch/worker`. */
function peerOf(annotation: string): string {
  const [kind = '', ...name] = annotation.split('/');
  // The kind of what is no object is a word of this program: external, unknown.
  return endText(/^[A-Z]/.test(kind) ? kind : undefined, name.join('/'));
}

function policyOf(annotation: string): string {
  const [kind = '', ...name] = annotation.split('/');
  return name.length === 0 ? `policy ${kind}` : `${kind} ${name.join('/')}`;
}
