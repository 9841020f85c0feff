/** Makes an object file of BPF as a compiler would: a program for XDP that drops every packet (the ELF of the System V ABI, gabi). */

/** `r0 = XDP_DROP; exit`, in instructions of BPF. */
const program = Buffer.from('b7000000010000009500000000000000', 'hex');
const [text, license] = [1, 2];

interface Section {
  name: string;
  type: number;
  flags?: number;
  content: Buffer;
  link?: number;
  info?: number;
  entry?: number;
}

export function xdpDrop(): Buffer {
  const names = Buffer.from('\0drop\0_license\0', 'latin1');
  // Two symbols that are visible outside, after the empty one: a function, and the license.
  const symbols = Buffer.concat([Buffer.alloc(24), symbol(1, 0x12, text, program.length), symbol(6, 0x11, license, 4)]);
  const sections: Section[] = [
    { name: '', type: 0, content: Buffer.alloc(0) },
    { name: 'xdp', type: 1, flags: 6, content: program },
    { name: 'license', type: 1, flags: 3, content: Buffer.from('GPL\0', 'latin1') },
    { name: '.symtab', type: 2, content: symbols, link: 4, info: 1, entry: 24 },
    { name: '.strtab', type: 3, content: names },
    { name: '.shstrtab', type: 3, content: Buffer.alloc(0) },
  ];
  const shared = Buffer.from(`${sections.map(({ name }) => name).join('\0')}\0`, 'latin1');
  sections[5] = { name: '.shstrtab', type: 3, content: shared };
  let offset = 64;
  const headers = sections.map((section) => {
    const header = headerOf(section, offset, shared);
    offset += padded(section.content).length;
    return header;
  });
  return Buffer.concat([
    fileHeader(offset, sections.length),
    ...sections.map(({ content }) => padded(content)),
    ...headers,
  ]);
}

function symbol(name: number, info: number, section: number, size: number): Buffer {
  const bytes = Buffer.alloc(24);
  bytes.writeUInt32LE(name, 0);
  bytes.writeUInt8(info, 4);
  bytes.writeUInt16LE(section, 6);
  bytes.writeBigUInt64LE(BigInt(size), 16);
  return bytes;
}

function headerOf(
  { name, type, flags = 0, content, link = 0, info = 0, entry = 0 }: Section,
  offset: number,
  shared: Buffer,
): Buffer {
  const bytes = Buffer.alloc(64);
  bytes.writeUInt32LE(name === '' ? 0 : shared.indexOf(`${name}\0`), 0);
  bytes.writeUInt32LE(type, 4);
  bytes.writeBigUInt64LE(BigInt(flags), 8);
  bytes.writeBigUInt64LE(BigInt(type === 0 ? 0 : offset), 24);
  bytes.writeBigUInt64LE(BigInt(content.length), 32);
  bytes.writeUInt32LE(link, 40);
  bytes.writeUInt32LE(info, 44);
  bytes.writeBigUInt64LE(BigInt(type === 0 ? 0 : 8), 48);
  bytes.writeBigUInt64LE(BigInt(entry), 56);
  return bytes;
}

/** For 64-bit BPF, little-endian: a file that can be linked. */
function fileHeader(sectionsAt: number, count: number): Buffer {
  const bytes = Buffer.alloc(64);
  bytes.write('\x7fELF\x02\x01\x01', 'latin1');
  bytes.writeUInt16LE(1, 16);
  bytes.writeUInt16LE(247, 18);
  bytes.writeUInt32LE(1, 20);
  bytes.writeBigUInt64LE(BigInt(sectionsAt), 40);
  bytes.writeUInt16LE(64, 52);
  bytes.writeUInt16LE(64, 58);
  bytes.writeUInt16LE(count, 60);
  bytes.writeUInt16LE(count - 1, 62);
  return bytes;
}

function padded(content: Buffer): Buffer {
  return Buffer.concat([content, Buffer.alloc((8 - (content.length % 8)) % 8)]);
}
