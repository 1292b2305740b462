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
