"""Sends an SCTP INIT for each probe of the list on its standard input from the network namespace in which it is started.

By a raw socket, which Node.js does not have, as the kernel need not have SCTP for it.
"""

import json
import socket
import struct
import sys


def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = (crc >> 1) ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


def init(source_port, port):
    chunk = struct.pack("!BBHIIHHI", 1, 0, 20, 1, 65535, 1, 1, 1)
    head = struct.pack("!HHI", source_port, port, 0)
    return head + struct.pack("<I", crc32c(head + bytes(4) + chunk)) + chunk


def send(probe):
    family = socket.AF_INET6 if ":" in probe["source"] else socket.AF_INET
    with socket.socket(family, socket.SOCK_RAW, 132) as raw:
        raw.bind((probe["source"], 0))
        raw.sendto(init(probe["sourcePort"], probe["port"]), (probe["destination"], 0))


for probe in json.load(sys.stdin):
    send(probe)
