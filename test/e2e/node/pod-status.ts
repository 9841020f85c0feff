export interface ContainerState {
  readonly name: string;
  readonly image: string;
  ready: boolean;
  started: boolean;
  restarts: number;
  id: string;
  state: object;
  lastState: object;
}

/** The status as a kubelet keeps it. `transitions`: since when each condition is what it is; kept by the caller, changed here. */
export function statusOf(
  states: readonly ContainerState[],
  { address, nodeAddress, startTime }: { address: string; nodeAddress: string; startTime: string },
  transitions: Map<string, string>,
): object {
  const ready = states.every((each) => each.ready);
  const condition = (type: string, isTrue: boolean): object => {
    const status = isTrue ? 'True' : 'False';
    const key = `${type} ${status}`;
    if (!transitions.has(key)) {
      transitions.delete(`${type} ${isTrue ? 'False' : 'True'}`);
      transitions.set(key, now());
    }
    return { type, status, lastTransitionTime: transitions.get(key) };
  };
  return {
    phase: states.every(({ id }) => id === '') ? 'Pending' : 'Running',
    startTime,
    hostIP: nodeAddress,
    hostIPs: [{ ip: nodeAddress }],
    ...(address === '' ? {} : { podIP: address, podIPs: [{ ip: address }] }),
    conditions: [
      condition('PodReadyToStartContainers', address !== ''),
      condition('Initialized', true),
      condition('Ready', ready),
      condition('ContainersReady', ready),
      condition('PodScheduled', true),
    ],
    containerStatuses: states.map(({ name, image, ready: isReady, started, restarts, id, state, lastState }) => ({
      name,
      image,
      imageID: image,
      ready: isReady,
      started,
      restartCount: restarts,
      state,
      lastState,
      ...(id === '' ? {} : { containerID: `crun://${id}` }),
    })),
  };
}

/** RFC 3339, in whole seconds. */
export function now(): string {
  return new Date().toISOString().replace(/\.\d+/, '');
}
