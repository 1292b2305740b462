"""Signs of life: who lives, who died, and what was left to tell of it."""

import errno
import os

import pytest

from holdfast.stores.workers import LockedWorkers


@pytest.fixture
def workers(tmp_path):
    return LockedWorkers(tmp_path)


def test_a_worker_lives_from_its_entrance_until_it_leaves(workers):
    presence = workers.enter(workers.name("aa"))
    assert workers.lives(presence.worker_id)
    presence.leave()
    assert workers.lives(presence.worker_id) is False


@pytest.mark.parametrize("code", [errno.EACCES, errno.EMFILE, errno.EISDIR])
def test_a_lock_that_cannot_be_asked_says_nothing(workers, monkeypatch, code):
    # given the lock file of another user, or no descriptor left
    presence = workers.enter(workers.name("aa"))

    def refused(*_):
        raise OSError(code, os.strerror(code))

    with monkeypatch.context() as patch:
        patch.setattr(os, "open", refused)

        # then nobody is taken for dead, or alive
        assert workers.lives(presence.worker_id) is None
    presence.leave()


def test_last_words_that_cannot_be_read_or_removed_are_none(workers, tmp_path):
    name = workers.name("aa")
    workers._will(name).mkdir(parents=True)
    assert workers.crash(name) is None


def test_who_leaves_in_order_leaves_nothing_behind(workers, tmp_path):
    presence = workers.enter(workers.name("aa"))
    presence.leave()
    assert list((tmp_path / "workers").iterdir()) == []
    assert workers.crash(presence.worker_id) is None


def test_who_leaves_with_words_has_crashed_and_is_quoted_in_one_line(workers):
    presence = workers.enter(workers.name("aa"))
    presence.leave("TypeError: not this\nbut more \ud800 of it")
    assert workers.lives(presence.worker_id) is False
    assert workers.crash(presence.worker_id) == "TypeError: not this"


def test_a_worker_that_was_killed_without_a_word_leaves_nothing_once_that_is_seen(workers, tmp_path):
    # given the files of a process that was killed: nobody holds the lock
    name = workers.name("aa")
    (tmp_path / "workers").mkdir()
    workers._path(name).touch()
    workers._will(name).touch()

    # when somebody looks whether it lives
    lives = workers.lives(name)

    # then
    assert lives is False
    assert workers.crash(name) is None
    assert list((tmp_path / "workers").iterdir()) == []
