/** Who, whom and what, of the message of an Event of a lost packet (src/drops/message.ts). Whoever may write Events may write any text. */
import { endText } from '../terminal.ts';

export interface ReadDrop {
  readonly direction: 'receiving' | 'sending';
  /** `batch/worker (Deployment)`, `shop/db-0`, `203.0.113.9`; undefined where the message does not say it. */
  readonly peer: string | undefined;
  /** The address behind its name. */
  readonly address: string | undefined;
  /** `5432/TCP`, `ICMP echo request`, `SCTP`; of several the first ones. */
  readonly port: string | undefined;
  readonly verdict: 'dropped' | 'rejected';
  /** `NetworkPolicy shop/db (tier default)`. */
  readonly policy: string | undefined;
  /** The packet was an answer, or belongs to an error: no connection of its own. */
  readonly isOther: boolean;
}

/** Characters that are looked at: an agent's message has 1024 bytes at most. */
const longest = 2048;

export const openings = [
  ['Packet dropped when receiving traffic from ', 'receiving'],
  ['Packet dropped when sending traffic to ', 'sending'],
] as const;

/** Undefined for a message of something else. */
export function readProse(message: string): ReadDrop | undefined {
  const text = message.slice(0, longest);
  const opening = openings.find(([words]) => text.startsWith(words));
  if (opening === undefined) return undefined;
  const [words, direction] = opening;
  const end = text.indexOf('. ', words.length);
  const sentence = text.slice(words.length, end < 0 ? undefined : end).replace(/\.$/, '');
  const peer = sentence.slice(0, firstOf(sentence, [' (', ' on port', ': ', ' over ', ', ', ' and ']));
  const [, address] = /^[^(]{0,400} \(([0-9A-Fa-f:.]{2,45})[ ,)]/.exec(sentence) ?? [];
  const policy = /(?:^|[.\]] )(Denied|Rejected) by (.{1,400}?)\.(?: |$)/.exec(text.slice(words.length));
  return {
    direction,
    peer: peer === '' ? undefined : peerOf(peer),
    address,
    port: portOf(sentence),
    verdict: /[.\]] Rejected(?: by |\.)/.test(text) ? 'rejected' : 'dropped',
    // Of one that no log line names only the direction is known.
    policy: policy?.[2]?.startsWith('an ') === true ? undefined : policy?.[2],
    isOther: / (?:answers from|which reports the) /.test(sentence),
  };
}

/** Of `Deployment batch/worker`, `node node-a`. */
function peerOf(text: string): string {
  const [, kind, name] = /^([A-Za-z]{1,63}) (\S+)$/.exec(text) ?? [];
  return name === undefined ? text : endText(kind === 'node' ? 'Node' : kind, name);
}

function firstOf(text: string, marks: readonly string[]): number {
  const found = marks.map((mark) => text.indexOf(mark)).filter((place) => place >= 0);
  return Math.min(text.length, ...found);
}

function portOf(sentence: string): string | undefined {
  const [, one] = / port (\d{1,5}\/\w{1,10})/.exec(sentence) ?? [];
  if (one !== undefined) return one;
  const [, several] = / (?:on|from) (?:over )?(?:\d{1,3} )?ports:? (.{1,200})$/.exec(sentence) ?? [];
  if (several !== undefined)
    return several
      .replaceAll(/ \([^()]{1,40}\)/g, '')
      .replace(' and ', ', ')
      .replaceAll(', ', ',');
  const [, icmp] = /: ((?:ICMP|ICMPv6) [^(]{1,60}?)(?: \(|$)/.exec(sentence) ?? [];
  if (icmp !== undefined) return icmp;
  const [, protocol] = / over ([\w-]{1,20})/.exec(sentence) ?? [];
  return protocol;
}
