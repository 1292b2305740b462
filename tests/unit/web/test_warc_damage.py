"""Damaged segments give DamagedRecord and nothing else; broken disks one clear error, never a second try."""

import asyncio
import errno
import functools
import gzip
import os
import tempfile
import threading
from pathlib import Path

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from tests.unit.web.warckit import JOB, append, exchange, folder, lease, segments

from holdfast.domain.commit import Appended, Location
from holdfast.domain.errors import StorageFailed, StorageFull
from holdfast.domain.job import Durability
from holdfast.ports import faults
from holdfast.ports.faults import FaultPoint
from holdfast.ports.segments import DamagedRecord, Reading
from holdfast.web.warc import WarcSegments

pytestmark = pytest.mark.failure

BODIES = [b"first " * 100, b"", b"second " * 300, bytes(range(256)) * 20, b"first " * 100]


@functools.cache
def sound() -> tuple[bytes, Appended]:
    """A segment's bytes, and where what lies in them."""
    with tempfile.TemporaryDirectory() as home:
        batch = [exchange(body, f"http://example.org/{number}") for number, body in enumerate(BODIES)]
        [appended] = append(segments(Path(home)), batch)
        return (folder(Path(home)) / appended.segment).read_bytes(), appended


def put(home: Path, raw: bytes) -> WarcSegments:
    path = folder(home) / sound()[1].segment
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(raw)
    return segments(home)


def read_or_damage(store: WarcSegments, location: Location) -> Reading | DamagedRecord:
    try:
        return store.read(JOB, location)
    except DamagedRecord as damage:
        return damage


def check_all(raw: bytes, hit: int) -> None:
    """Whatever happened to the byte at `hit`: no other exception, no wrong reading, no neighbour hurt."""
    before, appended = sound()
    with tempfile.TemporaryDirectory() as home:
        store = put(Path(home), raw)
        scanned = list(store.scan(JOB, appended.segment, appended.end))
        for number, stored in enumerate(appended.stored):
            place = stored.location
            found = read_or_damage(store, place)
            if place.offset <= hit < place.offset + place.length:
                # gzip's header has bytes that mean nothing, so that a reading may still be right.
                right = b"" if stored.revisit_of is not None else BODIES[number]
                assert isinstance(found, DamagedRecord) or found.payload == right
            else:
                assert isinstance(found, Reading)
                assert found in scanned
        for reading in scanned:
            if isinstance(reading, Reading):
                assert reading.payload in {*BODIES}
    assert before != raw or not [damage for damage in scanned if isinstance(damage, DamagedRecord)]


@settings(max_examples=150)
@given(data=st.data())
def test_a_flipped_bit_costs_its_own_record_only(data):
    raw = bytearray(sound()[0])
    bit = data.draw(st.integers(0, len(raw) * 8 - 1))
    raw[bit // 8] ^= 1 << bit % 8
    check_all(bytes(raw), bit // 8)


@settings(max_examples=60)
@given(data=st.data())
def test_torn_and_zeroed_tails(data):
    raw, appended = sound()
    cut = data.draw(st.integers(0, len(raw) - 1))
    zeroed = data.draw(st.booleans())
    torn = raw[:cut] + (bytes(len(raw) - cut) if zeroed else b"")
    assume(torn != raw)
    with tempfile.TemporaryDirectory() as home:
        store = put(Path(home), torn)
        assert store.crc(JOB, appended.segment, 0, appended.end) != appended.crc
        for stored in appended.stored:
            place = stored.location
            whole = (
                raw[place.offset : place.offset + place.length]
                == torn[place.offset : place.offset + place.length]
            )
            assert isinstance(read_or_damage(store, place), Reading) == whole
        scanned = list(store.scan(JOB, appended.segment, appended.end))
        assert isinstance(scanned[-1], DamagedRecord)
        assert str(appended.end) in str(scanned[-1])
        assert appended.segment in str(scanned[-1])


@settings(max_examples=100)
@given(
    offset=st.integers(-10, 10_000), length=st.integers(-10, 10_000) | st.sampled_from([2**31, 2**62, 2**70])
)
def test_a_place_where_nothing_begins(offset, length):
    raw, appended = sound()
    places = {(stored.location.offset, stored.location.length) for stored in appended.stored}
    with tempfile.TemporaryDirectory() as home:
        found = read_or_damage(put(Path(home), raw), Location(appended.segment, offset, length))
    assert isinstance(found, Reading) == ((offset, length) in places)


@settings(max_examples=100)
@given(garbage=st.binary(max_size=400), wrap=st.booleans())
def test_garbage(garbage, wrap):
    raw = gzip.compress(garbage) if wrap else garbage
    segment = sound()[1].segment
    with tempfile.TemporaryDirectory() as home:
        store = put(Path(home), raw)
        assert isinstance(read_or_damage(store, Location(segment, 0, len(raw))), DamagedRecord)
        assert all(isinstance(found, DamagedRecord) for found in store.scan(JOB, segment, len(raw)))


def swap(old: bytes, new: bytes) -> bytes:
    """The first response's record with something else in it, whole as a gzip member."""
    raw, appended = sound()
    place = appended.stored[0].location
    record = gzip.decompress(raw[place.offset : place.offset + place.length])
    assert old in record
    return gzip.compress(record.replace(old, new, 1))


@pytest.mark.parametrize(
    ("old", "new", "complaint"),
    [
        (b"first first", b"FIRST first", "digest"),
        (b"WARC/1.1", b"WARC/1.2", "no WARC/1.1"),
        (b"WARC-Type: response", b"WARC-Type: request", "neither"),
        (b"WARC-Type: response", b"WARC-Type: resource", "not a response"),
        (b"WARC-Type: response", b"WARC-Type: revisit", "revisit has one digest"),
        (b"WARC-Type: response", b"WARC-Type response", "header field"),
        (b"WARC-Target-URI: ", b"WARC-Other: ", "not a response"),
        (b"sha256:", b"sha1:", "not a response"),
        (b"first first", b"first", "length"),
        (b"HTTP/1.1 200", b"HTTP/1.1 abc", "status line"),
        (b"Content-Type: text/html", b"Content-Type= text/html", "HTTP header"),
        (b"http://example.org/0", b"\xff\xfe://example.org/0", "UTF-8"),
    ],
)
def test_whole_members_that_hold_no_sound_record(tmp_path, old, new, complaint):
    raw = swap(old, new)
    store = put(tmp_path, raw)
    segment = sound()[1].segment
    with pytest.raises(DamagedRecord, match=complaint) as caught:
        store.read(JOB, Location(segment, 0, len(raw)))
    assert f"{segment}, bytes 0 to {len(raw)}" in str(caught.value)
    found = list(store.scan(JOB, segment, len(raw)))
    assert [type(one) for one in found] == ([] if complaint == "neither" else [DamagedRecord])


def test_a_record_that_unpacks_to_more_than_it_may_is_not_unpacked(tmp_path):
    raw = gzip.compress(bytes(50_000_000))
    folder(tmp_path).mkdir(parents=True)
    (folder(tmp_path) / "c1-e1-0.warc.gz").write_bytes(raw)
    store = segments(tmp_path, record_bytes=1_000_000)
    with pytest.raises(DamagedRecord, match="more than the 1000000"):
        store.read(JOB, Location("c1-e1-0.warc.gz", 0, len(raw)))
    [damage] = store.scan(JOB, "c1-e1-0.warc.gz", len(raw))
    assert "more than the 1000000" in str(damage)


def test_bytes_past_the_committed_length_are_never_read(tmp_path):
    raw, appended = sound()
    store = put(tmp_path, raw + b"torn tail of a crash")
    assert len([*store.scan(JOB, appended.segment, appended.end)]) == len(BODIES)
    committed = appended.stored[1].location.offset
    assert len([*store.scan(JOB, appended.segment, committed)]) == 1


def test_a_missing_file_is_damage_where_a_record_should_be(tmp_path):
    store = segments(tmp_path)
    with pytest.raises(DamagedRecord, match="No such file"):
        store.read(JOB, Location("c1-e1-0.warc.gz", 0, 10))
    [damage] = store.scan(JOB, "c1-e1-0.warc.gz", 10)
    assert isinstance(damage, DamagedRecord)


def two_appends(store, durability=Durability.PROCESS):
    """The first append's error, and what a second one by the same writer gives."""

    async def main():
        writer = store.writer(JOB, lease(), durability)
        first = None
        try:
            await writer.append([exchange(b"first")], {})
        except (StorageFull, StorageFailed) as error:
            first = error
        second = await writer.append([exchange(b"second")], {})
        await writer.close()
        return first, second

    return asyncio.run(main())


def failing_once(number, function):
    """The function, but its first call fails with that errno."""
    calls = []

    def fails(*args):
        calls.append(args)
        if len(calls) == 1:
            raise OSError(number, os.strerror(number))
        return function(*args)

    return fails


@pytest.mark.parametrize(
    ("number", "kind"),
    [
        (errno.ENOSPC, StorageFull),
        (errno.EDQUOT, StorageFull),
        (errno.EIO, StorageFailed),
        (errno.EFBIG, StorageFailed),
    ],
)
def test_a_write_that_fails_ends_its_file(tmp_path, monkeypatch, number, kind):
    monkeypatch.setattr(os, "write", failing_once(number, os.write))
    store = segments(tmp_path)
    error, second = two_appends(store)
    assert type(error) is kind
    assert "resume the job" in str(error)
    assert (second.segment, second.start) == ("c3-e7-1.warc.gz", 0)
    assert store.size(JOB, "c3-e7-0.warc.gz") == 0
    assert store.read(JOB, second.stored[0].location).payload == b"second"


def test_short_writes_are_carried_on(tmp_path, monkeypatch):
    whole = os.write
    monkeypatch.setattr(os, "write", lambda fd, data: whole(fd, data[:100]))
    store = segments(tmp_path)
    [appended] = append(store, [exchange(b"x" * 500)])
    assert store.crc(JOB, appended.segment, 0, appended.end) == appended.crc


def test_a_disk_that_fills_up_within_a_write_leaves_bytes_that_nobody_reads(tmp_path, monkeypatch):
    whole, calls = os.write, []

    def fills_up(fd, data):
        calls.append(fd)
        if len(calls) == 1:
            return whole(fd, data[: len(data) // 2])
        if len(calls) == 2:
            raise OSError(errno.ENOSPC, "No space left on device")
        return whole(fd, data)

    monkeypatch.setattr(os, "write", fills_up)
    store = segments(tmp_path)
    error, second = two_appends(store)
    assert isinstance(error, StorageFull)
    assert store.size(JOB, "c3-e7-0.warc.gz") > 0
    assert second.segment == "c3-e7-1.warc.gz"


def test_a_failed_fsync_is_never_tried_again(tmp_path, monkeypatch):
    synced = []
    fails = failing_once(errno.EIO, os.fsync)

    def fsync(fd):
        synced.append(
            Path(f"/proc/self/fd/{fd}").resolve().name if Path("/proc/self/fd").exists() else str(len(synced))
        )
        fails(fd)

    monkeypatch.setattr(os, "fsync", fsync)
    error, second = two_appends(segments(tmp_path), Durability.POWER)
    assert isinstance(error, StorageFailed)
    assert second.segment == "c3-e7-1.warc.gz"
    assert second.synced
    assert synced.count(synced[0]) == 1


def test_sync_tells_how_far_it_is_safe_and_a_failure_ends_the_file(tmp_path, monkeypatch):
    async def main():
        writer = segments(tmp_path).writer(JOB, lease(), Durability.PROCESS)
        assert await writer.sync() is None
        first = await writer.append([exchange(b"1")], {})
        assert not first.synced
        assert await writer.sync() == (first.segment, first.end)
        assert await writer.sync() is None
        await writer.append([exchange(b"2")], {})
        monkeypatch.setattr(os, "fsync", failing_once(errno.EIO, os.fsync))
        with pytest.raises(StorageFailed):
            await writer.sync()
        assert await writer.sync() is None
        third = await writer.append([exchange(b"3")], {})
        assert third.segment == "c3-e7-1.warc.gz"
        await writer.close()

    asyncio.run(main())


def spied(monkeypatch):
    """The inode and the size of whatever is fsynced from now on."""
    whole, synced = os.fsync, []

    def fsync(fd):
        synced.append((os.fstat(fd).st_ino, os.fstat(fd).st_size))
        whole(fd)

    monkeypatch.setattr(os, "fsync", fsync)
    return synced


def test_power_syncs_the_file_and_at_its_creation_its_folders(tmp_path, monkeypatch):
    synced = spied(monkeypatch)
    ranges = append(segments(tmp_path), [exchange(b"1")], [exchange(b"2")], durability=Durability.POWER)
    assert all(appended.synced for appended in ranges)
    file = folder(tmp_path) / ranges[0].segment
    places = [file, file.parent, file.parent.parent, tmp_path, file]
    assert [inode for inode, _ in synced] == [place.stat().st_ino for place in places]


def test_process_does_not_sync(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "fsync", failing_once(errno.EIO, os.fsync))
    [appended] = append(segments(tmp_path), [exchange()])
    assert not appended.synced


def test_a_file_left_behind_is_synced_whole(tmp_path, monkeypatch):
    synced = spied(monkeypatch)
    ranges = append(segments(tmp_path, segment_bytes=10), [exchange(b"1")], [exchange(b"2")])
    first = folder(tmp_path) / ranges[0].segment
    assert synced[0] == (first.stat().st_ino, ranges[0].end)
    assert ranges[1].closed == (ranges[0].segment, ranges[0].end)


@pytest.mark.parametrize("durability", Durability)
def test_the_loop_goes_on_while_a_full_file_is_synced(tmp_path, monkeypatch, durability):
    """What waits for the disk never waits on the loop's thread."""
    whole, threads = os.fsync, set()

    def fsync(fd):
        threads.add(threading.current_thread())
        whole(fd)

    monkeypatch.setattr(os, "fsync", fsync)
    append(segments(tmp_path, segment_bytes=10), [exchange(b"1")], [exchange(b"2")], durability=durability)
    assert threads
    assert threading.main_thread() not in threads


def test_a_file_left_behind_that_can_t_be_synced_ends_there(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "fsync", failing_once(errno.EIO, os.fsync))

    async def main():
        writer = segments(tmp_path, segment_bytes=10).writer(JOB, lease(), Durability.PROCESS)
        await writer.append([exchange(b"1")], {})
        with pytest.raises(StorageFailed):
            await writer.append([exchange(b"2")], {})
        third = await writer.append([exchange(b"3")], {})
        await writer.close()
        assert (third.segment, third.closed) == ("c3-e7-1.warc.gz", None)

    asyncio.run(main())


def test_a_home_that_can_t_be_written_says_so(tmp_path):
    (tmp_path / "segments").write_text("not a folder")
    with pytest.raises(StorageFailed, match="check the disk and its permissions"):
        append(segments(tmp_path), [exchange()])


def test_a_full_device(tmp_path):
    if not Path("/dev/full").exists():
        pytest.skip("no /dev/full")
    folder(tmp_path).mkdir(parents=True)
    opened = os.open

    def open_full(path, flags, mode=0o777, **options):
        if str(path).endswith("-0.warc.gz"):
            return opened("/dev/full", os.O_WRONLY)
        return opened(path, flags, mode, **options)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "open", open_full)
        error, second = two_appends(segments(tmp_path))
    assert isinstance(error, StorageFull)
    assert second.segment == "c3-e7-1.warc.gz"


def test_a_cancelled_append_ends_its_file(tmp_path):
    async def main():
        writer = segments(tmp_path).writer(JOB, lease(), Durability.POWER)
        first = await writer.append([exchange(b"1")], {})
        task = asyncio.create_task(writer.append([exchange(b"2")], {}))
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        third = await writer.append([exchange(b"3")], {})
        assert (third.segment, third.start) == ("c3-e7-1.warc.gz", 0)
        await writer.close()
        assert first.segment == "c3-e7-0.warc.gz"

    asyncio.run(main())


def test_closing_a_writer_twice_is_fine(tmp_path):
    async def main():
        writer = segments(tmp_path).writer(JOB, lease(), Durability.PROCESS)
        await writer.append([exchange()], {})
        await writer.close()
        await writer.close()

    asyncio.run(main())


def test_the_fault_points_lie_before_the_write_and_within_it(tmp_path):
    seen = []

    def hook(point, context):
        path = folder(tmp_path) / "c3-e7-0.warc.gz"
        seen.append((point, path.stat().st_size if path.exists() else None))
        if point is FaultPoint.MID_RECORD:
            fd, data = context
            os.write(fd, data[: len(data) // 2])
            raise RuntimeError("the process ends here")

    faults.arm(hook)
    try:
        with pytest.raises(RuntimeError):
            append(segments(tmp_path), [exchange()])
    finally:
        faults.arm(None)
    assert seen == [(FaultPoint.BEFORE_SEGMENT, None), (FaultPoint.MID_RECORD, 0)]
    assert segments(tmp_path).size(JOB, "c3-e7-0.warc.gz") > 0


def test_what_can_t_be_read_now_isn_t_reported_as_lost(tmp_path, monkeypatch):
    raw, appended = sound()
    store = put(tmp_path, raw)

    def no_more_files(*_args, **_options):
        raise OSError(errno.EMFILE, "Too many open files")

    monkeypatch.setattr(Path, "open", no_more_files)
    for ask in (
        lambda: store.crc(JOB, appended.segment, 0, appended.end),
        lambda: store.read(JOB, appended.stored[0].location),
        lambda: list(store.scan(JOB, appended.segment, appended.end)),
    ):
        with pytest.raises(StorageFailed, match="Too many open files"):
            ask()


def test_a_disk_that_fails_while_it_is_read_is_no_damage(tmp_path, monkeypatch):
    raw, appended = sound()
    store = put(tmp_path, raw)
    monkeypatch.setattr(os, "fstat", failing_once(errno.EIO, os.fstat))
    with pytest.raises(StorageFailed, match="check the disk"):
        store.read(JOB, appended.stored[0].location)
    assert store.read(JOB, appended.stored[0].location).payload == BODIES[0]


def test_a_segment_that_is_gone_is_damage(tmp_path):
    raw, appended = sound()
    store = put(tmp_path, raw)
    (folder(tmp_path) / appended.segment).unlink()
    assert isinstance(read_or_damage(store, appended.stored[0].location), DamagedRecord)
    [damage] = store.scan(JOB, appended.segment, appended.end)
    assert isinstance(damage, DamagedRecord)
