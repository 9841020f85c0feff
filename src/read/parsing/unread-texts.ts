/** Recognizes texts about packets in forms that are not read, so that replay can explain why nothing is shown. */
import { parsedBytes } from '../../base/platform/json.ts';
import { knownTexts } from './known-texts.ts';

export interface UnreadText {
  /** The kind of the text. */
  name: string;
  /** The missing part, or the advice. */
  advice: string;
}

interface UnreadKind extends UnreadText {
  pattern: RegExp;
  /** Literals of eight characters or more. Each such text has one of them; empty if a format has the same. */
  needles: readonly string[];
}

const jsonpb = '`hubble observe -o jsonpb` prints the same packets in a form that is read';
const around = 'the text around it is not known: remove that text, or save the log as its own program writes it';

const kinds: readonly UnreadKind[] = [
  {
    name: 'text of `hubble observe`',
    pattern:
      / (?:->|<>|<-) \S{1,300} .{0,160}\b(?:DROPPED|DENIED|FORWARDED|AUDITED|REDIRECTED|ERROR)\b|^\s{0,16}VERDICT: [A-Z]| {2}(?:DROPPED|DENIED) {2}/,
    needles: [
      'policy-verdict:',
      ' DROPPED (',
      ' DENIED (',
      ' FORWARDED (',
      ' AUDITED (',
      'VERDICT: ',
      ' DROPPED\t',
      ' DROPPED  ',
    ],
    advice: jsonpb,
  },
  {
    name: 'text of `cilium monitor`',
    pattern: /(?:^|\s)xx drop \(|Policy verdict log: flow 0x/,
    needles: ['xx drop (', 'Policy verdict log'],
    advice: jsonpb,
  },
  {
    name: "flows of Calico's Whisker",
    pattern: /\breporter\W{1,24}(?:Src|Dst)\b/,
    needles: ['dest_namespace'],
    advice: 'the agent takes the same flows from Felix, by the source calico-flows',
  },
  {
    name: "packets in the kernel's audit log",
    pattern: /\bNETFILTER_PKT\b|\btype=1324 .{0,80}\bsaddr=/,
    needles: ['NETFILTER_PKT', 'type=1324 '],
    advice:
      'they have neither verdict nor ports: use `log` of nft without `level audit`, and LOG of iptables in place of AUDIT',
  },
  {
    name: 'LOG lines of netfilter',
    pattern: /IN(?:=|\\{1,7}u003[dD]|%3[dD])\S{0,16}(?: |\+|%20)OUT(?:=|\\{1,7}u003[dD]|%3[dD])/,
    needles: [],
    advice: around,
  },
  {
    name: 'the beginning of a LOG line',
    pattern: /^[^{<]{0,160}\bIN=[\w.@:-]{0,15}(?: OUT=[\w.@:-]{0,15})?\s{0,4}$/,
    needles: [],
    advice: 'it goes on in the next line: join them, or save the log without line breaks',
  },
  {
    name: 'JSON of a policy logger',
    pattern: /\bflow\W{1,24}\w{1,16}\W|\boob\.(?:prefix|family)\b|\bdisposition\W{1,24}(?:deny|allow)\b/,
    needles: [],
    advice: around,
  },
  {
    name: 'lines of a policy logger',
    pattern: /\bacl_log\(\w|PolicyVerdict: ?\w|Flow Info: ?\W{0,8}\w|blocked by Weave NPC/,
    needles: [],
    advice: around,
  },
];

export const unreadNeedles: readonly string[] = kinds.flatMap(({ needles }) => needles);

/** Returns undefined for a text that is not about a packet. `text`: of no known format. */
export function unreadTextIn(text: string): UnreadText | undefined {
  const beginning = text.slice(0, 4096);
  const found = kinds.find(({ pattern }) => pattern.test(beginning));
  if (found === undefined) return undefined;
  const { name, advice } = found;
  if (!/^\s{0,8}(?:\{|\[\s{0,8}[{["])/.test(text)) return { name, advice };
  const record = parsedBytes(text);
  if (record === undefined)
    return {
      name,
      advice: `the JSON around it is damaged, or cut off after ${text.length.toLocaleString('en-US')} bytes`,
    };
  // Loggers also write records without the verdict on a packet.
  return typeof record === 'object' && record !== null && knownTexts.isRecord(record) ? undefined : { name, advice };
}
