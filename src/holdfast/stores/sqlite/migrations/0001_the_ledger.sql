-- The ledger of a home. docs/explanation/ledger.md tells its story.

CREATE TABLE jobs (
    -- Never used again: a zombie of a removed job must not meet its number on a new one.
    id                 INTEGER PRIMARY KEY AUTOINCREMENT,
    public_id          TEXT    NOT NULL UNIQUE,
    kind               TEXT    NOT NULL,
    identity           TEXT    NOT NULL,
    name               TEXT,
    owner              TEXT    NOT NULL DEFAULT '',
    spec               TEXT    NOT NULL CHECK (json_valid(spec)),
    bounds             TEXT    NOT NULL CHECK (json_valid(bounds)),
    status             TEXT    NOT NULL CHECK (status IN
                         ('pending', 'in_progress', 'paused', 'completed', 'failed', 'timeout', 'cancelled')),
    reason             TEXT,
    desired            TEXT    CHECK (desired IN ('pause')),
    -- A change of millions of rows is under way in slices; nobody may claim until it is through.
    changing           TEXT    CHECK (changing IN ('remove', 'restart', 'bounds', 'retry', 'rescan', 'rollback', 'fork')),
    -- What that change needs to be carried to its end, and how far it has come.
    plan               TEXT    CHECK (json_valid(plan)),
    phase              TEXT    NOT NULL,
    run                INTEGER NOT NULL DEFAULT 1 CHECK (run >= 1),
    commit_no          INTEGER NOT NULL DEFAULT 0 CHECK (commit_no >= 0),
    created_at         REAL    NOT NULL,
    started_at         REAL,
    finished_at        REAL,
    last_checkpoint_at REAL,
    active_s           REAL    NOT NULL DEFAULT 0 CHECK (active_s >= 0),
    granted_s          REAL    NOT NULL DEFAULT 0 CHECK (granted_s >= 0),
    CHECK (desired IS NULL OR status = 'in_progress'),
    CHECK (plan IS NULL OR changing IS NOT NULL)
) STRICT;
CREATE INDEX jobs_identity ON jobs (identity, id);
CREATE INDEX jobs_name ON jobs (name, id) WHERE name IS NOT NULL;

-- What a job's chunks, items, records, segments and commits stand under. Only the job's present run is ever worked on; an
-- earlier one is never written again.
CREATE TABLE runs (
    job_id             INTEGER NOT NULL REFERENCES jobs (id),
    run                INTEGER NOT NULL CHECK (run >= 1),
    kind               TEXT    NOT NULL CHECK (kind IN ('crawl', 'restart', 'rescan', 'rollback', 'fork')),
    -- The job's last commit when it began: its own have greater numbers, those that it was given have lesser ones.
    after_commit       INTEGER NOT NULL CHECK (after_commit >= 0),
    -- What it was made from: a run as it was at a commit. A fork's is another job's, whose id stands beside it.
    base_job           TEXT,
    base_run           INTEGER,
    base_commit        INTEGER,
    -- The run whose pages it asks for again, by their validators.
    rescan_of          INTEGER,
    -- As the job stood when the next run began. Null of the present run: jobs says it.
    status             TEXT,
    reason             TEXT,
    phase              TEXT,
    spec               TEXT    CHECK (json_valid(spec)),
    bounds             TEXT    CHECK (json_valid(bounds)),
    commit_no          INTEGER,
    started_at         REAL,
    finished_at        REAL,
    last_checkpoint_at REAL,
    active_s           REAL,
    granted_s          REAL,
    PRIMARY KEY (job_id, run),
    CHECK ((base_run IS NULL) = (kind NOT IN ('rollback', 'fork'))),
    CHECK (kind <> 'rescan' OR rescan_of IS NOT NULL),
    CHECK ((status IS NULL) = (commit_no IS NULL) AND (status IS NULL) = (bounds IS NULL))
) STRICT, WITHOUT ROWID;

CREATE TABLE chunks (
    id                    INTEGER PRIMARY KEY AUTOINCREMENT,
    job_id                INTEGER NOT NULL REFERENCES jobs (id),
    run                   INTEGER NOT NULL,
    status                TEXT    NOT NULL CHECK (status IN
                            ('pending', 'in_progress', 'paused', 'completed', 'failed', 'timeout', 'cancelled')),
    seq                   INTEGER NOT NULL DEFAULT 0 CHECK (seq >= 0),
    epoch                 INTEGER NOT NULL DEFAULT 0 CHECK (epoch >= 0),
    worker_id             TEXT,
    beat                  INTEGER NOT NULL DEFAULT 0,
    waiting_until         REAL,
    -- Active time since the last commit, as the last renewal knew it: counted if this claim never commits again.
    since_commit_s        REAL    NOT NULL DEFAULT 0 CHECK (since_commit_s >= 0),
    claims_since_progress INTEGER NOT NULL DEFAULT 0 CHECK (claims_since_progress >= 0),
    stalls_since_progress INTEGER NOT NULL DEFAULT 0 CHECK (stalls_since_progress >= 0),
    recovered             INTEGER NOT NULL DEFAULT 0 CHECK (recovered IN (0, 1)),
    cautious_left         INTEGER NOT NULL DEFAULT 0 CHECK (cautious_left >= 0),
    marked_item           INTEGER,
    marked_epoch          INTEGER,
    marked_deaths         INTEGER NOT NULL DEFAULT 0,
    marked_silent         INTEGER NOT NULL DEFAULT 0,
    cursor                TEXT    NOT NULL DEFAULT '{}' CHECK (json_valid(cursor)),
    depth                 INTEGER NOT NULL DEFAULT 0,
    -- The greatest depth at which anything was found: what is found as deep or deeper is nearer than nothing.
    deepest               INTEGER NOT NULL DEFAULT 0,
    found                 INTEGER NOT NULL DEFAULT 0 CHECK (found >= 0),
    queued                INTEGER NOT NULL DEFAULT 0 CHECK (queued >= 0),
    done                  INTEGER NOT NULL DEFAULT 0 CHECK (done >= 0),
    failed                INTEGER NOT NULL DEFAULT 0 CHECK (failed >= 0),
    skipped               INTEGER NOT NULL DEFAULT 0 CHECK (skipped >= 0),
    redirected            INTEGER NOT NULL DEFAULT 0 CHECK (redirected >= 0),
    consulted             INTEGER NOT NULL DEFAULT 0 CHECK (consulted >= 0),
    bytes                 INTEGER NOT NULL DEFAULT 0 CHECK (bytes >= 0),
    external              INTEGER NOT NULL DEFAULT 0 CHECK (external >= 0),
    -- Items moved since the last commit without one (new bounds, a repair): its counters are not the chunk's.
    moved                 INTEGER NOT NULL DEFAULT 0 CHECK (moved IN (0, 1)),
    -- Items that a commit had settled were opened again (a repair, a second try of the start pages).
    reopened              INTEGER NOT NULL DEFAULT 0 CHECK (reopened IN (0, 1)),
    -- Each finding is in exactly one place: the counters can't drift without this row being refused.
    CHECK (found = queued + done + failed + skipped + redirected + consulted),
    CHECK ((worker_id IS NOT NULL) = (status = 'in_progress'))
) STRICT;
CREATE INDEX chunks_job ON chunks (job_id, run);
CREATE INDEX chunks_claimed ON chunks (id) WHERE status = 'in_progress';

CREATE TABLE hosts (
    id       INTEGER PRIMARY KEY,
    chunk_id INTEGER NOT NULL REFERENCES chunks (id),
    name     TEXT    NOT NULL,
    -- Its items wait for the phase of this number: a phase's queue of a host is a row of its own, so that items needn't say.
    stage    INTEGER NOT NULL DEFAULT 0 CHECK (stage >= 0),
    queued   INTEGER NOT NULL DEFAULT 0 CHECK (queued >= 0),
    settled  INTEGER NOT NULL DEFAULT 0 CHECK (settled >= 0),
    -- Pages that were had of it, and the bytes of their bodies: what its budget is counted by.
    pages    INTEGER NOT NULL DEFAULT 0 CHECK (pages >= 0),
    bytes    INTEGER NOT NULL DEFAULT 0 CHECK (bytes >= 0),
    -- It gave a response once: if it is silent later, that is its outage and not its items' fault.
    answered INTEGER NOT NULL DEFAULT 0 CHECK (answered IN (0, 1)),
    due_at   REAL,
    UNIQUE (chunk_id, name, stage)
) STRICT;
CREATE INDEX hosts_queued ON hosts (chunk_id, id) WHERE queued > 0;

CREATE TABLE items (
    id             INTEGER PRIMARY KEY,
    job_id         INTEGER NOT NULL REFERENCES jobs (id),
    run            INTEGER NOT NULL,
    chunk_id       INTEGER NOT NULL REFERENCES chunks (id),
    host_id        INTEGER NOT NULL REFERENCES hosts (id),
    kind           TEXT    NOT NULL,
    fingerprint    BLOB    NOT NULL CHECK (length(fingerprint) = 16),
    url            TEXT    NOT NULL,
    depth          INTEGER NOT NULL CHECK (depth >= 0),
    parent_id      INTEGER,
    status         TEXT    NOT NULL CHECK (status IN
                     ('pending', 'done', 'failed', 'skipped', 'redirected', 'consulted')),
    reason         TEXT,
    attempts       INTEGER NOT NULL DEFAULT 0,
    due_at         REAL,
    rejudge        INTEGER CHECK (rejudge = 1),
    found_commit   INTEGER NOT NULL,
    settled_commit INTEGER,
    -- When it changed last, as a sitemap says.
    lastmod        TEXT,
    CHECK ((status = 'pending') = (settled_commit IS NULL)),
    CHECK (due_at IS NULL OR status = 'pending'),
    CHECK (rejudge IS NULL OR status IN ('done', 'redirected', 'consulted'))
) STRICT;
-- No address stands twice in a run, whatever happens.
CREATE UNIQUE INDEX items_fingerprint ON items (job_id, run, fingerprint);
-- What was skipped when it was found, and may be admitted when it is found again.
CREATE INDEX items_revivable ON items (job_id, run, fingerprint) WHERE status = 'skipped' AND attempts = 0;
CREATE INDEX items_ready ON items (chunk_id, host_id, depth, id) WHERE status = 'pending' AND due_at IS NULL;
CREATE INDEX items_waiting ON items (chunk_id, due_at, id) WHERE due_at IS NOT NULL;
CREATE INDEX items_rejudge ON items (chunk_id, id) WHERE rejudge = 1;
-- What is out of scope: only so much of it is kept, and each claim has to know what that is.
CREATE INDEX items_outside ON items (job_id, run, id, url) WHERE status = 'skipped' AND reason = 'external';

-- What a run has of a file. Runs of a job may share one, each up to its own committed length.
CREATE TABLE segments (
    id        INTEGER PRIMARY KEY,
    job_id    INTEGER NOT NULL REFERENCES jobs (id),
    run       INTEGER NOT NULL,
    chunk_id  INTEGER NOT NULL REFERENCES chunks (id),
    epoch     INTEGER NOT NULL,
    name      TEXT    NOT NULL,
    committed INTEGER NOT NULL CHECK (committed >= 0),
    synced    INTEGER NOT NULL DEFAULT 0 CHECK (synced >= 0),
    -- An earlier run's, for the bodies in it that this run's revisits stand for: its responses are none of this run's.
    lent      INTEGER NOT NULL DEFAULT 0 CHECK (lent IN (0, 1)),
    UNIQUE (job_id, run, name)
) STRICT;

CREATE TABLE records (
    item_id          INTEGER NOT NULL REFERENCES items (id),
    ordinal          INTEGER NOT NULL,
    job_id           INTEGER NOT NULL REFERENCES jobs (id),
    run              INTEGER NOT NULL,
    commit_no        INTEGER NOT NULL,
    kind             TEXT    NOT NULL,
    data             TEXT    NOT NULL CHECK (json_valid(data)),
    size             INTEGER NOT NULL DEFAULT 0,
    segment_id       INTEGER REFERENCES segments (id),
    start            INTEGER,
    length           INTEGER,
    digest           BLOB    CHECK (length(digest) = 32),
    body_segment_id  INTEGER REFERENCES segments (id),
    body_start       INTEGER,
    body_length      INTEGER,
    PRIMARY KEY (job_id, run, item_id, ordinal),
    CHECK ((segment_id IS NULL) = (start IS NULL) AND (segment_id IS NULL) = (digest IS NULL)),
    CHECK ((body_segment_id IS NULL) = (body_start IS NULL))
) STRICT, WITHOUT ROWID;
CREATE INDEX records_place ON records (segment_id, start) WHERE segment_id IS NOT NULL;
CREATE INDEX records_revisits ON records (body_segment_id, body_start) WHERE body_segment_id IS NOT NULL;
CREATE INDEX records_digest ON records (job_id, run, digest) WHERE digest IS NOT NULL AND body_segment_id IS NULL;

-- Stored responses whose rows were given up (a repair, a retry) while their bytes stay: `verify` asks about them.
CREATE TABLE laid_aside (
    segment_id INTEGER NOT NULL REFERENCES segments (id),
    start      INTEGER NOT NULL,
    PRIMARY KEY (segment_id, start)
) STRICT, WITHOUT ROWID;

-- Files of rows outside of the home that grow with a job's commits: so much of each was written, and what it holds.
CREATE TABLE streams (
    job_id    INTEGER NOT NULL REFERENCES jobs (id),
    path      TEXT    NOT NULL,
    run       INTEGER NOT NULL,
    commit_no INTEGER NOT NULL CHECK (commit_no >= 0),
    bytes     INTEGER NOT NULL CHECK (bytes >= 0),
    crc       INTEGER NOT NULL,
    rows      INTEGER NOT NULL CHECK (rows >= 0),
    PRIMARY KEY (job_id, path)
) STRICT, WITHOUT ROWID;

CREATE TABLE tallies (
    chunk_id INTEGER NOT NULL REFERENCES chunks (id),
    status   TEXT    NOT NULL,
    reason   TEXT    NOT NULL,
    count    INTEGER NOT NULL CHECK (count >= 0),
    PRIMARY KEY (chunk_id, status, reason)
) STRICT, WITHOUT ROWID;

CREATE TABLE commits (
    job_id     INTEGER NOT NULL REFERENCES jobs (id),
    number     INTEGER NOT NULL,
    run        INTEGER NOT NULL,
    chunk_id   INTEGER NOT NULL REFERENCES chunks (id),
    epoch      INTEGER NOT NULL,
    seq        INTEGER NOT NULL,
    reason     TEXT    NOT NULL,
    at         REAL    NOT NULL,
    items      INTEGER NOT NULL,
    -- How many of the items it left unsettled: put off, or their links judged again.
    unsettled  INTEGER NOT NULL DEFAULT 0 CHECK (unsettled BETWEEN 0 AND items),
    depth      INTEGER NOT NULL,
    counters   TEXT    NOT NULL,
    segment_id INTEGER REFERENCES segments (id),
    start      INTEGER,
    until      INTEGER,
    crc        INTEGER,
    -- The pipeline's notes from this commit on; null: as before.
    cursor     TEXT    CHECK (json_valid(cursor)),
    -- A run that was made from another one has that one's commits under their own numbers.
    PRIMARY KEY (job_id, run, number),
    UNIQUE (chunk_id, seq)
) STRICT, WITHOUT ROWID;
CREATE INDEX commits_span ON commits (segment_id, start) WHERE segment_id IS NOT NULL;

CREATE TABLE events (
    id     INTEGER PRIMARY KEY,
    job_id INTEGER NOT NULL REFERENCES jobs (id),
    at     REAL    NOT NULL,
    kind   TEXT    NOT NULL,
    detail TEXT    NOT NULL DEFAULT ''
) STRICT;
CREATE INDEX events_job ON events (job_id, id);
