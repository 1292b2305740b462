-- A new run is filled from one that is there, in slices. Each slice is one transaction with the note of how far it came,
-- so that none is done twice.

-- name: run_with_commit
-- The latest run that has that commit. Primary keys.
SELECT max(r.run) FROM runs AS r
 WHERE r.job_id = :job_id
   AND EXISTS (SELECT 1 FROM commits AS k WHERE k.job_id = r.job_id AND k.run = r.run AND k.number = :number);

-- name: commit_of_run
-- Primary key.
SELECT k.chunk_id, k.at FROM commits AS k WHERE k.job_id = :job_id AND k.run = :run AND k.number = :number;

-- name: rescan_of
-- The run that a run asks again for, if that is still there. Primary key.
SELECT n.rescan_of FROM runs AS n
 WHERE n.job_id = :job_id AND n.run = :run
   AND EXISTS (SELECT 1 FROM runs AS e WHERE e.job_id = n.job_id AND e.run = n.rescan_of);

-- name: chunk_as_of
-- A chunk as it stood at a commit, to be filled: what its items come to is counted as they come. Its counters are no
-- commit's, and some of what its commits settled is open again. Primary keys.
INSERT INTO chunks (job_id, run, status, seq, epoch, cursor, depth, deepest, moved, reopened)
SELECT :job_id, :run, 'paused', k.seq, c.epoch,
       coalesce((SELECT n.cursor FROM commits AS n
                  WHERE n.job_id = k.job_id AND n.run = k.run AND n.number <= k.number AND n.cursor IS NOT NULL
                  ORDER BY n.number DESC LIMIT 1), '{}'),
       k.depth, k.depth, 1, 1
  FROM commits AS k JOIN chunks AS c ON c.id = k.chunk_id
 WHERE k.job_id = :base_job AND k.run = :base_run AND k.number = :commit
RETURNING id;

-- name: segments_as_of
-- What the run had of each file at that commit. Index commits_span.
INSERT INTO segments (job_id, run, chunk_id, epoch, name, committed, synced)
SELECT :job_id, :run, :chunk_id, s.epoch, s.name, max(k.until), min(s.synced, max(k.until))
  FROM segments AS s JOIN commits AS k ON k.segment_id = s.id AND k.number <= :commit
 WHERE s.job_id = :base_job AND s.run = :base_run AND NOT s.lent
 GROUP BY s.id ORDER BY s.id;

-- name: segments_lent_on
-- What was lent to the run is lent to this one.
INSERT INTO segments (job_id, run, chunk_id, epoch, name, committed, synced, lent)
SELECT :job_id, :run, :chunk_id, 0, s.name, s.committed, s.synced, 1
  FROM segments AS s WHERE s.job_id = :base_job AND s.run = :base_run AND s.lent;

-- name: return_lent
-- What was lent to earlier runs and none of their revisits stands for. Index records_revisits.
DELETE FROM segments
 WHERE job_id = :job_id AND lent AND run < :run
   AND NOT EXISTS (SELECT 1 FROM records AS r WHERE r.body_segment_id = segments.id);

-- name: lend
-- A file of the run before, as far as it is whole, for the bodies in it. Unique (job_id, run, name).
INSERT INTO segments (job_id, run, chunk_id, epoch, name, committed, synced, lent)
VALUES (:job_id, :run, :chunk_id, 0, :name, :whole, :whole, 1);

-- name: names_of_runs
-- Files that runs up to `last` have and no later one does. Unique (job_id, run, name).
SELECT DISTINCT name FROM segments WHERE job_id = :job_id AND run <= :last
EXCEPT SELECT name FROM segments WHERE job_id = :job_id AND run > :last;

-- name: names
-- Files of a run. Unique (job_id, run, name).
SELECT name FROM segments WHERE job_id = :job_id AND run = :run ORDER BY id;

-- name: forget_runs
-- From here on nobody finds them. Primary key.
DELETE FROM runs WHERE job_id = :job_id AND run <= :last;

-- name: hosts_of_slice
-- A row for each host of a slice of the base's items that has none yet. A rescan has still to hear from them.
-- Primary keys, unique (chunk_id, name, stage).
INSERT INTO hosts (chunk_id, name, stage, answered, due_at)
SELECT DISTINCT :chunk_id, h.name, h.stage, iif(:afresh, 0, h.answered), iif(:afresh, NULL, h.due_at)
  FROM items AS i NOT INDEXED JOIN hosts AS h ON h.id = i.host_id
 WHERE i.id > :after AND i.id <= :until AND i.job_id = :base_job AND i.run = :base_run
   AND NOT EXISTS (SELECT 1 FROM hosts AS n WHERE n.chunk_id = :chunk_id AND n.name = h.name AND n.stage = h.stage);

-- name: seeds_of_slice
-- The pages of a slice of the base's items, and what redirected, are to be asked for again, at their depths; those beyond
-- the limit as it is now stand as skipped. What is there already (a start URL) stays as it is. Primary key, unique
-- (job_id, run, fingerprint).
INSERT INTO items (job_id, run, chunk_id, host_id, kind, fingerprint, url, depth, status, reason, lastmod,
                   found_commit, settled_commit)
SELECT :job_id, :run, :chunk_id, n.id, i.kind, i.fingerprint, i.url, i.depth,
       iif(i.depth > :max_depth, 'skipped', 'pending'), iif(i.depth > :max_depth, 'depth', NULL), i.lastmod, :number,
       iif(i.depth > :max_depth, :number, NULL)
  FROM items AS i NOT INDEXED
  JOIN hosts AS h ON h.id = i.host_id
  JOIN hosts AS n ON n.chunk_id = :chunk_id AND n.name = h.name AND n.stage = h.stage
 WHERE i.id > :after AND i.id <= :until AND i.job_id = :base_job AND i.run = :base_run
   AND i.status IN ('done', 'redirected')
   AND NOT EXISTS (SELECT 1 FROM items AS e
                    WHERE e.job_id = :job_id AND e.run = :run AND e.fingerprint = i.fingerprint)
 ORDER BY i.id
RETURNING id, host_id, status, iif(status = 'pending', '', coalesce(reason, '')), depth;

-- name: items_as_of
-- A slice of the base's items as they were at that commit: found by then, settled by then or else pending. What stands
-- shut out since it was found stays so: no commit handled it. Primary key.
INSERT INTO items (job_id, run, chunk_id, host_id, kind, fingerprint, url, depth, status, reason, attempts, rejudge,
                   lastmod, found_commit, settled_commit)
SELECT :job_id, :run, :chunk_id, n.id, i.kind, i.fingerprint, i.url, i.depth,
       iif(i.stands, i.status, 'pending'), iif(i.stands, i.reason, NULL), iif(i.stands, i.attempts, 0),
       iif(i.stands, i.rejudge, NULL), i.lastmod, i.found_commit, iif(i.stands, min(i.settled_commit, :commit), NULL)
  FROM (SELECT *, coalesce(settled_commit <= :commit, 0) OR (status = 'skipped' AND attempts = 0) AS stands
          FROM items NOT INDEXED
         WHERE id > :after AND id <= :until AND job_id = :base_job AND run = :base_run
           AND found_commit <= :commit) AS i
  JOIN hosts AS h ON h.id = i.host_id
  JOIN hosts AS n ON n.chunk_id = :chunk_id AND n.name = h.name AND n.stage = h.stage
 ORDER BY i.id
RETURNING id, host_id, status, iif(status = 'pending', '', coalesce(reason, '')), depth;

-- name: records_as_of
-- The records of such a slice that were there by that commit, with their places in this run's segments.
-- Primary keys, unique (job_id, run, fingerprint) and (job_id, run, name).
INSERT INTO records (item_id, ordinal, job_id, run, commit_no, kind, data, size, segment_id, start, length, digest,
                     body_segment_id, body_start, body_length)
SELECT n.id, r.ordinal, :job_id, :run, r.commit_no, r.kind, r.data, r.size, s.id, r.start, r.length, r.digest,
       b.id, r.body_start, r.body_length
  FROM items AS i NOT INDEXED
 CROSS JOIN records AS r ON r.job_id = :base_job AND r.run = :base_run AND r.item_id = i.id
 CROSS JOIN items AS n ON n.job_id = :job_id AND n.run = :run AND n.fingerprint = i.fingerprint
  LEFT JOIN segments AS t ON t.id = r.segment_id
  LEFT JOIN segments AS s ON s.job_id = :job_id AND s.run = :run AND s.name = t.name
  LEFT JOIN segments AS c ON c.id = r.body_segment_id
  LEFT JOIN segments AS b ON b.job_id = :job_id AND b.run = :run AND b.name = c.name
 WHERE i.id > :after AND i.id <= :until AND i.job_id = :base_job AND i.run = :base_run AND r.commit_no <= :commit
RETURNING item_id, size, coalesce(data ->> 'unkept', 0);

-- name: parents_of_slice
-- Who found an item stands in this run, too, or nobody does. Primary key, unique (job_id, run, fingerprint).
UPDATE items SET parent_id = p.id
  FROM items AS e, items AS o, items AS p
 WHERE items.id > :after AND items.id <= :until AND items.job_id = :job_id AND items.run = :run
   AND e.job_id = :base_job AND e.run = :base_run AND e.fingerprint = items.fingerprint
   AND o.id = e.parent_id
   AND p.job_id = :job_id AND p.run = :run AND p.fingerprint = o.fingerprint AND p.id <> items.id;

-- name: commits_as_of
-- The commits up to that one under their own numbers, a slice of them. Primary key.
INSERT INTO commits (job_id, number, run, chunk_id, epoch, seq, reason, at, items, unsettled, depth, counters, segment_id,
                     start, until, crc, cursor)
SELECT :job_id, k.number, :run, :chunk_id, k.epoch, k.seq, k.reason, k.at, k.items, k.unsettled, k.depth, k.counters,
       s.id, k.start, k.until, k.crc, k.cursor
  FROM commits AS k
  LEFT JOIN segments AS t ON t.id = k.segment_id
  LEFT JOIN segments AS s ON s.job_id = :job_id AND s.run = :run AND s.name = t.name
 WHERE k.job_id = :base_job AND k.run = :base_run AND k.number > :after AND k.number <= :commit
 ORDER BY k.number LIMIT :slice
RETURNING number;

-- name: laid_aside_as_of
-- Responses that were nobody's by now, a slice of them by file and offset. Primary key.
SELECT t.id, l.start, s.id
  FROM segments AS t
  JOIN laid_aside AS l ON l.segment_id = t.id
  JOIN segments AS s ON s.job_id = :job_id AND s.run = :run AND s.name = t.name
 WHERE t.job_id = :base_job AND t.run = :base_run AND l.start < s.committed
   AND (l.segment_id, l.start) > (:segment, :after)
 ORDER BY l.segment_id, l.start LIMIT :slice;

-- name: lay_aside
INSERT INTO laid_aside (segment_id, start) VALUES (:segment_id, :start);

-- name: freeze
-- The present run is written no more: what the job says of it now is said here from now on. Primary key.
UPDATE runs
   SET (status, reason, phase, spec, bounds, commit_no, started_at, finished_at, last_checkpoint_at, active_s, granted_s) =
       (SELECT j.status, j.reason, j.phase, j.spec, j.bounds, j.commit_no, j.started_at, j.finished_at,
               j.last_checkpoint_at, j.active_s, j.granted_s
          FROM jobs AS j WHERE j.id = :job_id)
 WHERE job_id = :job_id AND run = (SELECT run FROM jobs WHERE id = :job_id);

-- name: rescanned
-- The new run is the present one, and waits to be claimed. Primary key.
UPDATE jobs
   SET run = :run, status = :status, reason = NULL, phase = :phase, started_at = NULL, finished_at = NULL,
       last_checkpoint_at = NULL, active_s = 0, granted_s = 0
 WHERE id = :job_id;

-- name: rolled_back
-- The new run is the present one. A time limit counts from here. Primary key.
UPDATE jobs
   SET run = :run, status = :status, reason = :reason, phase = :phase, finished_at = NULL, last_checkpoint_at = :at,
       granted_s = active_s
 WHERE id = :job_id;

-- name: fork
-- A job like another one, which it is still to be filled from; nobody can claim it before.
INSERT INTO jobs (public_id, kind, identity, name, owner, spec, bounds, status, reason, phase, commit_no, created_at,
                  last_checkpoint_at, started_at)
SELECT :public_id, kind, :identity, :name, owner, spec, bounds, 'paused', :reason, :phase, :commit, :now, :at, started_at
  FROM jobs WHERE id = :base_job
RETURNING id;

-- name: compared
-- A slice of a run's pages, each with what the other run has of the same address. Primary keys, unique
-- (job_id, run, fingerprint).
SELECT n.url,
       iif(p.item_id IS NULL, 'new', iif(p.data ->> 'sha256' IS r.data ->> 'sha256', 'unchanged', 'changed')),
       '', o.id, n.id
  FROM items AS n NOT INDEXED
 CROSS JOIN records AS r ON r.job_id = n.job_id AND r.run = n.run AND r.item_id = n.id AND r.ordinal = 0
  LEFT JOIN items AS o ON o.job_id = n.job_id AND o.run = :old AND o.fingerprint = n.fingerprint AND o.status = 'done'
  LEFT JOIN records AS p ON p.job_id = o.job_id AND p.run = o.run AND p.item_id = o.id AND p.ordinal = 0
 WHERE n.id > :after AND n.id <= :until AND n.job_id = :job_id AND n.run = :new AND n.status = 'done'
 ORDER BY n.id;

-- name: departed
-- A slice of a run's pages that are none in the other run. Primary keys, unique (job_id, run, fingerprint).
SELECT o.url,
       CASE WHEN n.status = 'failed' AND n.reason IN ('http_404', 'http_410') THEN 'gone'
            WHEN n.status = 'redirected' THEN 'moved' ELSE 'unknown' END,
       CASE WHEN n.id IS NULL THEN 'not found again' WHEN n.status = 'pending' THEN 'queued'
            ELSE coalesce(n.reason, n.status) END,
       o.id, n.id
  FROM items AS o NOT INDEXED
  LEFT JOIN items AS n ON n.job_id = o.job_id AND n.run = :new AND n.fingerprint = o.fingerprint
 WHERE o.id > :after AND o.id <= :until AND o.job_id = :job_id AND o.run = :old AND o.status = 'done'
   AND n.status IS NOT 'done'
 ORDER BY o.id;
