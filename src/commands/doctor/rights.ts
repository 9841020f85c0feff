/** A kind of API object and what the agent does with it. */
export interface Right {
  group: string;
  /** `pods`, or with a subresource `nodes/status`. */
  resource: string;
  verbs: readonly string[];
  /** What goes wrong without it. */
  without: string;
  /** Whether the agent is of no use without it. */
  required: boolean;
}

/** All that the agent may do: deploy/base/rbac.yaml grants exactly this, which a test compares. */
export const rights: readonly Right[] = [
  right('', 'pods', ['list', 'watch'], 'no drop can be given to a Pod', true),
  right('', 'nodes', ['list', 'watch'], 'addresses of Nodes stay addresses, and the Node gets no Events', true),
  right('', 'services', ['list', 'watch'], 'addresses and chains of Services stay what they are', true),
  right('', 'events', ['create', 'patch', 'get'], 'no Events can be written', true),
  right(
    'discovery.k8s.io',
    'endpointslices',
    ['list', 'watch'],
    'incidents do not name the Pods behind a Service',
    false,
  ),
  ...['crd.projectcalico.org', 'projectcalico.org'].map((group) =>
    right(group, 'felixconfigurations', ['get'], "incidents do not know of Calico's configuration", false),
  ),
];

/** What `auditOptOut` asks for beside them; deploy/components/audit-opt-out grants it. */
export const optOutRight = right('', 'namespaces', ['list', 'watch'], 'the audit names no Pod', true);

/** What `nodeCondition` asks for beside them; deploy/components/node-condition grants it. */
export const conditionRight = right('', 'nodes/status', ['patch'], 'the Node does not get its condition', false);

function right(group: string, resource: string, verbs: readonly string[], without: string, required: boolean): Right {
  return { group, resource, verbs, without, required };
}

/** `felixconfigurations.projectcalico.org`, as kubectl writes it. */
export function resourceName({ group, resource }: Right): string {
  return group === '' ? resource : `${resource}.${group}`;
}
