import type { Socket } from 'node:net';

/** Passes each side's bytes to the other. When one side ends, so does the other. */
export function joinSockets(near: Socket, far: Socket): void {
  near.pipe(far).pipe(near);
  for (const [from, to] of [
    [near, far],
    [far, near],
  ] as const)
    from.on('error', () => to.destroy()).on('close', () => to.destroy());
}
