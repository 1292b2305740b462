"""HTTP/2 against a real server, where there is one."""

import asyncio
import os
import shutil
import socket
import subprocess
import time

import pytest
import trustme
from tests.unit.web.fetching import fetch, with_fetcher

from holdfast.ports.fetcher import Request

NGINX = shutil.which("nginx", path="/usr/sbin:/usr/local/sbin:/usr/bin:/usr/local/bin:/opt/homebrew/bin")

pytestmark = [
    pytest.mark.integration,
    pytest.mark.skipif(NGINX is None, reason="needs nginx"),
]

CONFIGURATION = """
{user} daemon off; worker_processes 1; pid {folder}/pid; error_log {folder}/errors;
events {{ worker_connections 300; }}
http {{
    access_log {folder}/access;
    client_body_temp_path {folder}/t1; proxy_temp_path {folder}/t2; fastcgi_temp_path {folder}/t3;
    uwsgi_temp_path {folder}/t4; scgi_temp_path {folder}/t5;
    gzip on; gzip_types text/plain; gzip_min_length 1;
    server {{
        listen 127.0.0.1:{port} ssl http2; root {folder}/pages;
        ssl_certificate {folder}/chain.pem; ssl_certificate_key {folder}/key.pem;
        location = /echo {{ default_type text/plain; return 200 "$request|$http_user_agent|$http_x_more"; }}
    }}
}}
"""


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    folder = tmp_path_factory.mktemp("nginx")
    authority = trustme.CA()
    certificate = authority.issue_cert("127.0.0.1")
    authority.cert_pem.write_to_path(str(folder / "ca.pem"))
    certificate.private_key_pem.write_to_path(str(folder / "key.pem"))
    for blob in certificate.cert_chain_pems:
        blob.write_to_path(str(folder / "chain.pem"), append=True)
    (folder / "pages").mkdir()
    for number in range(100):
        (folder / "pages" / f"{number}.txt").write_text(f"page {number} " * 2000)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    user = "user root;" if os.geteuid() == 0 else ""  # its workers would be nobody, who can't read our folder
    (folder / "conf").write_text(CONFIGURATION.format(folder=folder, port=port, user=user))
    command = [str(NGINX), "-e", f"{folder}/errors", "-p", str(folder), "-c", f"{folder}/conf"]
    process = subprocess.Popen(command)
    try:
        _wait_for(port, process)
        yield f"https://127.0.0.1:{port}", str(folder / "ca.pem")
    finally:
        process.terminate()
        process.wait(10)


def _wait_for(port, process):
    for _ in range(500):
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
        except OSError:
            assert process.poll() is None, "nginx did not start"
            time.sleep(0.02)
        else:
            return
    pytest.fail("nginx did not listen")


def test_http2_is_agreed_on_over_tls(server):
    url, ca_file = server
    response = fetch(f"{url}/echo?a=b", ("X-More", "yes"), ca_file=ca_file)
    assert response.http_version == "HTTP/2"
    assert response.status == 200
    assert response.reason_phrase == ""
    assert response.header("content-encoding") == "gzip"
    assert response.body == b"GET /echo?a=b HTTP/2.0|Holdfast/test|yes"
    assert response.payload != response.body
    assert response.request_head.startswith(b"GET /echo?a=b HTTP/1.1\r\nHost: 127.0.0.1:")


def test_a_hundred_at_once_over_http2(server):
    url, ca_file = server

    async def many(fetcher):
        return await asyncio.gather(*(fetcher.fetch(Request(f"{url}/{n}.txt")) for n in range(100)))

    responses = with_fetcher(many, ca_file=ca_file)
    assert [response.body for response in responses] == [(f"page {n} " * 2000).encode() for n in range(100)]
    assert {response.http_version for response in responses} == {"HTTP/2"}
