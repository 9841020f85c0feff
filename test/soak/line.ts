/** The number of digits in a line's number, by which the line can be found again. */
const digits = 9;
const whole = /calico-drop: IN=cali0 OUT=eth0 N=(\d{9}) AT=(\d+) SRC=10\.244\.0\.2 PROTO=TCP OPT \([0-9A-F]+\) URGP=0$/;
const options = '020405B40402080A0011223344556677010303070101080A8899AABBCCDDEEFF';

export interface NumberedLine {
  number: number;
  /** CLOCK_MONOTONIC when it was written, in microseconds. */
  at: number;
}

/**
 * A line of the kernel's log as rsyslog writes it to kern.log, about 130 to 190 bytes. Lengths differ, so that no two
 * offsets are equal by chance.
 */
export function lineOf(number: number, stamp: string, at: number): string {
  const opt = options.slice(0, 4 + (number % 61));
  return `${stamp} node-0 kernel: calico-drop: IN=cali0 OUT=eth0 N=${String(number).padStart(digits, '0')} AT=${at} SRC=10.244.0.2 PROTO=TCP OPT (${opt}) URGP=0\n`;
}

/**
 * Undefined unless the text is the end of a line, from "calico-drop:" on: then the line was torn, or mixed with
 * another.
 */
export function readNumbered(text: string): NumberedLine | undefined {
  const found = whole.exec(text);
  return found === null ? undefined : { number: Number(found[1]), at: Number(found[2]) };
}

/** CLOCK_MONOTONIC in microseconds: the same for all processes of a machine. */
export function monotonicMicros(): number {
  return Number(process.hrtime.bigint() / 1000n);
}
