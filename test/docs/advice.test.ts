import { describe, expect, test } from 'vitest';
import { adviceInAlerts, adviceInSource, commandsInMessage } from './advice.ts';

describe('commands in a message', () => {
  test.each<[string, string[]]>([
    ['Run: kubectl get nodes -o wide', ['kubectl get nodes -o wide']],
    ['See iptables -V in the Pod and on the host.', ['iptables -V']],
    [
      'nc -vz PEER 179; ip route | grep bird. Or kubectl get pods',
      ['nc -vz PEER 179', 'ip route | grep bird', 'kubectl get pods'],
    ],
    [
      'Turn it off: systemctl disable --now firewalld (or ufw disable). Else',
      ['systemctl disable --now firewalld', 'ufw disable'],
    ],
    [
      `Run: kubectl patch pod web --patch='{"spec":{"c d":false}}' Or not.`,
      [`kubectl patch pod web --patch='{"spec":{"c d":false}}'`],
    ],
    ['what kubectl get nodes shows; else', ['kubectl get nodes']],
    [
      "iptables-save | grep -E -- '-j N?F?LOG'; nft list ruleset",
      ["iptables-save | grep -E -- '-j N?F?LOG'", 'nft list ruleset'],
    ],
    ['kubectl would ignore it, kube-proxy writes iptables rules, nft refuses them', []],
    ['look at /usr/sbin/iptables -V', []],
  ])('%s', (message, commands) => {
    expect(commandsInMessage(message)).toEqual(commands);
  });
});

describe('advice in a source file', () => {
  const values = { namespace: 'shop', 'a.ts pod': 'here', pod: 'there' };
  const of = (source: string, document = 'src/a.ts'): string[] =>
    adviceInSource(document, source, values).map(({ line, text }) => `${line} ${text}`);

  test('is in each kind of quotes, with what is put in', () => {
    expect(of(`'kubectl get pods';\n"ip route";\n\`kubectl -n \${namespace} get nodes\`;`)).toEqual([
      '1 kubectl get pods',
      '2 ip route',
      '3 kubectl -n shop get nodes',
    ]);
  });

  test('is not in comments', () => {
    expect(of("// 'kubectl get a'\n/** 'kubectl get b'\n * 'kubectl get c'")).toEqual([]);
  });

  test('of one file may have a value of its own', () => {
    const source = '`kubectl get ${pod}`';
    expect([of(source), of(source, 'src/b.ts')]).toEqual([['1 kubectl get here'], ['1 kubectl get there']]);
  });

  test('an unknown value in a command is an error that names the file to add it to; outside of commands it does not matter', () => {
    expect(() => of('\n`kubectl get ${what({ a: 1 })}`')).toThrow(
      'src/a.ts:2: add to "expressions" in test/docs/fillings.ts what ${what({ a: 1 })} may be in a command',
    );
    expect(of('`${what} kubectl get pods`')).toEqual(['1 kubectl get pods']);
  });
});

test('advice of alerts', () => {
  const yaml = `spec:
  groups:
    - rules:
        - alert: Down
          annotations:
            summary: Nothing to run
            description: 'See kubectl describe node {{ $labels.node }}'`;
  expect(adviceInAlerts('rules.yaml', yaml)).toEqual([
    { document: 'rules.yaml', line: 4, text: 'kubectl describe node NODE', from: 'advice' },
  ]);
});
