const tables: { kernelTypes: MadeType[] } = {
  // The structures that the probe for dropped packets needs. A member has its name, its type and its offset in bits.
  kernelTypes: [
    {
      name: 'sk_buff',
      kind: 'struct',
      members: [
        ['dev', 'int', 128],
        ['_skb_refdst', 'int', 704],
        ['sk', 'int', 192],
        ['len', 'int', 896],
        ['data_len', 'int', 928],
        ['skb_iif', 'int', 1152],
        ['network_header', 'int', 1472],
        ['head', 'int', 1600],
        ['data', 'int', 1664],
      ],
    },
    {
      name: 'net_device',
      kind: 'struct',
      members: [
        ['name', 'int', 0],
        ['mtu', 'int', 320],
        ['ifindex', 'int', 1792],
        ['nd_net', 'int', 10240],
      ],
    },
    { name: 'dst_entry', kind: 'struct', members: [['dev', 'int', 0]] },
    { name: 'sock_common', kind: 'struct', members: [['skc_net', 'int', 384]] },
    { name: 'ns_common', kind: 'struct', members: [['inum', 'int', 192]] },
    { name: 'net', kind: 'struct', members: [['ns', 'ns_common', 960]] },
  ],
};
/** Types as a kernel describes them (Linux Documentation/bpf/btf.rst), for tests. */
export type MadeType =
  | {
      name: string;
      kind: 'struct' | 'union';
      members: readonly (readonly [name: string, type: string | number, bits: number])[];
    }
  | { name: string; kind: 'typedef'; of: string };

const kinds = { int: 1, struct: 4, union: 5, typedef: 8 };

/** The first type is `int`. A member names its type, or has the type at that place of the list. */
export function btfOf(types: readonly MadeType[]): Buffer {
  let names = '\0';
  const numberOf = (type: string | number): number => {
    if (typeof type === 'number') return type + 2;
    return type === 'int' ? 1 : types.findIndex(({ name }) => name === type) + 2;
  };
  const record = (name: string, kind: number, members: number, sizeOrType: number, rest: readonly number[]): Buffer =>
    words(nameOf(name), (kind << 24) | members, sizeOrType, ...rest);
  const all = Buffer.concat([
    record('int', kinds.int, 0, 4, [32]),
    ...types.map((type) => {
      if (type.kind === 'typedef') return record(type.name, kinds.typedef, 0, numberOf(type.of), []);
      const members = type.members.flatMap(([name, of, bits]) => [nameOf(name), numberOf(of), bits]);
      return record(type.name, kinds[type.kind], type.members.length, 0, members);
    }),
  ]);
  const header = Buffer.concat([Buffer.from([0x9f, 0xeb, 1, 0]), words(24, 0, all.length, all.length, names.length)]);
  return Buffer.concat([header, all, Buffer.from(names, 'latin1')]);

  function nameOf(name: string): number {
    if (name === '') return 0;
    const at = names.length;
    names += `${name}\0`;
    return at;
  }
}

function words(...numbers: readonly number[]): Buffer {
  const buffer = Buffer.alloc(numbers.length * 4);
  for (const [index, number] of numbers.entries()) buffer.writeUInt32LE(number >>> 0, index * 4);
  return buffer;
}

/** The structures that the probe for dropped packets needs. */
export const kernelTypes: readonly MadeType[] = tables.kernelTypes;
