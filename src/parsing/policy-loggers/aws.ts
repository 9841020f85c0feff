import type { Unparsable } from '../../model/observation.ts';
import type { ClusterTier, PacketObservation, Verdict } from '../../model/packet.ts';
import { observePacket } from './record.ts';

/**
 * The network policy agent of the AWS VPC CNI, in its three spellings: to CloudWatch, up to 1.2.1 and since:
 *
 *     Node: n;SIP: 10.0.0.1;SPORT: 1;DIP: 10.0.0.2;DPORT: 2;PROTOCOL: TCP;PolicyVerdict: DENY
 *     {"level":"info","msg":"Flow Info:  ","Src IP":"10.0.0.1","Src Port":1,"Dest IP":…,"Proto":"TCP","Verdict":"DENY"}
 *     {"level":"debug","msg":"Flow Info: Src IP: 10.0.0.1 Src Port: 1 Dest IP: … Dest Port: 2 Proto TCP Verdict DENY Direction egress, Tier NETWORK_POLICY"}
 */
export function parseAws(text: string): PacketObservation | Unparsable | undefined {
  const fields = sentence.test(text) ? readSemicolons(text) : json.test(text) ? readFlowInfo(text) : undefined;
  if (!fields) return undefined;
  const verdict = verdicts.get(fields.get('verdict'));
  if (verdict === undefined)
    return {
      kind: 'unparsable',
      format: logger,
      reason: `the verdict ${fields.get('verdict') ?? '(missing)'} is not known`,
    };
  return observePacket({
    logger,
    verdict,
    source: fields.get('src ip'),
    sourcePort: fields.get('src port'),
    destination: fields.get('dest ip'),
    destinationPort: fields.get('dest port'),
    protocol: fields.get('proto'),
    policySide: sides.get(fields.get('direction')),
    clusterTier: clusterTiers.get(fields.get('tier')),
  });
}

// Only the beginning counts: further on it may be input that a stranger has sent to another program.
const sentence = /^Node: [\w.-]{1,253};SIP: .{1,1024};PolicyVerdict: /;
const json = /^\{.{0,1024}"msg":\s{0,4}"Flow Info/;

const logger = 'aws-network-policy-agent';

const verdicts = new Map<string | undefined, Verdict>([
  ['DENY', 'dropped'],
  ['ACCEPT', 'accepted'],
  ['EXPIRED/DELETED', 'accepted'],
]);

/** Policies for ingress are those of the receiver. */
const sides = new Map<string | undefined, PacketObservation['policySide']>([
  ['ingress', 'receiver'],
  ['egress', 'sender'],
]);

/** The other two are `NETWORK_POLICY`, that of NetworkPolicies, and `DEFAULT`, no policy's. */
const clusterTiers = new Map<string | undefined, ClusterTier>([
  ['ADMIN', 'Admin'],
  ['BASELINE', 'Baseline'],
]);

/** Names of the CloudWatch spelling in the others'. */
const names: Record<string, string> = {
  sip: 'src ip',
  sport: 'src port',
  dip: 'dest ip',
  dport: 'dest port',
  protocol: 'proto',
  policyverdict: 'verdict',
};

function readSemicolons(text: string): Map<string, string> {
  const fields = new Map<string, string>();
  for (const part of text.slice(0, 2048).split(';')) {
    const found = /(\w{1,32}): (.*)$/s.exec(part);
    const key = found?.[1]?.toLowerCase() ?? '';
    if (found) fields.set(names[key] ?? key, (found[2] ?? '').trim());
  }
  return fields;
}

/** Name and value, each in quotes or not, with a colon or only a space between. */
const pair = /\b(Src IP|Src Port|Dest IP|Dest Port|Proto|Verdict|Direction|Tier)"?:?\s*"?([^",;}\s]+)/g;

function readFlowInfo(text: string): Map<string, string> {
  const fields = new Map<string, string>();
  for (const [, key = '', value = ''] of text.slice(0, 4096).matchAll(pair)) fields.set(key.toLowerCase(), value);
  return fields;
}
