"""What a crash takes from the end of a segment goes back to the queue; nothing that was discovered is lost."""

import pytest
from tests.kit.process import Fault, assert_promise

from holdfast.ports.faults import FaultPoint

pytestmark = pytest.mark.failure

ZEROED = 4096


def cut_in_half(path):
    with path.open("r+b") as file:
        file.truncate(path.stat().st_size // 2)


def cut_in_the_last_record(path):
    with path.open("r+b") as file:
        file.truncate(path.stat().st_size - 7)


def emptied(path):
    path.write_bytes(b"")


def deleted(path):
    path.unlink()


def zeroed_tail(path):
    data = path.read_bytes()
    path.write_bytes(data[:-ZEROED] + bytes(ZEROED))


def zeroed_from_the_middle(path):
    data = path.read_bytes()
    path.write_bytes(data[: len(data) // 2] + bytes(len(data) - len(data) // 2))


def zeroed_in_the_middle(path):
    data = bytearray(path.read_bytes())
    middle = len(data) // 2
    data[middle : middle + ZEROED] = bytes(ZEROED)
    path.write_bytes(data)


def flipped_bit_near_the_end(path):
    data = bytearray(path.read_bytes())
    data[-100] ^= 1
    path.write_bytes(data)


def flipped_first_bit(path):
    data = bytearray(path.read_bytes())
    data[0] ^= 1
    path.write_bytes(data)


DAMAGES = [
    cut_in_half,
    cut_in_the_last_record,
    emptied,
    deleted,
    zeroed_tail,
    zeroed_from_the_middle,
    zeroed_in_the_middle,
    flipped_bit_near_the_end,
    flipped_first_bit,
]


def discovered(holdfast):
    return {url for (url,) in holdfast.read("SELECT url FROM items")}


@pytest.mark.parametrize("damage", DAMAGES, ids=lambda damage: damage.__name__)
def test_a_damaged_tail_goes_back_to_the_queue(holdfast, server, damage):
    # given a crawl that was killed, and whose segment lost part of what wasn't synced
    holdfast.crawl_and_die(server.start, fault=Fault(at=FaultPoint.AFTER_COMMIT, nth=20))
    known = discovered(holdfast)
    ((committed,),) = holdfast.read("SELECT count(*) FROM items WHERE settled_commit IS NOT NULL")
    (segment,) = holdfast.segments()
    damage(segment)
    left = segment.read_bytes() if segment.exists() else None

    # then the next run gives back what is missing, in one line, and fetches no more than that again
    ended = holdfast.crawl(server.start).ended()
    assert ended.code == 0, ended
    assert "is torn at" in ended.err
    assert "items go back to the queue" in ended.err
    assert known <= discovered(holdfast)
    assert_promise(holdfast, server, again=committed)

    # and the archive can be written, though some of its files may hold nothing any more
    archive = holdfast.run("export", "-o", holdfast.home / "pages.warc.gz")
    assert archive.code == 0, archive

    # and nobody touched what was left of the file
    assert (segment.read_bytes() if segment.exists() else None) == left


def test_bytes_past_the_committed_length_are_never_read(holdfast, server):
    # given a killed crawl with garbage behind what it committed
    holdfast.crawl_and_die(server.start, fault=Fault(at=FaultPoint.AFTER_SEGMENT, nth=20))
    (segment,) = holdfast.segments()
    with segment.open("ab") as file:
        file.write(b"garbage" * 1000)

    # then nothing has to be repaired
    ended = holdfast.crawl(server.start).ended()
    assert (ended.code, ended.err) == (0, ""), ended
    assert_promise(holdfast, server)


def test_damage_in_several_segments_of_a_crawl_that_was_killed_before(holdfast, server):
    # given a crawl that was killed three times: three claims, three files
    for _ in range(3):
        holdfast.crawl_and_die(server.start, fault=Fault(at=FaultPoint.AFTER_COMMIT, nth=8))
    known = discovered(holdfast)
    ((committed,),) = holdfast.read("SELECT count(*) FROM items WHERE settled_commit IS NOT NULL")
    first, second, third = holdfast.segments()
    cut_in_half(first)
    deleted(second)
    zeroed_tail(third)

    # then all of it is repaired, though whoever repairs dies amid it
    holdfast.crawl_and_die(server.start, fault=Fault(at=FaultPoint.MID_REPAIR, nth=2))
    ended = holdfast.crawl(server.start).ended()
    assert ended.code == 0, ended
    assert known <= discovered(holdfast)
    assert_promise(holdfast, server, again=committed)


def test_a_tail_that_is_torn_again_and_again(holdfast, server):
    # given a crawl that loses half of its newest file at each death
    allowed = 0
    for _ in range(4):
        holdfast.crawl_and_die(server.start, fault=Fault(at=FaultPoint.AFTER_COMMIT, nth=10))
        ((committed,),) = holdfast.read("SELECT count(*) FROM items WHERE settled_commit IS NOT NULL")
        allowed += committed
        cut_in_half(holdfast.segments()[-1])

    # then it ends nevertheless
    assert holdfast.crawl(server.start).ended().code == 0
    assert_promise(holdfast, server, again=allowed)
