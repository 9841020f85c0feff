import { describe, expect, test } from 'vitest';
import { adviceInAlerts, adviceInExpected, commandsInMessage } from './advice.ts';

describe('commands in a message', () => {
  test.each<[string, string[]]>([
    ['Run: kubectl get nodes -o wide', ['kubectl get nodes -o wide']],
    ['See iptables -V in the Pod, on the host.', ['iptables -V']],
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

test('advice in a file of expected messages has its lines', () => {
  const text = 'first\nfix: kubectl get pods; ip route\n  → modprobe -a ip_vs';
  expect(adviceInExpected('a.txt', text).map(({ document, line, text: command }) => [document, line, command])).toEqual(
    [
      ['a.txt', 2, 'kubectl get pods'],
      ['a.txt', 2, 'ip route'],
      ['a.txt', 3, 'modprobe -a ip_vs'],
    ],
  );
});

test('advice of alerts is found', () => {
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
