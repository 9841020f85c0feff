import { writeFileSync } from 'node:fs';

/** Machine code that writes to address 0. */
const code = { x64: { machine: 62, bytes: '31c08900' }, arm64: { machine: 183, bytes: '000080d2000000b9' } } as const;

/** Writes a program that does nothing but crash: an ELF file of one segment (elf(5)). */
export function writeCrashing(path: string): void {
  const { machine, bytes } = code[process.arch as keyof typeof code];
  const text = Buffer.from(bytes, 'hex');
  const [address, header] = [0x400000n, 64 + 56];
  const file = Buffer.alloc(header + text.length);
  file.write('\x7fELF\x02\x01\x01', 'latin1');
  file.writeUInt16LE(2, 16);
  file.writeUInt16LE(machine, 18);
  file.writeUInt32LE(1, 20);
  file.writeBigUInt64LE(address + BigInt(header), 24);
  file.writeBigUInt64LE(64n, 32);
  file.writeUInt16LE(64, 52);
  file.writeUInt16LE(56, 54);
  file.writeUInt16LE(1, 56);
  file.writeUInt32LE(1, 64);
  file.writeUInt32LE(5, 68);
  file.writeBigUInt64LE(address, 80);
  file.writeBigUInt64LE(address, 88);
  file.writeBigUInt64LE(BigInt(file.length), 96);
  file.writeBigUInt64LE(BigInt(file.length), 104);
  file.writeBigUInt64LE(0x1000n, 112);
  text.copy(file, header);
  writeFileSync(path, file, { mode: 0o755 });
}
