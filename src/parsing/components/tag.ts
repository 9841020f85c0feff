import type { Program } from '../../model/program-record.ts';

/** Who wrote a line, as far as a syslog says; `undefined` where it does not, or where many programs have that name. */
export type Tag = string | undefined;

/** `kube-proxy[12085]: `; names without number only where they can be nothing else. */
const withNumber = /^([A-Za-z_][\w.+@/-]{0,255})\[\d{1,10}\]: ?/;
const withoutNumber = /^(kube-proxy|calico-node|calico-felix|felix|confd|kubelet): /;

/** Takes the name of the program off that a syslog writes before a message, and before each further line of it. */
export function takeTag(text: string): { tag: Tag; rest: string } {
  const found = withNumber.exec(text) ?? withoutNumber.exec(text);
  if (found === null) return { tag: undefined, rest: text };
  const [whole, tag] = found;
  return { tag, rest: text.slice(whole.length).replaceAll(`\n${whole}`, '\n') };
}

/** Which files log in kube-proxy [1.4 to 1.36: cmd/kube-proxy, pkg/proxy, pkg/util]. */
const kubeProxyFiles =
  /^(?:proxier|server|server_linux|server_others|server_iptables|cleanup|ipset|ipvs|conntrack|iptables|nftables|graceful_termination|netlink_linux|supported|proxier_health|service_health|healthcheck|endpointschangetracker|endpointslicecache|servicechangetracker|service|endpoints|topology|bounded_frequency_runner|config|run)\.go$/;

/** Without a name it is kube-proxy, unless its file is the kubelet's; in `k3s`, which has all in one, the file decides. */
export function klogProgram(tag: Tag, caller: string): Program {
  if (caller.startsWith('kubelet')) return 'unknown';
  if (tag === undefined || tag.includes('kube-proxy')) return 'kube-proxy';
  if (/^kube(?:let|-)/.test(tag)) return 'unknown';
  return kubeProxyFiles.test(caller) ? 'kube-proxy' : 'unknown';
}

/** Whether a program of that name may be a part of Calico; without a name it may. */
export function mayBeCalico(tag: Tag): boolean {
  return tag === undefined || /calico|felix|confd|bird/.test(tag);
}

/** Who writes with the logrus format of Calico: `felix/table.go` says so; older releases name the file only. */
export function logrusProgram(tag: Tag, caller: string): Program {
  const namesPart = caller.includes('/') || caller.startsWith('calico.');
  // All parts write into the log of the container, so its name does not say which part it is.
  const part = namesPart ? caller : tag === undefined || tag === 'calico-node' ? '' : tag;
  if (part.includes('felix')) return 'felix';
  if (part.includes('confd')) return 'confd';
  if (part.includes('/') || part.startsWith('calico')) return 'calico-node';
  if (/^(?:startup|autodetection|allocateip|reconcile)/.test(caller)) return 'calico-node';
  return /^(?:resource|processor|watch|confd)\.go$/.test(caller) ? 'confd' : 'felix';
}
