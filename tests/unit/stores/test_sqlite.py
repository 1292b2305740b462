"""The SQLite store from the inside: its schema, its statements, and how they find their rows."""

import os
import re
from importlib.resources import files
from pathlib import Path

import apsw
import pytest

from holdfast.domain.errors import HomeError
from holdfast.stores.sqlite import connection, slices
from holdfast.stores.sqlite.connection import APPLICATION_ID, FILE_NAME, immediate, open_connection
from holdfast.stores.sqlite.statements import migrations, statements

SCHEMA = Path(__file__).with_name("schema.sql")
A_JOB = """
    INSERT INTO jobs (id, public_id, kind, identity, spec, bounds, status, phase, created_at)
    VALUES (1, 'p', 'test', 'i', '{}', '{}', 'pending', 'queued', 0);
"""
PACKAGE = files("holdfast.stores.sqlite")
SQL_FILES = sorted(entry.name.removesuffix(".sql") for entry in PACKAGE.joinpath("sql").iterdir())
EVERY_STATEMENT = [(file, name) for file in SQL_FILES for name in statements(file)]


@pytest.fixture
def db(tmp_path):
    db = open_connection(tmp_path / FILE_NAME)
    yield db
    db.close()


# -- the schema


def dump(db) -> str:
    rows = db.execute(
        "SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite_%' "
        "ORDER BY tbl_name, type DESC, name"
    )
    return "".join(f"{sql};\n" for (sql,) in rows)


def test_migrations_applied_from_nothing_give_the_schema(db):
    """HOLDFAST_WRITE_SCHEMA=1 writes the schema anew, to be read in the review of a migration."""
    if os.environ.get("HOLDFAST_WRITE_SCHEMA"):
        SCHEMA.write_text(dump(db), encoding="utf-8")
    assert dump(db) == SCHEMA.read_text(encoding="utf-8")


def test_migrations_are_numbered_without_a_gap():
    assert [version for version, _ in migrations()] == list(range(1, len(migrations()) + 1))


def test_a_ledger_says_whose_it_is(db):
    assert db.pragma("application_id") == APPLICATION_ID
    assert db.pragma("user_version") == migrations()[-1][0]
    assert db.pragma("journal_mode") == "wal"
    assert db.pragma("foreign_keys") == 1


def test_opening_twice_migrates_once(tmp_path, db):
    again = open_connection(tmp_path / FILE_NAME)
    assert dump(again) == dump(db)
    again.close()


def test_a_migration_that_breaks_off_leaves_the_step_before(tmp_path, monkeypatch):
    script = "CREATE TABLE half (x); SELECT no_such_function();"
    monkeypatch.setattr(connection, "migrations", lambda: [*migrations(), (99, script)])
    with pytest.raises(apsw.SQLError):
        open_connection(tmp_path / FILE_NAME)
    monkeypatch.undo()
    db = open_connection(tmp_path / FILE_NAME)
    assert db.pragma("user_version") == migrations()[-1][0]
    assert "half" not in dump(db)
    db.close()


def test_a_newer_schema_is_refused_and_left_as_it_is(tmp_path, db):
    db.execute("PRAGMA user_version = 1000")
    with pytest.raises(HomeError) as error:
        open_connection(tmp_path / FILE_NAME)
    assert "newer" in str(error.value)
    assert db.pragma("user_version") == 1000


def test_a_strangers_database_is_refused(tmp_path):
    stranger = apsw.Connection(str(tmp_path / FILE_NAME))
    stranger.execute("CREATE TABLE t (x); PRAGMA user_version = 3")
    stranger.close()
    with pytest.raises(HomeError):
        open_connection(tmp_path / FILE_NAME)


def test_what_is_no_database_is_refused(tmp_path):
    (tmp_path / FILE_NAME).write_bytes(b"not a database, " * 1000)
    with pytest.raises(HomeError) as error:
        open_connection(tmp_path / FILE_NAME)
    assert FILE_NAME in str(error.value)


def test_a_home_that_is_a_file_is_refused(tmp_path):
    (tmp_path / "home").write_text("")
    with pytest.raises(HomeError):
        open_connection(tmp_path / "home" / FILE_NAME)


def test_a_transaction_that_fails_leaves_nothing_and_no_lock(db):
    def fail():
        with immediate(db):
            db.execute(A_JOB)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fail()
    assert not db.in_transaction
    assert db.execute("SELECT count(*) FROM jobs").fetchall() == [(0,)]


# -- the invariants that the schema itself guards


BROKEN = {
    "a status that is none": "UPDATE jobs SET status = 'running'",
    "a wish for a job that nobody works on": "UPDATE jobs SET desired = 'pause'",
    "counters that don't add up": "UPDATE chunks SET found = found + 1",
    "a negative counter": "UPDATE chunks SET queued = -1, found = -1",
    "a worker on a chunk that is not in progress": "UPDATE chunks SET worker_id = 'w'",
    "a chunk in progress without a worker": "UPDATE chunks SET status = 'in_progress'",
    "a settled item that is pending": "UPDATE items SET settled_commit = 1",
    "a done item that was never settled": "UPDATE items SET status = 'done'",
    "a due time of a settled item": "UPDATE items SET status = 'done', settled_commit = 1, due_at = 1.0",
    "a pending item to be judged again": "UPDATE items SET rejudge = 1",
    "a short fingerprint": "UPDATE items SET fingerprint = x'00'",
    "an address that stands twice": """INSERT INTO items (job_id, run, chunk_id, host_id, kind, fingerprint, url,
        depth, status, found_commit) SELECT job_id, run, chunk_id, host_id, kind, fingerprint, url, depth, status,
        found_commit FROM items""",
    "an item without its host": "UPDATE items SET host_id = 99",
    "half a place": """INSERT INTO records (item_id, ordinal, job_id, run, commit_no, kind, data, start)
        VALUES (1, 0, 1, 1, 1, 'page', '{}', 5)""",
    "data that is no JSON": """INSERT INTO records (item_id, ordinal, job_id, run, commit_no, kind, data)
        VALUES (1, 0, 1, 1, 1, 'page', '{')""",
}


@pytest.mark.parametrize("what", BROKEN)
def test_the_schema_itself_refuses(db, what):
    db.execute(A_JOB)
    db.execute("""
        INSERT INTO chunks (id, job_id, run, status, found, queued) VALUES (1, 1, 1, 'pending', 1, 1);
        INSERT INTO hosts (id, chunk_id, name, queued) VALUES (1, 1, 'h', 1);
        INSERT INTO items (id, job_id, run, chunk_id, host_id, kind, fingerprint, url, depth, status, found_commit)
        VALUES (1, 1, 1, 1, 1, 'page', zeroblob(16), 'u', 0, 'pending', 0);
    """)
    with pytest.raises(apsw.ConstraintError):
        db.execute(BROKEN[what])


def test_a_new_home_is_there_after_a_power_cut_with_all_that_leads_to_it(tmp_path, monkeypatch):
    whole, synced = os.fsync, []

    def fsync(fd):
        synced.append(os.fstat(fd).st_ino)
        whole(fd)

    monkeypatch.setattr(os, "fsync", fsync)
    ledger = tmp_path / "made" / "on the way" / "home" / "holdfast.db"
    open_connection(ledger).close()
    made = [ledger.parents[3], ledger.parents[2], ledger.parents[1]]
    assert synced == [folder.stat().st_ino for folder in made]
    open_connection(ledger).close()
    assert len(synced) == len(made), "what was there is not synced again"


# -- the statements


def test_a_block_is_its_statement_without_the_comments():
    assert statements("commit")["happened"].startswith("SELECT EXISTS")
    for file, name in EVERY_STATEMENT:
        text = statements(file)[name]
        assert "--" not in text
        assert text.endswith(";")
        assert text.count(";") == 1, f"{name} is one statement"


def test_no_name_stands_twice_in_a_file():
    for file in SQL_FILES:
        text = PACKAGE.joinpath("sql", f"{file}.sql").read_text(encoding="utf-8")
        names = re.findall(r"^-- name: (\w+)", text, re.MULTILINE)
        assert sorted(names) == sorted(set(names))
        assert names == list(statements(file))


def test_every_statement_is_used_and_every_used_one_is_there():
    modules = [entry.read_text(encoding="utf-8") for entry in PACKAGE.iterdir() if entry.name.endswith(".py")]
    for file in SQL_FILES:
        code = "\n".join(text for text in modules if f'statements("{file}")' in text)
        if file != "check":  # run one and all, as they stand in the file
            unused = [name for name in statements(file) if f'"{name}"' not in code]
            assert unused == []
    known = {name for _, name in EVERY_STATEMENT}
    asked = set(re.findall(r'SQL\["(\w+)"\]|_rows\("(\w+)"', "\n".join(modules)))
    assert {one or other for one, other in asked} <= known


def described(file: str) -> dict[str, str]:
    """The comment of each statement."""
    text = PACKAGE.joinpath("sql", f"{file}.sql").read_text(encoding="utf-8")
    parts = re.split(r"^-- name: (\w+)\s*$", text, flags=re.MULTILINE)[1:]
    return {
        name: " ".join(line[2:].strip() for line in block.splitlines() if line.startswith("--"))
        for name, block in zip(parts[::2], parts[1::2], strict=True)
    }


def plan(db, sql: str) -> list[str]:
    """Without what foreign keys add: they look for children only where a parent's key goes, which slices do without."""
    db.execute("PRAGMA foreign_keys = OFF")
    apsw.allow_missing_dict_bindings(True)
    try:
        return [row[3] for row in db.execute(f"EXPLAIN QUERY PLAN {sql}", {})]
    finally:
        apsw.allow_missing_dict_bindings(False)


def test_every_statement_fits_the_schema(db):
    for file, name in EVERY_STATEMENT:
        if not statements(file)[name].startswith("PRAGMA"):
            plan(db, statements(file)[name])


def test_deleting_in_slices_looks_for_no_children_and_leaves_foreign_keys_on(db):
    db.execute(A_JOB)
    seen = []

    def trace(_cursor, statement, _bindings):
        seen.append(statement)
        return True

    db.exec_trace = trace
    assert slices.empty(db, 1) is False
    db.exec_trace = None
    assert seen[0] == "PRAGMA foreign_keys = OFF"
    assert db.pragma("foreign_keys") == 1


# What may read a whole table: small ones only, never items, records or commits.
SCANS = {
    ("jobs", "all_ids"): {"jobs"},
    ("jobs", "latest"): {"jobs"},
    ("jobs", "by_id"): {"jobs"},
    ("jobs", "interrupted"): {"jobs"},
    ("jobs", "forked_from"): {"jobs"},
}
TABLES = ["jobs", "runs", "chunks", "hosts", "items", "segments", "records", "tallies", "commits", "events"]


@pytest.mark.parametrize(("file", "name"), [each for each in EVERY_STATEMENT if each[0] != "check"])
def test_a_statement_never_reads_a_table_through(db, file, name):
    sql = statements(file)[name]
    aliases = dict.fromkeys(TABLES) | {table: table for table in TABLES}
    aliases |= {alias: table for table, alias in re.findall(r"(\w+) AS (\w+)", sql) if table in TABLES}
    scanned = set()
    for step in plan(db, sql):
        found = re.match(r"SCAN (\w+)(?: USING (?:COVERING )?INDEX (\w+))?", step)
        # A scan of a partial index reads what the index is about, and no more: chunks_claimed, say.
        if found and aliases.get(found[1]) and found[2] != "chunks_claimed":
            scanned.add(aliases[found[1]])
    assert scanned <= SCANS.get((file, name), set()), plan(db, sql)


@pytest.mark.parametrize(("file", "name"), [each for each in EVERY_STATEMENT if each[0] != "check"])
def test_a_statement_uses_the_index_that_its_comment_names(db, file, name):
    comment = described(file)[name]
    steps = " | ".join(plan(db, statements(file)[name]))
    indexes = {index for (index,) in db.execute("SELECT name FROM sqlite_schema WHERE type = 'index'")}
    for index in indexes if not statements(file)[name].startswith("INSERT") else ():
        if re.search(rf"\b{index}\b", comment):
            assert f"INDEX {index} " in f"{steps} ", steps


HOT = {
    "fence": "INTEGER PRIMARY KEY",
    "next_number": "INTEGER PRIMARY KEY",
    "settle": "SEARCH items USING INTEGER PRIMARY KEY",
    "rejudged": "SEARCH items USING INTEGER PRIMARY KEY",
    "unmet": "SEARCH i USING INDEX items_fingerprint (job_id=? AND run=? AND fingerprint=?)",
    "revived": "SEARCH items USING INTEGER PRIMARY KEY",
    "nearer": "SEARCH items USING INTEGER PRIMARY KEY",
    "host_changed": "SEARCH hosts USING INTEGER PRIMARY KEY",
    "tallied_less": "SEARCH tallies USING PRIMARY KEY",
    "counted": "INTEGER PRIMARY KEY",
    "noted": "INTEGER PRIMARY KEY",
    "take": "SEARCH i USING INDEX items_ready (chunk_id=? AND host_id=?)",
    "take_due": "items_waiting",
    "next_due": "SEARCH i USING INDEX items_waiting (chunk_id=? AND due_at>?)",
    "take_rejudged": "SEARCH i USING INDEX items_rejudge (chunk_id=?)",
    "outside": "SEARCH i USING COVERING INDEX items_outside (job_id=? AND run=? AND id>?)",
    "queued_hosts": "SEARCH h USING INDEX hosts_queued (chunk_id=? AND id>?)",
    "renew": "INTEGER PRIMARY KEY",
    "wish": "INTEGER PRIMARY KEY",
    "originals": "SEARCH r USING INDEX records_digest (job_id=? AND run=? AND digest=?)",
    "records": "SEARCH r USING PRIMARY KEY (job_id=? AND run=? AND item_id>? AND item_id<?)",
}


@pytest.mark.performance
@pytest.mark.parametrize("name", HOT)
def test_what_each_commit_or_take_runs_finds_its_rows_directly(db, name):
    sql = next(statements(file)[name] for file in ("ledger", "commit") if name in statements(file))
    steps = plan(db, sql)
    assert any(HOT[name] in step for step in steps), steps


@pytest.mark.performance
@pytest.mark.parametrize("name", ["take", "next_due", "take_rejudged", "outside", "queued_hosts", "records"])
def test_what_is_read_in_order_is_not_sorted_first(db, name):
    assert not [step for step in plan(db, statements("ledger")[name]) if "TEMP B-TREE" in step]
