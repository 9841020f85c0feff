/** What an Event says of lost packets: by its annotations (docs/events.md), and where it has none, by its message. */
import { at, type Json, text } from '../../platform/json.ts';
import { readProse, type ReadDrop } from './prose.ts';

const prefix = 'kube-netfilter-tailer/';
/** Of the annotations: another one has other meanings. */
const schema = '1';

/** Undefined for an Event of something else. */
export function readDrop(event: Json): ReadDrop | undefined {
  const prose = readProse(text(at(event, 'message')) ?? '');
  const annotations = at(event, 'metadata', 'annotations');
  const of = (key: string): string | undefined => text(at(annotations, prefix + key));
  const direction = of('direction');
  if (of('schema') !== schema || (direction !== 'receiving' && direction !== 'sending')) return prose;
  const [port, protocol, verdict] = [of('port'), of('protocol'), of('verdict')];
  return {
    direction,
    peer: named(of('peer-kind'), of('peer-namespace'), of('peer')) ?? prose?.peer,
    address: prose?.address,
    port: port === undefined ? (prose?.port ?? protocol) : `${port}/${protocol ?? 'TCP'}`,
    verdict: verdict === 'rejected' || verdict === 'dropped' ? verdict : (prose?.verdict ?? 'dropped'),
    policy: policyOf(of('policy-kind'), of('policy-namespace'), of('policy')) ?? prose?.policy,
    isOther: prose?.isOther ?? false,
  };
}

/** As the messages name a peer: a Pod and an address without their kind. */
function named(kind = '', namespace: string | undefined, name: string | undefined): string | undefined {
  if (name === undefined) return undefined;
  const full = namespace === undefined ? name : `${namespace}/${name}`;
  // The kind of what is no object is a word of this program: outside, node, …
  return kind === 'Pod' || !/^[A-Z]/.test(kind) ? full : `${kind} ${full}`;
}

function policyOf(kind = 'policy', namespace: string | undefined, name: string | undefined): string | undefined {
  if (name === undefined) return undefined;
  return `${kind} ${namespace === undefined ? name : `${namespace}/${name}`}`;
}
