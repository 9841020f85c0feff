"""Prints lines to the kernel's trace as a BPF program does: each line of standard input by a program that is loaded and run once. Needs root."""

import ctypes
import os
import struct
import sys

BPF_PROG_LOAD, BPF_PROG_TEST_RUN = 5, 10
SCHED_CLS = 3
TRACE_PRINTK = 6
SYS_BPF = {"x86_64": 321, "aarch64": 280}[os.uname().machine]
libc = ctypes.CDLL(None, use_errno=True)


def bpf(command, attributes):
    buffer = ctypes.create_string_buffer(attributes, 144)
    result = libc.syscall(SYS_BPF, command, buffer, 144)
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result


def instruction(code, destination=0, source=0, offset=0, immediate=0):
    return struct.pack("<BBhi", code, source << 4 | destination, offset, immediate)


def program(text):
    """bpf_trace_printk(text on the stack, its length); return 0."""
    padded = text + b"\0" * (8 - len(text) % 8)
    code = b""
    for at in range(0, len(padded), 8):
        low, high = struct.unpack_from("<ii", padded, at)
        code += instruction(0x18, 1, immediate=low) + instruction(0, immediate=high)
        code += instruction(0x7B, 10, 1, at - len(padded))
    code += instruction(0xBF, 1, 10) + instruction(0x07, 1, immediate=-len(padded))
    code += instruction(0xB7, 2, immediate=len(text) + 1) + instruction(0x85, immediate=TRACE_PRINTK)
    return code + instruction(0xB7, 0) + instruction(0x95)


for line in sys.stdin.read().splitlines():
    code = ctypes.create_string_buffer(program(line.encode()))
    licence = ctypes.create_string_buffer(b"GPL")
    load = struct.pack("<IIQQ", SCHED_CLS, (len(code) - 1) // 8, ctypes.addressof(code), ctypes.addressof(licence))
    descriptor = bpf(BPF_PROG_LOAD, load)
    frame = ctypes.create_string_buffer(64)
    bpf(BPF_PROG_TEST_RUN, struct.pack("<IIIIQQII", descriptor, 0, 64, 0, ctypes.addressof(frame), 0, 1, 0))
    os.close(descriptor)
