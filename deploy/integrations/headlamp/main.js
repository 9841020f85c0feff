// A plugin of Headlamp: a page with the packets that Pods lost, below "Cluster". Nothing has to be built; docs/integrations.md.
(() => {
  const { React, K8s, CommonComponents, registerRoute, registerSidebarEntry } = window.pluginLib;
  const { createElement } = React;
  const { SectionBox, SimpleTable, Link } = CommonComponents;
  const name = 'kube-netfilter-tailer';

  registerSidebarEntry({
    parent: 'cluster',
    name,
    label: 'Lost packets',
    url: '/lost-packets',
    icon: 'mdi:package-variant-remove',
  });
  registerRoute({ path: '/lost-packets', sidebar: name, name: 'Lost packets', exact: true, component: LostPackets });

  function LostPackets() {
    // "source" is what wrote the Event: others use reasons of the same name.
    const [events, error] = K8s.ResourceClasses.Event.useList({ fieldSelector: `source=${name}` });
    const rows = events?.toSorted((a, b) => lastOf(b).localeCompare(lastOf(a)));
    return createElement(
      SectionBox,
      { title: 'Lost packets' },
      createElement(SimpleTable, {
        columns: [
          { label: 'Last', getter: lastOf },
          { label: 'Count', getter: (event) => event.count ?? 1 },
          { label: 'Reason', getter: (event) => event.reason },
          { label: 'Object', getter: objectOf },
          { label: 'Peer', getter: peerOf },
          { label: 'Port', getter: portOf },
          { label: 'Policy', getter: (event) => annotation(event, 'policy') },
          { label: 'Code', getter: (event) => annotation(event, 'code') },
          // React shows it as text, whatever is in it.
          { label: 'Message', getter: (event) => event.message },
        ],
        data: rows ?? null,
        errorMessage: error ? `Events cannot be listed: ${error.message}` : null,
        emptyMessage: 'No lost packets are known here. An Event is kept for an hour after it was last written.',
        rowsPerPage: [25, 50, 100],
      }),
    );
  }

  function lastOf(event) {
    return event.lastOccurrence ?? '';
  }

  // The table of annotations in docs/events.md. What an Event does not have is empty.
  function annotation(event, key) {
    return event.metadata?.annotations?.[`${name}/${key}`] ?? '';
  }

  function peerOf(event) {
    const [peer, peers] = [annotation(event, 'peer'), annotation(event, 'peers')];
    if (peer === '') return peers === '' ? '' : `${peers} peers`;
    return `${annotation(event, 'direction') === 'sending' ? '→' : '←'} ${peer}`;
  }

  function portOf(event) {
    const ports = annotation(event, 'ports');
    if (ports !== '') return `${ports} ports`;
    return [annotation(event, 'port'), annotation(event, 'protocol')].filter((part) => part !== '').join('/');
  }

  function objectOf(event) {
    const { kind, namespace, name: object } = event.involvedObject;
    const text = namespace ? `${kind} ${namespace}/${object}` : `${kind} ${object}`;
    if (kind !== 'Pod') return text;
    return createElement(Link, { routeName: 'Pod', params: { namespace, name: object } }, text);
  }
})();
