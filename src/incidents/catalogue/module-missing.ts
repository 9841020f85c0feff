import type { Cause } from './cause.ts';
import { iptablesNeedles, nftablesNeedles, programmingFailure } from './failures.ts';
import { syncEvery, unreachable } from './impact.ts';
import { moduleMissedByIptables, moduleMissedByNft, moduleNeedles, modulesMissedByIpvs } from './modules.ts';
import { familyOf } from './reading.ts';
import { isProblem, said } from './record-text.ts';
import { onlyFamily, program, shellWords, subjects } from './texts.ts';

export const moduleMissing: Cause = {
  code: 'KN105',
  name: 'kernel-module-missing',
  title: 'A kernel module is missing',
  severity: 'serious',
  reason: 'KernelModuleMissing',
  overReason: 'KernelModuleFound',
  retryInterval: syncEvery,
  provenBySync: true,
  programs: ['kube-proxy', 'felix'],
  needles: [...iptablesNeedles, ...nftablesNeedles, ...moduleNeedles],
  match(record) {
    const text = programmingFailure(record);
    if (text !== undefined) {
      const family = familyOf(record, text);
      return moduleMissedByIptables(text, family) ?? moduleMissedByNft(text, family);
    }
    return record.program === 'kube-proxy' && isProblem(record) && /^[Cc]an't (?:use|determine)/.test(record.message)
      ? modulesMissedByIpvs(said(record))
      : undefined;
  },
  what: (details, node) =>
    `${program(details)} cannot write its rules on ${node}${onlyFamily(details)}: the kernel lacks ${subjects(details) || 'a module'}.`,
  why(details) {
    if (details.subjects.includes('xt_MASQUERADE'))
      return 'Either the module is not there, or its iptables is older than 1.6.2, which does not know --random-fully.';
    if (details.subjects.includes('xt_mark') && details.families.length === 1 && details.families[0] === 'IPv6')
      return 'Some kernels (Ubuntu 5.15.0-127, 6.8.0-57 and others) lost MARK for IPv6 in an update: the module is there and does not work.';
    return 'The module is not loaded and cannot be loaded from within the container, or this kernel was built without it.';
  },
  fix(details) {
    const modules = shellWords(details.subjects);
    if (modules.length === 0)
      return 'On the node: dmesg | tail; then modprobe what is missing, and list it in /etc/modules-load.d/.';
    const names = modules.join(' ');
    return (
      `On the node: modprobe -a ${names}; to keep it: printf '%s\\n' ${names} >> /etc/modules-load.d/kube.conf. ` +
      `Not found: install kernel-modules-extra or linux-modules-extra-$(uname -r).${ipv6Hint(details.families)}`
    );
  },
  impact: unreachable,
};

function ipv6Hint(families: readonly string[]): string {
  return families.length === 1 && families[0] === 'IPv6' ? ' Or turn IPv6 off.' : '';
}
