/** Parses a line: a packet, a report of the kernel, or a record of kube-proxy or calico-node. */
export { type FormatRefusal, isPacketLogger, isPacketRecord, needlesOfAll, parse } from './formats.ts';
export { knownTexts, spellingsOf } from './known-texts.ts';
export { type UnreadText, unreadNeedles, unreadTextIn } from './unread-texts.ts';
export { parseNfqueue } from './policy-loggers/agents.ts';
export { parseDroppedLogs, parseProgramRecord } from './components/program-record.ts';
export {
  createPrefixTable,
  decodeBytes,
  isKernelMessage,
  type PrefixMeaning,
  type PrefixTable,
} from './netfilter/prefixes.ts';
