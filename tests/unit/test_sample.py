"""The bundled sample site: whole, the same each time, and gone when its crawl is gone."""

import http.client
import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections import deque
from contextlib import contextmanager
from urllib.parse import urljoin, urlsplit

import pytest

from holdfast.sample import PortTakenError, pages, serve
from holdfast.sample.__main__ import start_attached_site


@pytest.fixture
def base_url():
    with serve() as base_url:
        yield base_url


@contextmanager
def connected(base_url):
    connection = http.client.HTTPConnection(urlsplit(base_url).netloc, timeout=10)
    try:
        yield connection
    finally:
        connection.close()


def fetch(connection, address, method="GET", **headers):
    connection.request(method, address, headers=headers)
    response = connection.getresponse()
    return response, response.read()


def crawl(base_url):
    """Follow every link of the site once; gives address -> (status, body), and the links that lead away."""
    found, outside, todo = {}, set(), deque(["/"])
    with connected(base_url) as connection:
        while todo:
            address = todo.popleft()
            if address in found:
                continue
            response, body = fetch(connection, address)
            found[address] = (response.status, body)
            links = re.findall(rb'href="([^"]+)"', body) if "html" in response.headers["Content-Type"] else []
            links += [response.headers["Location"].encode()] if "Location" in response.headers else []
            for link in links:
                url = urlsplit(urljoin(base_url + address, link.decode()))
                if url.netloc == urlsplit(base_url).netloc:
                    todo.append(url.path + (f"?{url.query}" if url.query else ""))
                else:
                    outside.add(url.geturl())
    return found, outside


def test_links_lead_to_every_page_and_only_one_of_them_is_dead(base_url):
    found, outside = crawl(base_url)

    by_status = {status: {a for a, (s, _) in found.items() if s == status} for status, _ in found.values()}
    assert by_status[200] | {pages.UNREADY} == set(pages.site())
    assert by_status[301] == set(pages.REDIRECTS)
    assert by_status[404] == {pages.DEAD_LINK}
    assert by_status[503] == {pages.UNREADY}
    assert len(outside) == 3
    assert 55 <= len(by_status[200]) <= 75


def test_site_is_the_same_each_time(base_url):
    first, _ = crawl(base_url)
    with serve() as again:
        second, _ = crawl(again)

    assert first == second


def test_two_addresses_give_one_body_and_no_others_do():
    bodies = {}
    for address, page in pages.site().items():
        bodies.setdefault(page.body, []).append(address)

    assert [set(a) for a in bodies.values() if len(a) > 1] == [{"/print/fees", "/harbour/fees"}]


def test_unready_page_fails_once_and_says_when_to_come_back(base_url):
    with connected(base_url) as connection:
        first, _ = fetch(connection, pages.UNREADY)
        second, _ = fetch(connection, pages.UNREADY)

    assert (first.status, first.headers["Retry-After"]) == (503, "1")
    assert second.status == 200


def test_robots_closes_the_staff_pages_and_names_the_sitemap(base_url):
    with connected(base_url) as connection:
        _, robots = fetch(connection, "/robots.txt")
        _, sitemap = fetch(connection, "/sitemap.xml")
        listed = [urlsplit(loc.decode()).path for loc in re.findall(rb"<loc>([^<]+)</loc>", sitemap)]
        answers = {address: fetch(connection, address)[0].status for address in listed}

    assert f"Disallow: {pages.PRIVATE}\n".encode() in robots
    assert f"Sitemap: {base_url}/sitemap.xml\n".encode() in robots
    assert set(answers.values()) == {200}


def test_connection_stays_open_over_every_kind_of_answer(base_url):
    with connected(base_url) as connection:
        fetch(connection, "/")
        sock = connection.sock
        head, nothing = fetch(connection, "/lights/", method="HEAD")
        _, body = fetch(connection, "/lights/")
        unchanged, _ = fetch(connection, "/lights/", **{"If-None-Match": head.headers["ETag"]})
        fetch(connection, "/about")
        fetch(connection, "/nowhere")

        assert connection.sock is sock
    assert (int(head.headers["Content-Length"]), nothing) == (len(body), b"")
    assert unchanged.status == 304


def test_taken_port_is_one_clear_sentence():
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]

        with pytest.raises(PortTakenError, match=f"Port {port} of 127.0.0.1 is in use"), serve(port):
            pass


# ---- the crawl of it: a process that becomes the crawl, and a child that serves ----

CRAWL = """
import sys, time, urllib.request
def fetch():
    print(urllib.request.urlopen(sys.argv[1], timeout=10).status, flush=True)
try:
    print(sys.argv[1], flush=True)
    time.sleep(float(sys.argv[2]))
except KeyboardInterrupt:
    fetch()
    sys.exit(3)
fetch()
sys.exit(4)
"""
START = """
import sys
from holdfast.sample.__main__ import become, start_attached_site
become([sys.executable, "-c", sys.argv[1], start_attached_site(0), sys.argv[2]])
"""


def listening(address):
    with socket.socket() as probe:
        return probe.connect_ex(address) == 0


@contextmanager
def sample_crawl(seconds):
    """A stand-in for the crawl: sleeps, or is interrupted, and fetches the start page then."""
    command = [sys.executable, "-c", START, CRAWL, str(seconds)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, start_new_session=True) as process:
        base_url = urlsplit(process.stdout.readline().decode().strip())
        try:
            assert listening((base_url.hostname, base_url.port))
            yield process
        finally:
            process.kill()
    deadline = time.monotonic() + 10
    while listening((base_url.hostname, base_url.port)):
        assert time.monotonic() < deadline, "the site is still served though its crawl is gone"
        time.sleep(0.02)


def test_exit_code_of_a_sample_crawl_is_the_crawls_own():
    with sample_crawl(seconds=0) as process:
        assert process.stdout.read() == b"200\n"
        assert process.wait(10) == 4


def test_ctrl_c_reaches_the_crawl_and_the_site_still_answers_it():
    with sample_crawl(seconds=60) as process:
        os.killpg(process.pid, signal.SIGINT)  # what a terminal does
        assert process.stdout.read() == b"200\n"
        assert process.wait(10) == 3


@pytest.mark.failure
def test_killed_crawl_leaves_no_server_behind():
    with sample_crawl(seconds=60) as process:
        process.kill()
        assert process.wait(10) == -signal.SIGKILL


def test_no_crawl_starts_where_the_port_is_taken(capfd):
    with serve() as base_url:
        assert start_attached_site(int(base_url.rpartition(":")[2])) is None

    assert "is in use" in capfd.readouterr().err
