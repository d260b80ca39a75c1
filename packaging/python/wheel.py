"""Packs one platform's binary as a wheel: a zip whose only script is the program itself.

    python3 packaging/python/wheel.py <binary> <platform> <folder for the wheel>
"""

import base64
import hashlib
import pathlib
import re
import sys
import zipfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
MACHINES = {"linux-x64": "x86_64", "linux-arm64": "aarch64", "darwin-x64": "x86_64", "darwin-arm64": "arm64"}
RUN = 0o100755
READ = 0o100644


def version():
    """The workspace's version is the only one that is written down."""
    text = (ROOT / "Cargo.toml").read_text()
    return re.search(r'^\[workspace\.package\][^\[]*?^version = "([^"]+)"', text, re.M | re.S).group(1)


def tag(platform, binary):
    """What the binary asks of a machine, from the names of libraries and symbol versions that it holds."""
    machine = MACHINES[platform]
    if platform.startswith("darwin"):
        return f"macosx_11_0_{machine}"
    if b"libssl.so" in binary:
        return f"linux_{machine}"
    newest = max(int(minor) for minor in re.findall(rb"GLIBC_2\.(\d+)", binary))
    return f"manylinux_2_{newest}_{machine}"


def metadata(number):
    readme = (ROOT / "README.md").read_text()
    return (
        "Metadata-Version: 2.1\nName: counterfoil\n"
        f"Version: {number}\n"
        "Summary: A gateway for the tool calls of AI agents, and a record of them that a stranger can check\n"
        "License: Apache-2.0\nDescription-Content-Type: text/markdown\n\n" + readme
    )


def main(source, platform, out):
    binary = pathlib.Path(source).read_bytes()
    number, platform_tag = version(), tag(platform, binary)
    name = f"counterfoil-{number}"
    info = f"{name}.dist-info"
    wheel = f"Wheel-Version: 1.0\nGenerator: counterfoil\nRoot-Is-Purelib: false\nTag: py3-none-{platform_tag}\n"
    files = [
        (f"{name}.data/scripts/counterfoil", binary, RUN),
        (f"{info}/METADATA", metadata(number).encode(), READ),
        (f"{info}/WHEEL", wheel.encode(), READ),
        (f"{info}/licenses/LICENSE", (ROOT / "LICENSE").read_bytes(), READ),
    ]
    record = "".join(f"{path},sha256={digest(content)},{len(content)}\n" for path, content, _ in files)
    files.append((f"{info}/RECORD", f"{record}{info}/RECORD,,\n".encode(), READ))

    out = pathlib.Path(out)
    out.mkdir(parents=True, exist_ok=True)
    packed = out / f"{name}-py3-none-{platform_tag}.whl"
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for path, content, mode in files:
            # A fixed time: the same binary packs to the same bytes.
            entry = zipfile.ZipInfo(path, (1980, 1, 1, 0, 0, 0))
            entry.external_attr = mode << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, content)
    print(packed.name)


def digest(content):
    return base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()


if __name__ == "__main__":
    if len(sys.argv) != 4 or sys.argv[2] not in MACHINES:
        sys.exit(f"usage: wheel.py <binary> <{'|'.join(MACHINES)}> <folder>")
    main(*sys.argv[1:])
