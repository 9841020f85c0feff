import type { CauseRow } from './cause.ts';
import {
  find,
  iptablesNeedles,
  isCleanup,
  nftablesFailure,
  nftablesNeedles,
  programmingFailure,
  quoteOf,
  textOfRecord,
} from './record-text.ts';
import { agreeing, onlyFamily, podArguments, program, shellWords, subjects, unreachable } from './texts.ts';

export const nftWithoutJson: CauseRow = {
  code: 'KN114',
  name: 'nft-without-json',
  title: 'nft was built without JSON',
  reason: 'NftWithoutJson',
  overReason: 'NftWithJson',
  programs: ['kube-proxy', 'felix'],
  needles: nftablesNeedles,
  match: (record) => find(nftablesFailure(record), [/JSON support not compiled-in/]),
  what: (details, node) =>
    `${program(details)} cannot read its nftables rules on ${node}: its nft was built without JSON.`,
  why: () => 'It reads sets and maps with nft -j; without that, stale entries stay and syncs fail.',
  fix: () => "Use the project's own image, or one whose nft has JSON: nft -V must show json: yes.",
  impact: unreachable,
};

export const nftCrashes: CauseRow = {
  code: 'KN113',
  name: 'nft-crashes',
  title: 'nft crashes',
  reason: 'NftCrashes',
  overReason: 'NftRunsAgain',
  endsWithSync: true,
  programs: ['kube-proxy', 'felix'],
  needles: nftablesNeedles,
  match: (record) =>
    find(nftablesFailure(record), [
      /signal: (?:segmentation fault|aborted|bus error|illegal instruction)/,
      /core dumped/,
    ]),
  what: (details, node) =>
    `${program(details)} cannot update its rules on ${node}${onlyFamily(details)}: the nft it runs crashes.`,
  why: () =>
    'An old nft (1.0.4 in many images of kube-proxy) dies when it reads tables that a newer nft made on the host.',
  fix: () =>
    'Update kube-proxy (an image with nft 1.0.6.1 or newer). Until then find the table: nft list tables; then, on a drained node, delete those of the newer program, or go back to mode iptables.',
  impact: unreachable,
};

export const nftInterfaceMissing: CauseRow = {
  code: 'KN112',
  name: 'nftables-interface-missing',
  title: 'A rule names an interface that does not exist',
  reason: 'NftInterfaceMissing',
  overReason: 'NftInterfaceFound',
  endsWithSync: true,
  programs: ['kube-proxy'],
  needles: [...nftablesNeedles, 'Interface does not exist'],
  match(record) {
    const text = nftablesFailure(record);
    const found = find(text, [/Interface does not exist/]);
    if (text === undefined || found === undefined) return undefined;
    const named = /\b[io]if(?:name)? (?:!= )?"?([\w.*@:-]{1,32})/.exec(
      text.slice(text.indexOf('Interface does not exist')),
    );
    return { subject: named?.[1], quote: found.quote };
  },
  what: (details, node) =>
    `kube-proxy cannot update any Service on ${node}${onlyFamily(details)}: its rules name ${agreeing(details, 'the interface', 'the interfaces')} ${subjects(details) || '(unnamed)'}, which ${agreeing(details, 'is', 'are')} not there.`,
  why: () =>
    'detectLocal.interfaceNamePrefix or bridgeInterface of kube-proxy does not fit this node: nftables (iif) wants an interface that exists, where iptables took any name.',
  fix: () =>
    'Compare ip -br link on the node with kubectl -n kube-system get configmap kube-proxy -o yaml; use detectLocalMode: ClusterCIDR, or update kube-proxy: later releases compare the name only (iifname).',
  impact: unreachable,
};

/** Matches the hint of nft below `Message too long`. */
const socketBuffer = /\/proc\/sys\/net\/core\/wmem_max\b[^\n]{0,60}Hint: (\d{4,10}) bytes/;

export const nftSyncFailed: CauseRow = {
  code: 'KN111',
  name: 'nftables-sync-failed',
  title: "nft refuses kube-proxy's rules",
  reason: 'NftSyncFailed',
  overReason: 'NftSyncSucceeded',
  endsWithSync: true,
  programs: ['kube-proxy'],
  needles: nftablesNeedles,
  match(record) {
    const text = nftablesFailure(record);
    if (text === undefined) return undefined;
    return {
      // Below the error, nft repeats the refused command. The subject is its chain, set or map.
      subject:
        /^[ \t]*(?:add|insert|create|replace|delete|flush|destroy) (?:rule|element|chain|set|map) ip6? kube-proxy ([^\s;{]{1,160})/m.exec(
          text,
        )?.[1],
      quote: quoteOf(text, socketBuffer) ?? quoteOf(text, /Error: [^\n]+/),
    };
  },
  what: (details, node) =>
    `Service rules on ${node}${onlyFamily(details)} are stale: nft refuses kube-proxy's rules${subjects(details) === '' || details.services.length > 0 ? '' : `, first in ${subjects(details, 1, 60)}`}.`,
  why(details) {
    if (details.quote.includes('No such file or directory'))
      return 'The rule refers to something that is gone or that this kernel does not know: another program changed the table kube-proxy, or a module is missing.';
    if (/not permitted|Permission denied/.test(details.quote))
      return 'kube-proxy is not allowed to: its container is not privileged.';
    if (socketBuffer.test(details.quote))
      return 'The rules are one message to the kernel, and it is larger than the buffer that nft may use on this node.';
    if (/killed/.test(details.quote))
      return 'nft was killed, usually for lack of memory: check the limits of its container.';
    return 'All changes are one transaction: what the kernel refuses in one rule stops all of them.';
  },
  fix(details) {
    const [, bytes] = socketBuffer.exec(details.quote) ?? [];
    if (bytes !== undefined)
      return `On the node, unless it is higher already: sysctl -w net.core.wmem_max=${bytes}; to keep it: the same in /etc/sysctl.d/. kube-proxy then succeeds by itself.`;
    return (
      `Restart kube-proxy on the node: it rebuilds its table. If that does not help: kubectl logs ${podArguments(details)} | grep -A9 nftables; ` +
      'on the node: nft list table ip kube-proxy; uname -r (5.13 or newer is needed).'
    );
  },
  impact: unreachable,
};

export const chainBusy: CauseRow = {
  code: 'KN109',
  name: 'chain-busy',
  title: 'A chain cannot be deleted',
  reason: 'ChainBusy',
  overReason: 'ChainDeleted',
  neverFatal: true,
  programs: ['kube-proxy', 'felix'],
  needles: [...iptablesNeedles, ...nftablesNeedles, 'DEL failed', 'Device or resource busy'],
  match(record) {
    const cleanup =
      record.program === 'kube-proxy' &&
      isCleanup(record) &&
      record.message.startsWith('Failed to execute iptables-restore');
    const text = cleanup ? textOfRecord(record) : programmingFailure(record);
    return find(text, [
      /CHAIN_(?:USER_)?DEL failed \(Device or resource busy\): chain ([\w-]{1,60})/,
      /Device or resource busy\n[ \t]*delete chain \w+ [\w-]+ ([^\s;]{1,120})/,
    ]);
  },
  what: (details, node) =>
    `${program(details)} cannot delete ${subjects(details) || 'a chain'} on ${node}${onlyFamily(details)}: rules of another program still jump there.`,
  why: () =>
    'Once at a start, this is harmless. Repeated, it means that two kube-proxies, or two backends of iptables (legacy and nf_tables), share the node.',
  fix: (details) => {
    const [chain = 'KUBE-'] = shellWords(details.subjects, 1);
    return `See who jumps there: iptables-nft-save | grep -e ${chain}; iptables-legacy-save | grep -e ${chain}. Let one program with one backend own the rules, then reboot the node or delete the other's.`;
  },
  impact: () => 'New or moved Services may not be reachable from this Pod.',
};
