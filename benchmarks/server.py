"""nginx before a generated site: own configuration, own port, one worker, a compact access log."""

from __future__ import annotations

import os
import pwd
import resource
import shutil
import socket
import subprocess
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

CONFIGURATION = """\
{user}
daemon off;
worker_processes 1;
pid {folder}/nginx.pid;
error_log {folder}/error.log;
events {{ worker_connections 8192; }}
http {{
    types {{ text/html html; text/plain txt; }}
    charset utf-8;
    # Unbuffered, so that a reader sees each request at once.
    log_format hits '{format}';
    access_log {log} hits;
    keepalive_requests 1000000000;
    keepalive_timeout 3600s;
    sendfile on;
    tcp_nodelay on;
    open_file_cache max={files} inactive=1h;
    open_file_cache_valid 1h;
    client_body_temp_path {folder}/t1;
    proxy_temp_path {folder}/t2;
    fastcgi_temp_path {folder}/t3;
    uwsgi_temp_path {folder}/t4;
    scgi_temp_path {folder}/t5;
    {servers}
}}
"""
HITS = "$request_uri $status $msec"
HITS_OF_HOSTS = "$server_addr $request_uri $status $msec $request_time"
ONE = "server {{ listen 127.0.0.1:{port} backlog=1024; root {root}; }}"
MANY = """\
map $server_addr $folder {{ 127.1.0.0 one; default many; }}
    server {{ listen 0.0.0.0:{port} backlog=4096; root {root}/$folder; }}
    server {{ listen 0.0.0.0:{slow} backlog=4096; root {root}/$folder; limit_rate 8k; }}"""
PATIENCE_S = 10


@contextmanager
def serving(root: Path, port: int) -> Iterator[Path]:
    """Serve root on 127.0.0.1:port; the value is the access log. Stopped on the way out."""
    with _serving(ONE.format(port=port, root=root), HITS, port) as log:
        yield log


@contextmanager
def serving_hosts(root: Path, port: int) -> Iterator[Path]:
    """Serve root/many on every address 127.x.y.z, and root/one on 127.1.0.0; each line of the log begins with the host.

    On the next port they take half a second for a page.
    """
    with _serving(MANY.format(port=port, slow=port + 1, root=root), HITS_OF_HOSTS, port) as log:
        yield log


@contextmanager
def _serving(servers: str, hits: str, port: int) -> Iterator[Path]:
    if _answers(port):
        message = f"port {port} is taken: choose another one with --port"
        raise SystemExit(message)
    with tempfile.TemporaryDirectory(prefix="holdfast-bench-nginx-") as name:
        folder = Path(name)
        log = folder / "access.log"
        configuration = folder / "nginx.conf"
        configuration.write_text(
            CONFIGURATION.format(
                user=_user_directive(), folder=folder, log=log, servers=servers, format=hits, files=_files()
            ),
            encoding="utf-8",
        )
        nginx = subprocess.Popen([_program(), "-c", str(configuration), "-p", name])
        try:
            _wait_until_serving(nginx, port, folder / "error.log")
            yield log
        finally:
            nginx.terminate()
            nginx.wait(PATIENCE_S)


def version() -> str:
    """The version that `nginx -v` states."""
    return subprocess.run([_program(), "-v"], capture_output=True, text=True, check=True).stderr.strip()


def _program() -> str:
    found = shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin:/usr/local/sbin")
    if found is None:
        message = "nginx is needed to serve the benchmark's site: install your system's package"
        raise SystemExit(message)
    return found


def _user_directive() -> str:
    # Started by root, nginx would otherwise serve as a user who can't read the temporary folder.
    return f"user {pwd.getpwuid(0).pw_name};" if os.geteuid() == 0 else ""


def _files() -> int:
    """How many files nginx may keep open, so that it has some left for connections: beyond, it answers 500."""
    limit, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return 50_000 if limit == resource.RLIM_INFINITY else min(50_000, limit // 2)


def _answers(port: int) -> bool:
    with socket.socket() as probe:
        probe.settimeout(1)
        return probe.connect_ex(("127.0.0.1", port)) == 0


def _wait_until_serving(nginx: subprocess.Popen[bytes], port: int, errors: Path) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not _answers(port):
        if nginx.poll() is not None or time.monotonic() > deadline:
            reason = errors.read_text(encoding="utf-8") if errors.exists() else "no answer"
            message = f"nginx did not start: {reason}"
            raise SystemExit(message)
        time.sleep(0.02)
