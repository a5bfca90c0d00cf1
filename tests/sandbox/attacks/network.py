"""Ways out through sockets, all of them to listeners of the test's own."""

from __future__ import annotations

from .attack import Attack

NETWORK = [
    Attack(
        "network",
        "TCP to a listener on the host's loopback",
        """
s = socket.socket(socket.AF_INET, socket.SOCK_STREAM); s.settimeout(1)
refused('connect', lambda: (s.connect(('127.0.0.1', {tcp})), s.send(b'{marker}')))
""",
    ),
    Attack(
        "network",
        "TCP to a listener on every address of the host",
        """
for address in {addresses}:
    s = socket.socket(); s.settimeout(1)
    refused(address, s.connect, (address, {tcp}))
""",
    ),
    Attack(
        "network",
        "TCP over IPv6",
        """
s = socket.socket(socket.AF_INET6, socket.SOCK_STREAM); s.settimeout(1)
refused('connect', lambda: (s.connect(('::1', {tcp})), s.send(b'{marker}')))
""",
    ),
    Attack(
        "network",
        "UDP to a listener on every address of the host",
        """
for address in {addresses}:
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.settimeout(0.2)
    refused(address, lambda: (s.connect((address, {udp})), s.send(b'{marker}'), s.recv(1)))
""",
    ),
    Attack(
        "network",
        "DNS question to a name server of the host",
        r"""
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.settimeout(0.2)
question = b'\x07\x07\x01\x00\x00\x01' + bytes(6) + b'\x06marker\x04test\x00\x00\x01\x00\x01'
refused('DNS', lambda: (s.connect(('127.0.0.1', {udp})), s.send(question), s.recv(1)))
""",
    ),
    Attack(
        "network",
        "raw ICMP and IP sockets",
        """
refused('icmp', socket.socket, socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP)
refused('raw', socket.socket, socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_RAW)
""",
    ),
    Attack(
        "network",
        "packet socket",
        """
refused('packet', socket.socket, socket.AF_PACKET, socket.SOCK_RAW, 3)
""",
    ),
    Attack(
        "network",
        "socket to the hypervisor (vsock)",
        """
refused('vsock', socket.socket, 40, socket.SOCK_STREAM, 0)
""",
    ),
    Attack(
        "network",
        "Bluetooth, kernel crypto and CAN sockets",
        """
for family in (31, 38, 29): refused(str(family), socket.socket, family, socket.SOCK_RAW, 0)
""",
    ),
    Attack(
        "network",
        "Unix socket of the host, by path",
        """
s = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM); s.settimeout(1)
refused('connect', lambda: (s.connect({unix!r}), s.send(b'{marker}')))
""",
    ),
    Attack(
        "network",
        "Unix socket of the host, abstract",
        """
s = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM); s.settimeout(1)
refused('connect', lambda: (s.connect({abstract!r}), s.send(b'{marker}')))
""",
    ),
    Attack(
        "network",
        "listing interfaces finds one that leads somewhere",
        """
names = [name for _, name in socket.if_nameindex()]
print('interfaces:', names)
used = [line.split()[0] for line in open('/proc/net/dev').read().splitlines()[2:] if line.split()[1] != '0']
assert not used, used
assert not open('/proc/net/route').read().splitlines()[1:]
assert not [name for name in names if name.startswith(('eth', 'ens', 'enp', 'docker', 'wl', 'veth'))]
""",
    ),
    Attack(
        "network",
        "kernel events, audit, connections: netlink's other protocols",
        """
for protocol in (1, 2, 4, 7, 9, 11, 12, 15, 16, 20):
    refused(str(protocol), socket.socket, 16, socket.SOCK_RAW, protocol)
refused('events', socket.socket, 16, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC, 15)
socket.socket(16, socket.SOCK_RAW, 0).close()
""",
    ),
    Attack(
        "network",
        "bringing an interface up",
        """
import fcntl
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
refused('SIOCSIFFLAGS', fcntl.ioctl, s, 0x8914, struct.pack('16sh14x', b'lo', 1))
""",
    ),
]
