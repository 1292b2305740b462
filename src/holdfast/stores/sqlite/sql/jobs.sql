-- Jobs as people see and steer them.

-- name: job
-- A job as its run stands, with that run's counters, summed over its chunks. Of an earlier run the row of runs says what
-- jobs says of the present one. Primary keys, index chunks_job.
SELECT j.id, j.public_id, j.kind, j.identity, j.name, j.owner, coalesce(n.spec, j.spec), coalesce(n.bounds, j.bounds),
       coalesce(n.status, j.status), iif(n.status IS NULL, j.reason, n.reason), iif(n.status IS NULL, j.desired, NULL),
       coalesce(n.phase, j.phase), n.run, coalesce(n.commit_no, j.commit_no), j.created_at,
       iif(n.status IS NULL, j.started_at, n.started_at), iif(n.status IS NULL, j.finished_at, n.finished_at),
       iif(n.status IS NULL, j.last_checkpoint_at, n.last_checkpoint_at), coalesce(n.active_s, j.active_s),
       coalesce(n.granted_s, j.granted_s), n.rescan_of,
       coalesce(sum(c.found), 0), coalesce(sum(c.queued), 0), coalesce(sum(c.done), 0), coalesce(sum(c.failed), 0),
       coalesce(sum(c.skipped), 0), coalesce(sum(c.redirected), 0), coalesce(sum(c.consulted), 0),
       coalesce(sum(c.bytes), 0), coalesce(sum(c.external), 0)
  FROM jobs AS j JOIN runs AS n ON n.job_id = j.id AND n.run = coalesce(:run, j.run)
  LEFT JOIN chunks AS c ON c.job_id = j.id AND c.run = n.run
 WHERE j.id = :job_id
 GROUP BY j.id;

-- name: all_ids
SELECT id FROM jobs WHERE changing IS NOT 'remove' ORDER BY id DESC;

-- name: latest
SELECT id FROM jobs WHERE changing IS NOT 'remove' ORDER BY id DESC LIMIT 1;

-- name: by_name
-- Index jobs_name.
SELECT id FROM jobs WHERE name = :reference AND changing IS NOT 'remove' ORDER BY id DESC LIMIT 1;

-- name: by_id
-- A whole id, its beginning or its end. Homes hold few jobs: a scan.
SELECT id, public_id FROM jobs
 WHERE (public_id = :reference OR substr(public_id, 1, length(:reference)) = :reference
        OR substr(public_id, -length(:reference)) = :reference) AND changing IS NOT 'remove'
 ORDER BY id DESC LIMIT 10;

-- name: by_identity
-- Index jobs_identity.
SELECT id FROM jobs WHERE identity = :identity AND changing IS NOT 'remove' ORDER BY id DESC LIMIT 1;

-- name: submit
INSERT INTO jobs (public_id, kind, identity, name, owner, spec, bounds, status, phase, created_at)
VALUES (:public_id, :kind, :identity, :name, :owner, :spec, :bounds, 'pending', :phase, :now)
RETURNING id;

-- name: chunk
INSERT INTO chunks (job_id, run, status) VALUES (:job_id, :run, 'pending') RETURNING id;

-- name: wish_pause
-- The check on desired keeps this to a job in progress.
UPDATE jobs SET desired = 'pause' WHERE id = :job_id AND status = 'in_progress';

-- name: fence_off
-- Whoever holds a chunk of the job is refused from here on.
UPDATE chunks
   SET status = :status, worker_id = NULL, epoch = epoch + 1, waiting_until = NULL, since_commit_s = 0
 WHERE job_id = :job_id AND run = (SELECT run FROM jobs WHERE id = :job_id) AND status <> 'completed';

-- name: set_status
UPDATE jobs
   SET status = :status, reason = :reason, desired = NULL, finished_at = iif(:finished, :now, NULL)
 WHERE id = :job_id;

-- name: chunks_pending
-- Back to work: the count of recoveries starts again.
UPDATE chunks
   SET status = 'pending', worker_id = NULL, claims_since_progress = 0, stalls_since_progress = 0
 WHERE job_id = :job_id AND run = (SELECT run FROM jobs WHERE id = :job_id);

-- name: count_anew
-- A person takes up what waits for a worker: the count of recoveries starts again. Index chunks_job.
UPDATE chunks
   SET claims_since_progress = 0, stalls_since_progress = 0
 WHERE job_id = :job_id AND run = (SELECT run FROM jobs WHERE id = :job_id) AND status = 'pending';

-- name: grant_time
-- The time limit counts anew from here. Primary key.
UPDATE jobs SET granted_s = active_s WHERE id = :job_id;

-- name: failed_seeds
-- The start items that failed or were forbidden, for a job that failed for want of a start page. Unique (job_id, run, fingerprint).
SELECT i.id, i.chunk_id, i.host_id, i.status, i.reason FROM items AS i
 WHERE i.job_id = :job_id AND i.run = (SELECT run FROM jobs WHERE id = :job_id)
   AND i.depth = 0 AND (i.status = 'failed' OR (i.status = 'skipped' AND i.reason = 'robots'));

-- name: failed_between
-- Of a slice of the items, those that failed; the bounds as they are now don't shut them out. Primary key.
SELECT i.id, i.chunk_id, i.host_id, i.status, i.reason, i.url
  FROM items AS i NOT INDEXED JOIN jobs AS j ON j.id = i.job_id AND j.run = i.run
 WHERE i.id > :after AND i.id <= :until AND i.job_id = :job_id AND i.status = 'failed'
   AND (:max_depth IS NULL OR i.depth <= :max_depth);

-- name: failures
-- A page of what failed, with the commit that said so and the page it was found on. Primary key: other jobs' items are
-- read, too.
SELECT i.id, i.url, i.reason, i.attempts, i.depth, k.at, p.url
  FROM items AS i NOT INDEXED JOIN jobs AS j ON j.id = i.job_id AND i.run = coalesce(:run, j.run)
  LEFT JOIN commits AS k ON k.job_id = i.job_id AND k.run = i.run AND k.number = i.settled_commit
  LEFT JOIN items AS p ON p.id = i.parent_id
 WHERE i.id > :after AND i.id <= :until AND i.job_id = :job_id AND i.status = 'failed'
 ORDER BY i.id;

-- name: lay_aside
-- What the failures' records point to stays in its segment, and is remembered as nobody's. Primary keys.
INSERT INTO laid_aside (segment_id, start)
SELECT segment_id, start FROM records
 WHERE job_id = :job_id AND run = (SELECT run FROM jobs WHERE id = :job_id)
   AND item_id IN (SELECT value FROM json_each(:ids)) AND segment_id IS NOT NULL;

-- name: drop_failures
DELETE FROM records WHERE job_id = :job_id AND run = (SELECT run FROM jobs WHERE id = :job_id)
   AND item_id IN (SELECT value FROM json_each(:ids));

-- name: reopen
-- Pending, as if it had never been tried. Primary key.
UPDATE items SET status = 'pending', reason = NULL, settled_commit = NULL, attempts = 0, due_at = NULL
 WHERE id IN (SELECT value FROM json_each(:ids));

-- name: reopened
-- Commits have settled more than stands settled by them. Index chunks_job.
UPDATE chunks SET reopened = 1 WHERE job_id = :job_id AND run = (SELECT run FROM jobs WHERE id = :job_id);

-- name: begin_run
-- Primary key.
INSERT INTO runs (job_id, run, kind, after_commit, base_job, base_run, base_commit, rescan_of)
VALUES (:job_id, :run, :kind, :after_commit, :base_job, :base_run, :base_commit, :rescan_of);

-- name: forked_from
-- Whether a fork of that job is under way. Homes hold few jobs: a scan.
SELECT 1 FROM jobs WHERE changing = 'fork' AND plan ->> 'base_public' = :public_id LIMIT 1;

-- name: runs
-- Primary key.
SELECT run, kind, after_commit, base_job, base_run, base_commit, rescan_of FROM runs WHERE job_id = :job_id ORDER BY run;

-- name: set_bounds
UPDATE jobs SET bounds = :bounds, spec = :spec WHERE id = :job_id;

-- name: changing
UPDATE jobs SET changing = :changing, plan = NULL WHERE id = :job_id;

-- name: planned
-- A change begins, or has come further, with what it needs to go on. Primary key.
UPDATE jobs SET changing = :changing, plan = :plan WHERE id = :job_id;

-- name: plan
-- Primary key.
SELECT plan FROM jobs WHERE id = :job_id;

-- name: which_change
SELECT changing FROM jobs WHERE id = :job_id;

-- name: standings
-- Of a slice of the items, those that rules may move, and those that are done. Primary key.
SELECT i.id, i.url, i.depth, i.kind, i.status, i.reason, i.attempts > 0
  FROM items AS i NOT INDEXED JOIN jobs AS j ON j.id = i.job_id AND j.run = i.run
 WHERE i.id > :after AND i.id <= :until AND i.job_id = :job_id AND i.status IN ('pending', 'skipped', 'done');

-- name: hosts_with_work
-- Index chunks_job, then hosts_queued.
SELECT h.id FROM jobs AS j JOIN chunks AS c ON c.job_id = j.id AND c.run = j.run
 CROSS JOIN hosts AS h ON h.chunk_id = c.id AND h.queued > 0
 WHERE j.id = :job_id ORDER BY h.id LIMIT :limit;

-- name: next_of_host
-- As a worker would take them. Primary key of hosts, index items_ready.
SELECT i.id, i.url, i.depth, i.kind, i.status, i.reason, 0
  FROM hosts AS h JOIN items AS i
    ON i.chunk_id = h.chunk_id AND i.host_id = h.id AND i.status = 'pending' AND i.due_at IS NULL
 WHERE h.id = :host_id ORDER BY i.depth, i.id LIMIT :limit;

-- name: movers
-- Those of the items that still stand where they were seen. Primary key.
SELECT i.id, i.chunk_id, i.host_id, i.status, iif(i.status = 'pending', '', i.reason), m.value ->> 3,
       i.status <> 'pending' AND i.attempts > 0
  FROM json_each(:moves) AS m CROSS JOIN items AS i ON i.id = m.value ->> 0
 WHERE i.status = m.value ->> 1 AND (i.status = 'pending' OR i.reason IS m.value ->> 2);

-- name: moved
-- As if they had been found under the rules as they are now: never tried, so that another finding may let in what is
-- shut out. Primary key.
UPDATE items
   SET status = iif(m.value ->> 1 IS NULL, 'pending', 'skipped'), reason = m.value ->> 1, attempts = 0, due_at = NULL,
       settled_commit = iif(m.value ->> 1 IS NULL, NULL, :number)
  FROM json_each(:moves) AS m
 WHERE items.id = m.value ->> 0;

-- name: relinked
-- Of a slice of the items, what was settled by its links has them judged again. A redirect at depth 0 leads to what is a
-- start URL itself. Primary keys.
UPDATE items SET rejudge = 1
 WHERE id > :after AND id <= :until AND job_id = :job_id
   AND run = (SELECT run FROM jobs WHERE id = :job_id)
   AND (status IN ('done', 'consulted') OR (status = 'redirected' AND depth > 0))
   AND EXISTS (SELECT 1 FROM records AS r
                WHERE r.job_id = items.job_id AND r.run = items.run AND r.item_id = items.id);

-- name: first_chunk
-- Index chunks_job.
SELECT c.id, c.run, c.deepest, j.commit_no FROM jobs AS j JOIN chunks AS c ON c.job_id = j.id AND c.run = j.run
 WHERE j.id = :job_id ORDER BY c.id LIMIT 1;

-- name: new_run
UPDATE jobs
   SET run = run + 1, status = 'pending', reason = NULL, desired = NULL, phase = :phase, changing = NULL, plan = NULL,
       started_at = NULL, finished_at = NULL, last_checkpoint_at = NULL, active_s = 0, granted_s = 0
 WHERE id = :job_id
RETURNING run, commit_no;

-- name: slice_records
DELETE FROM records WHERE (job_id, run, item_id, ordinal) IN
    (SELECT job_id, run, item_id, ordinal FROM records
      WHERE job_id = :job_id AND run BETWEEN :first AND :last LIMIT :slice);

-- name: slice_items
DELETE FROM items WHERE id IN
    (SELECT id FROM items WHERE job_id = :job_id AND run BETWEEN :first AND :last LIMIT :slice);

-- name: slice_commits
DELETE FROM commits WHERE (job_id, run, number) IN
    (SELECT job_id, run, number FROM commits
      WHERE job_id = :job_id AND run BETWEEN :first AND :last LIMIT :slice);

-- name: slice_hosts
DELETE FROM hosts WHERE id IN
    (SELECT h.id FROM hosts AS h JOIN chunks AS c ON c.id = h.chunk_id
      WHERE c.job_id = :job_id AND c.run BETWEEN :first AND :last LIMIT :slice);

-- name: slice_tallies
DELETE FROM tallies WHERE chunk_id IN
    (SELECT id FROM chunks WHERE job_id = :job_id AND run BETWEEN :first AND :last);

-- name: slice_laid_aside
DELETE FROM laid_aside WHERE (segment_id, start) IN
    (SELECT l.segment_id, l.start FROM segments AS s JOIN laid_aside AS l ON l.segment_id = s.id
      WHERE s.job_id = :job_id AND s.run BETWEEN :first AND :last LIMIT :slice);

-- name: slice_streams
DELETE FROM streams WHERE job_id = :job_id AND run BETWEEN :first AND :last;

-- name: slice_segments
DELETE FROM segments WHERE job_id = :job_id AND run BETWEEN :first AND :last;

-- name: slice_chunks
DELETE FROM chunks WHERE job_id = :job_id AND run BETWEEN :first AND :last;

-- name: no_events
DELETE FROM events WHERE job_id = :job_id;

-- name: no_runs
-- But for the present one, by which the job is still read.
DELETE FROM runs WHERE job_id = :job_id AND run <> (SELECT run FROM jobs WHERE id = :job_id);

-- name: not_even_one
DELETE FROM runs WHERE job_id = :job_id;

-- name: remove_job
DELETE FROM jobs WHERE id = :job_id;

-- name: holder
-- Index chunks_job.
SELECT c.job_id, c.id, c.epoch, c.beat, c.seq, c.worker_id, c.waiting_until, j.public_id, c.claims_since_progress
  FROM chunks AS c JOIN jobs AS j ON j.id = c.job_id AND j.run = c.run
 WHERE c.job_id = :job_id AND c.status = 'in_progress' ORDER BY c.id LIMIT 1;

-- name: tallies
SELECT t.status, t.reason, sum(t.count) AS n
  FROM tallies AS t JOIN chunks AS c ON c.id = t.chunk_id JOIN jobs AS j ON j.id = c.job_id AND c.run = coalesce(:run, j.run)
 WHERE j.id = :job_id GROUP BY 1, 2 HAVING n > 0 ORDER BY n DESC;

-- name: hosts
-- The largest, those with items queued before the others, all phases together. Index chunks_job, unique
-- (chunk_id, name, stage).
SELECT h.name, sum(h.queued), sum(h.settled), max(h.due_at)
  FROM hosts AS h JOIN chunks AS c ON c.id = h.chunk_id JOIN jobs AS j ON j.id = c.job_id AND c.run = coalesce(:run, j.run)
 WHERE j.id = :job_id
 GROUP BY h.chunk_id, h.name ORDER BY sum(h.queued) > 0 DESC, sum(h.settled + h.queued) DESC, min(h.id) LIMIT :limit;

-- name: statuses
-- Answers that settled an item, by HTTP status: tallied, not counted. Index chunks_job.
SELECT CAST(substr(t.reason, 6) AS INTEGER), sum(t.count) AS n
  FROM tallies AS t JOIN chunks AS c ON c.id = t.chunk_id JOIN jobs AS j ON j.id = c.job_id AND c.run = coalesce(:run, j.run)
 WHERE j.id = :job_id AND t.reason GLOB 'http_[0-9][0-9][0-9]'
 GROUP BY 1 HAVING n > 0 ORDER BY n DESC;

-- name: checkpoints
SELECT c.number, c.chunk_id, c.epoch, c.seq, c.reason, c.at, c.items, c.depth, c.counters, s.name, coalesce(c.until, 0)
  FROM commits AS c LEFT JOIN segments AS s ON s.id = c.segment_id
 WHERE c.job_id = :job_id AND c.run = coalesce(:run, (SELECT run FROM jobs WHERE id = :job_id))
 ORDER BY c.number DESC LIMIT :limit;

-- name: events
SELECT id, at, kind, detail FROM events WHERE job_id = :job_id ORDER BY id DESC LIMIT :limit;

-- name: pauses
-- Since when the job is paused (null: it isn't), and how long it was before: each pause ends with the next event.
-- Index events_job.
SELECT max(p.at) FILTER (WHERE p.until IS NULL), coalesce(sum(max(0.0, p.until - p.at)), 0.0)
  FROM (SELECT kind, at, lead(at) OVER (ORDER BY id) AS until
          FROM events WHERE job_id = :job_id AND kind IN ('paused', 'resumed', 'cancelled')) AS p
 WHERE p.kind = 'paused';

-- name: last_item
-- Primary key.
SELECT coalesce(max(id), 0) FROM items;

-- name: urls_between
-- A slice of the addresses with where they stand, in the order of their discovery. Primary key: other jobs' items in
-- that range are read, too, but the slice is never longer than asked.
SELECT url, status, reason FROM items NOT INDEXED
 WHERE id > :after AND id <= :until
   AND job_id = :job_id AND run = coalesce(:run, (SELECT run FROM jobs WHERE id = :job_id))
 ORDER BY id;

-- name: sorts_between
-- A slice of the items, counted by sort; of each sort the address that was found first. Primary key, as above.
SELECT min(depth, :deepest) AS depth, status, iif(status = 'pending', '', coalesce(reason, '')) AS why, count(*), min(id), url
  FROM items NOT INDEXED
 WHERE id > :after AND id <= :until
   AND job_id = :job_id AND run = (SELECT run FROM jobs WHERE id = :job_id)
 GROUP BY 1, 2, 3;

-- name: present_depth
SELECT coalesce(max(depth), 0) FROM chunks WHERE job_id = :job_id AND run = coalesce(:run, (SELECT run FROM jobs WHERE id = :job_id));

-- name: interrupted
-- Homes hold few jobs: a scan.
SELECT id, changing FROM jobs WHERE changing IS NOT NULL;

-- name: commit_no
-- Primary key.
SELECT commit_no FROM jobs WHERE id = :job_id;

-- name: sizes
SELECT coalesce(sum(size), 0) FROM records
 WHERE job_id = :job_id AND run = (SELECT run FROM jobs WHERE id = :job_id)
   AND item_id IN (SELECT value FROM json_each(:ids));
