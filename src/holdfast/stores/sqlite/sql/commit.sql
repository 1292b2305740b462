-- The one transaction. New rows are bound one by one (`executemany`), which was measured to cost half of a JSON array;
-- sets of rows that are looked for, or changed, come in as JSON arrays.

-- name: fence
-- Takes the chunk from seq to seq + 1, for the claim that holds it and for nobody else. Primary key.
UPDATE chunks
   SET seq = seq + 1, since_commit_s = 0
 WHERE id = :chunk_id AND epoch = :epoch AND seq = :seq AND status = 'in_progress'
RETURNING seq, deepest;

-- name: next_number
-- The job-wide commit number, and what a person wants meanwhile. Primary key.
UPDATE jobs
   SET commit_no = commit_no + 1,
       last_checkpoint_at = :at,
       active_s = active_s + :active_s,
       phase = coalesce(:phase, phase)
 WHERE id = :job_id
RETURNING commit_no, desired;

-- name: settle
-- Outcomes. Only a pending item can be settled or put off: the count of rows is checked. One that came nearer while
-- it was in hand had its links judged from too deep: they are to be judged again. Primary key.
UPDATE items
   SET status = o.value ->> 1,
       reason = o.value ->> 2,
       due_at = o.value ->> 3,
       attempts = attempts + (o.value ->> 5),
       rejudge = iif((o.value ->> 1) IN ('done', 'redirected', 'consulted') AND depth < (o.value ->> 4), 1, NULL),
       settled_commit = CASE WHEN (o.value ->> 1) = 'pending' THEN NULL ELSE :number END
  FROM json_each(:outcomes) AS o
 WHERE items.id = o.value ->> 0 AND items.status = 'pending';

-- name: rejudged
-- Their links were judged again, from the depth at which they still stand. Primary key.
UPDATE items SET rejudge = NULL
  FROM json_each(:items) AS j
 WHERE items.id = j.value ->> 0 AND items.depth = j.value ->> 1;

-- name: hosts_named
-- Gives each host of the findings a row and an id, in each phase that has any of them. Unique (chunk_id, name, stage).
INSERT INTO hosts (chunk_id, name, stage)
SELECT :chunk_id, value ->> 0, value ->> 1 FROM json_each(:names) WHERE true
    ON CONFLICT (chunk_id, name, stage) DO UPDATE SET name = excluded.name
RETURNING id, name, stage;

-- name: unmet
-- The findings that change anything: new ones (id null), and known ones that are nearer now or no longer to be skipped.
-- One row with all of them. Unique (job_id, run, fingerprint) and items_revivable answer for nearly all findings: the
-- item itself is read only where the finding is nearer than the deepest there is.
SELECT json_group_array(json_array(f.key, i.id, i.status, i.reason, i.depth, i.host_id, i.attempts))
  FROM json_each(:found) AS f
  LEFT JOIN items AS i
    ON i.job_id = :job_id AND i.run = :run AND i.fingerprint = unhex(f.value ->> 0)
 WHERE i.id IS NULL
    OR ((f.value ->> 1) < :deepest AND (f.value ->> 1) < i.depth)
    OR ((f.value ->> 2)
        AND EXISTS (SELECT 1 FROM items AS s INDEXED BY items_revivable
                     WHERE s.job_id = :job_id AND s.run = :run AND s.fingerprint = unhex(f.value ->> 0)
                       AND s.status = 'skipped' AND s.attempts = 0));

-- name: discovered
-- A new item. A fingerprint that is there already is an error, never ignored.
INSERT INTO items (job_id, run, chunk_id, host_id, kind, fingerprint, url, depth, parent_id, status, reason,
                   lastmod, found_commit, settled_commit)
VALUES (:job_id, :run, :chunk_id, :host_id, :kind, :fingerprint, :url, :depth, :parent_id,
        iif(:skip IS NULL, 'pending', 'skipped'), :skip, :lastmod, :number, iif(:skip IS NULL, NULL, :number));

-- name: revived
-- What was skipped and is admitted now. Primary key.
UPDATE items
   SET status = 'pending', reason = NULL, depth = r.value ->> 1, parent_id = r.value ->> 2, settled_commit = NULL
  FROM json_each(:items) AS r
 WHERE items.id = r.value ->> 0 AND items.status = 'skipped';

-- name: dated
-- When known addresses changed last, as whoever names them now says. Unique (job_id, run, fingerprint).
UPDATE items
   SET lastmod = d.value ->> 1
  FROM json_each(:dates) AS d
 WHERE items.job_id = :job_id AND items.run = :run AND items.fingerprint = unhex(d.value ->> 0);

-- name: nearer
-- The lesser depth is kept; what has a stored body is to have its links judged again. Primary key.
UPDATE items
   SET depth = r.value ->> 1, rejudge = iif(r.value ->> 2, 1, rejudge)
  FROM json_each(:items) AS r
 WHERE items.id = r.value ->> 0;

-- name: widened
-- The scope grew: all that was settled by its links has them judged again, this batch included. A redirect at depth 0
-- leads to what is a start URL itself. It reads every row of the run, a few times in a job. Primary keys.
UPDATE items SET rejudge = 1
 WHERE id IN (SELECT item_id FROM records WHERE job_id = :job_id AND run = :run)
   AND (status IN ('done', 'consulted') OR (status = 'redirected' AND depth > 0));

-- name: segment
-- How far the segment is committed. The first commit into it makes its row. Unique (job_id, run, name).
INSERT INTO segments (job_id, run, chunk_id, epoch, name, committed, synced)
VALUES (:job_id, :run, :chunk_id, :epoch, :name, :until, iif(:synced, :until, 0))
    ON CONFLICT (job_id, run, name) DO UPDATE
   SET committed = excluded.committed, synced = max(synced, excluded.synced)
 WHERE segments.committed = :start AND segments.epoch = excluded.epoch
RETURNING id;

-- name: record
-- A result row with the place of its evidence. Primary key: no page stands twice.
INSERT INTO records (item_id, ordinal, job_id, run, commit_no, kind, data, size, segment_id, start, length, digest,
                     body_segment_id, body_start, body_length)
VALUES (:item_id, :ordinal, :job_id, :run, :number, :kind, :data, :size, :segment_id, :start, :length, :digest,
        iif(:body IS NULL, NULL, (SELECT id FROM segments WHERE job_id = :job_id AND run = :run AND name = :body)),
        :body_start, :body_length);

-- name: host_changed
-- Queue lengths, what its budget is counted by, durable politeness, and whether it ever answered. Primary key.
UPDATE hosts
   SET queued = queued + :queued,
       settled = settled + :settled,
       pages = pages + :pages,
       bytes = bytes + :bytes,
       answered = max(answered, :answered),
       due_at = coalesce(:due_at, due_at)
 WHERE id = :host_id;

-- name: tallied_less
-- Items that left a status and reason; the row is there, or there would be none to leave. Primary key.
UPDATE tallies SET count = count + :count
 WHERE chunk_id = :chunk_id AND status = :status AND reason = :reason;

-- name: tallied_more
-- Items that came to a status and reason. Primary key.
INSERT INTO tallies (chunk_id, status, reason, count) VALUES (:chunk_id, :status, :reason, :count)
    ON CONFLICT (chunk_id, status, reason) DO UPDATE SET count = tallies.count + excluded.count;

-- name: counted
-- The chunk's counters, raised here and nowhere else. Until a commit notes them (`noted`), they are no commit's. Primary
-- key.
UPDATE chunks
   SET found = found + :found, queued = queued + :queued, done = done + :done, failed = failed + :failed,
       skipped = skipped + :skipped, redirected = redirected + :redirected,
       consulted = consulted + :consulted, bytes = bytes + :bytes, external = external + :external,
       moved = 1,
       depth = max(depth, :depth),
       deepest = max(deepest, :deepest)
 WHERE id = :chunk_id
RETURNING found, queued, done, failed, skipped, redirected, consulted, bytes, external, depth;

-- name: noted
-- What the next claim should know: only a commit tells it that. A claim that ends in order takes its own attempt back:
-- only claims that died burn retries. Primary key.
UPDATE chunks
   SET moved = 0,
       cursor = coalesce(:cursor, cursor),
       waiting_until = NULL,
       cautious_left = coalesce(:cautious_left, cautious_left),
       claims_since_progress = iif(:progress, 0, max(0, claims_since_progress - (:status IS NOT NULL))),
       stalls_since_progress = iif(:progress, 0, stalls_since_progress),
       marked_item = iif(:progress, NULL, marked_item),
       marked_deaths = iif(:progress, 0, marked_deaths),
       marked_silent = iif(:progress, 0, marked_silent),
       status = coalesce(:status, status),
       worker_id = iif(:status IS NULL, worker_id, NULL)
 WHERE id = :chunk_id;

-- name: checkpoint
-- The commit itself, as a row. Primary key (job_id, run, number), unique (chunk_id, seq).
INSERT INTO commits (job_id, number, run, chunk_id, epoch, seq, reason, at, items, unsettled, depth, counters,
                     segment_id, start, until, crc, cursor)
VALUES (:job_id, :number, :run, :chunk_id, :epoch, :seq, :reason, :at, :items, :unsettled, :depth, :counters,
        :segment_id, :start, :until, :crc, :cursor);

-- name: streamed
-- How far a file of rows had come before this commit. Primary key.
INSERT INTO streams (job_id, path, run, commit_no, bytes, crc, rows)
VALUES (:job_id, :path, :run, :commit_no, :bytes, :crc, :rows)
    ON CONFLICT (job_id, path) DO UPDATE
   SET run = excluded.run, commit_no = excluded.commit_no, bytes = excluded.bytes, crc = excluded.crc,
       rows = excluded.rows;

-- name: hosts_with_new
-- Hosts that this commit gave work. Primary key.
SELECT id, name, queued, due_at, pages, bytes, stage FROM hosts WHERE id IN (SELECT value FROM json_each(:ids));

-- name: others_unfinished
-- Whether another chunk of the run still has work. Index chunks_job.
SELECT EXISTS (SELECT 1 FROM chunks
                WHERE job_id = :job_id AND run = :run AND id <> :chunk_id AND status IN ('pending', 'in_progress'));

-- name: job_ended
-- The job's own status, with the chunk's last commit. Primary key.
UPDATE jobs
   SET status = :status, reason = :reason, desired = NULL,
       finished_at = iif(:finished, :at, NULL)
 WHERE id = :job_id;

-- name: event
-- The outbox. Index events_job.
INSERT INTO events (job_id, at, kind, detail) VALUES (:job_id, :at, :kind, :detail);

-- name: time_counted
-- A claim is taken away: the time that no commit has counted counts from its last renewal. Index chunks_job.
UPDATE jobs
   SET active_s = active_s + (SELECT coalesce(sum(c.since_commit_s), 0.0) FROM chunks AS c
                               WHERE c.job_id = jobs.id AND c.run = jobs.run)
 WHERE id = :job_id;

-- name: happened
-- Whether a COMMIT that broke off took place after all. Primary key.
SELECT EXISTS (SELECT 1 FROM commits WHERE chunk_id = :chunk_id AND epoch = :epoch AND seq = :seq);
