"""nginx before a folder: its own configuration in a folder of its own, a free port, and an access log to count by."""

import os
import pwd
import shutil
import socket
import subprocess
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

CONFIGURATION = """\
{user}
daemon off;
worker_processes 1;
pid {folder}/nginx.pid;
error_log {folder}/error.log;
events {{ worker_connections 256; }}
http {{
    types {{
        text/html html; text/css css; text/plain txt py diff; application/javascript js;
        image/png png; image/svg+xml svg; application/pdf pdf; application/zip zip;
    }}
    default_type application/octet-stream;
    # Unbuffered: a request stands in the log when its answer is sent.
    log_format hits '$status $request_uri';
    access_log {folder}/access.log hits;
    gzip {gzip};
    gzip_types text/plain text/css;
    keepalive_requests 1000000;
    client_body_temp_path {folder}/t1;
    proxy_temp_path {folder}/t2;
    fastcgi_temp_path {folder}/t3;
    uwsgi_temp_path {folder}/t4;
    scgi_temp_path {folder}/t5;
    server {{ listen 127.0.0.1:{port}; root {root}; }}
}}
"""
PATIENCE_S = 10.0


@dataclass(frozen=True)
class Nginx:
    """A running server."""

    url: str
    """Without a slash at its end."""
    log: Path

    def hits(self) -> Counter[tuple[int, str]]:
        """How often each (status, request URI) was answered."""
        lines = self.log.read_text(encoding="utf-8").splitlines()
        parted = (line.partition(" ") for line in lines)
        return Counter((int(status), uri) for status, _, uri in parted)


def program() -> str | None:
    """Where nginx is, if it is."""
    return shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin:/usr/local/sbin")


@contextmanager
def serving(root: Path, folder: Path, *, gzip: bool = False) -> Iterator[Nginx]:
    """Serve `root` on loopback until the end of the block; log and configuration lie in `folder`."""
    nginx = program()
    assert nginx is not None
    port = _free_port()
    configuration = folder / "nginx.conf"
    configuration.write_text(
        CONFIGURATION.format(
            user=_user_directive(), folder=folder, port=port, root=root, gzip="on" if gzip else "off"
        ),
        encoding="utf-8",
    )
    process = subprocess.Popen([nginx, "-c", str(configuration), "-p", str(folder)])
    try:
        _wait_until_serving(process, port, folder / "error.log")
        yield Nginx(f"http://127.0.0.1:{port}", folder / "access.log")
    finally:
        process.terminate()
        process.wait(PATIENCE_S)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
    return port


def _user_directive() -> str:
    # Started by root, nginx would otherwise serve as a user who can't read the temporary folder.
    return f"user {pwd.getpwuid(0).pw_name};" if os.geteuid() == 0 else ""


def _wait_until_serving(process: subprocess.Popen[bytes], port: int, errors: Path) -> None:
    give_up_at = time.monotonic() + PATIENCE_S
    while True:
        with socket.socket() as probe:
            probe.settimeout(1)
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        if process.poll() is not None or time.monotonic() > give_up_at:
            pytest.fail(
                f"nginx did not start: {errors.read_text('utf-8') if errors.exists() else 'no answer'}"
            )
        time.sleep(0.02)
