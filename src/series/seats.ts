import { createHeap } from '../platform/heap.ts';

/** A place in the order of turns. */
export interface Seat<Holder> {
  holder: Holder;
  group: number;
  turn: number;
  /** The turn that the namespace alone would have. */
  namespaceTurn: number;
  /** The order in which seats were taken. */
  order: number;
}

/** Who takes turns with others. */
export interface Parties {
  namespace: string;
  peer: string | undefined;
}

/** Seats of one group are given out in turns; those of a group with a lower number all come first. */
interface Group {
  seats: number;
  /** The turn that it is. */
  current: number;
  /** The last turn that each namespace and each peer has. */
  last: Map<string, number>;
}

/** Namespaces and peers that a group keeps without looking which of them still wait. */
const partiesKept = 1000;

/**
 * Seats in the order of their turns. The turn of a seat is one past the last of its namespace and of its peer, or the current one
 * where these have waited for nothing (start-time fair queueing). So a namespace with one problem waits for one turn of each of
 * the others, however many they have. Each change takes O(log n).
 */
export function createSeats<Holder>() {
  const heap = createHeap<Seat<Holder>>(compareSeats);
  /** A seat in the heap that is no longer its holder's is passed over. */
  const held = new Map<Holder, Seat<Holder>>();
  const groups = new Map<number, Group>();
  let order = 0;

  return {
    of: (holder: Holder): Seat<Holder> | undefined => held.get(holder),
    /** The seat after those that its parties have in the group. A holder has one seat: any other is free. */
    sit(holder: Holder, number: number, { namespace, peer }: Parties): void {
      const group = groupOf(number);
      const namespaceTurn = takeTurn(group, namespaceParty(namespace));
      const peerTurn = peer === undefined ? 0 : takeTurn(group, peerParty(peer));
      const turn = Math.max(namespaceTurn, peerTurn);
      hold({ holder, group: number, turn, namespaceTurn, order: order++ });
    },
    /** A holder that waits because of one peer must not wait for that peer's turn when it has something about another. */
    moveUp(holder: Holder, peer: string): void {
      const seat = held.get(holder);
      if (seat === undefined || seat.turn === seat.namespaceTurn) return;
      const group = groupOf(seat.group);
      const turn = Math.max(seat.namespaceTurn, turnAfter(group, peerParty(peer)));
      if (turn >= seat.turn) return;
      group.last.set(peerParty(peer), turn);
      hold({ ...seat, turn });
    },
    /** A holder has an earlier seat than its own, which was left. */
    goBack(holder: Holder, seat: Seat<Holder>): void {
      const now = held.get(holder);
      if (now === undefined || compareSeats(now, seat) > 0) hold({ ...seat, holder });
    },
    /** It is the turn of this seat. */
    call({ group: number, turn }: Seat<Holder>): void {
      const group = groupOf(number);
      group.current = Math.max(group.current, turn);
    },
    leave(holder: Holder): void {
      const seat = held.get(holder);
      held.delete(holder);
      if (seat !== undefined) free(seat);
    },
    first(): Seat<Holder> | undefined {
      for (let seat = heap.peek(); seat !== undefined; seat = heap.peek()) {
        if (held.get(seat.holder) === seat) return seat;
        heap.pop();
      }
      return undefined;
    },
  };

  function hold(seat: Seat<Holder>): void {
    const before = held.get(seat.holder);
    groupOf(seat.group).seats++;
    heap.push(seat);
    held.set(seat.holder, seat);
    if (before !== undefined) free(before);
  }

  function free(seat: Seat<Holder>): void {
    // When none waits, all begin again.
    if (--groupOf(seat.group).seats === 0) groups.delete(seat.group);
  }

  function groupOf(number: number): Group {
    let group = groups.get(number);
    if (group === undefined) groups.set(number, (group = { seats: 0, current: 0, last: new Map() }));
    return group;
  }
}

function compareSeats(a: Seat<unknown>, b: Seat<unknown>): number {
  return a.group - b.group || a.turn - b.turn || a.order - b.order;
}

function takeTurn(group: Group, party: string): number {
  const turn = turnAfter(group, party);
  group.last.set(party, turn);
  if (group.last.size > partiesKept + 4 * group.seats)
    for (const [each, last] of group.last) if (last <= group.current) group.last.delete(each);
  return turn;
}

function turnAfter({ current, last }: Group, party: string): number {
  return Math.max(current, last.get(party) ?? 0) + 1;
}

function namespaceParty(namespace: string): string {
  return `namespace ${namespace}`;
}

function peerParty(peer: string): string {
  return `peer ${peer}`;
}
