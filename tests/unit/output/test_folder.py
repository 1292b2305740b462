"""A folder that appears whole or not at all, and never in the place of somebody else's."""

import ctypes
import fcntl
import os

import pytest

from holdfast.domain.errors import StorageFailed, StorageFull, UsageError
from holdfast.output.folder import MARKER, check_folder, whole_folder
from holdfast.ports import faults


def fill(path, text):
    with whole_folder(path, {"form": "test"}) as folder:
        (folder / "a").write_text(text)


def names(path):
    return sorted(one.name for one in path.iterdir())


def test_it_appears_at_the_end(tmp_path):
    path = tmp_path / "out"
    with whole_folder(path, {}) as folder:
        (folder / "a").write_text("new")
        assert not path.exists()
    assert names(path) == [MARKER, "a"]
    assert names(tmp_path) == ["out"]


def test_an_export_of_ours_is_replaced_as_a_whole(tmp_path):
    path = tmp_path / "out"
    fill(path, "old")
    (path / "b").write_text("old")
    fill(path, "new")
    assert names(path) == [MARKER, "a"]
    assert (path / "a").read_text() == "new"
    assert names(tmp_path) == ["out"]


def test_so_it_is_where_the_system_can_not_swap_names(tmp_path, monkeypatch):
    monkeypatch.setattr(ctypes, "CDLL", lambda *_args, **_how: object())
    test_an_export_of_ours_is_replaced_as_a_whole(tmp_path)


def test_an_empty_folder_may_be_filled(tmp_path):
    path = tmp_path / "out"
    path.mkdir()
    check_folder(path)
    fill(path, "new")
    assert names(path) == [MARKER, "a"]


def test_an_error_leaves_what_was_there(tmp_path):
    path = tmp_path / "out"
    fill(path, "old")
    with pytest.raises(ZeroDivisionError), whole_folder(path, {}) as folder:
        (folder / "a").write_text("new" * (1 // 0))
    assert (path / "a").read_text() == "old"
    assert names(tmp_path) == ["out"]


def test_what_came_to_be_meanwhile_is_not_touched(tmp_path):
    path = tmp_path / "out"

    def race():
        with whole_folder(path, {}):
            path.mkdir()
            (path / "theirs").touch()

    with pytest.raises(StorageFailed, match="came to be meanwhile"):
        race()
    assert names(path) == ["theirs"]
    assert names(tmp_path) == ["out"]


@pytest.mark.parametrize(("number", "error"), [(28, StorageFull), (5, StorageFailed)])
def test_what_the_disk_refuses(tmp_path, number, error):
    with pytest.raises(error, match="export again"), whole_folder(tmp_path / "out", {}):
        raise OSError(number, "no")
    assert names(tmp_path) == []


def test_what_a_kill_left_goes_with_the_next_export_and_what_another_process_fills_stays(tmp_path):
    path = tmp_path / "out"
    dead, alive, strange = (tmp_path / f".out.{n}.part" for n in (1, 2, 3))
    for one in (dead, alive, strange):
        one.mkdir()
    for one in (dead, alive):
        (one / MARKER).touch()
    with (alive / MARKER).open() as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        fill(path, "new")
    assert names(tmp_path) == [".out.2.part", ".out.3.part", "out"]


def test_the_fault_point_lies_before_it_has_its_name(tmp_path):
    seen = []
    faults.arm(lambda point, _context: seen.append((point, (tmp_path / "out").exists())))
    try:
        fill(tmp_path / "out", "new")
    finally:
        faults.arm(None)
    assert seen == [(faults.FaultPoint.MID_EXPORT, False)]


class TestCheck:
    def test_somebody_elses_folder_is_refused(self, tmp_path):
        (tmp_path / "theirs").touch()
        with pytest.raises(UsageError, match="won't be touched"):
            check_folder(tmp_path)

    def test_so_is_a_file_and_a_link(self, tmp_path):
        (tmp_path / "file").touch()
        (tmp_path / "link").symlink_to(tmp_path)
        for name in ("file", "link"):
            with pytest.raises(UsageError, match="is no directory"):
                check_folder(tmp_path / name)

    def test_and_one_in_no_directory(self, tmp_path):
        with pytest.raises(UsageError, match="there is no directory"):
            check_folder(tmp_path / "none" / "out")

    @pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
    def test_and_one_where_nobody_may_write(self, tmp_path):
        tmp_path.chmod(0o500)
        with pytest.raises(UsageError, match="can't write"):
            check_folder(tmp_path / "out")
