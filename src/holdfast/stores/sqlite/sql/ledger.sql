-- What a worker does to its chunk beside the commit, and what the watchdog and verify read.

-- name: job_to_claim
-- Primary key.
SELECT status, changing FROM jobs WHERE id = :job_id;

-- name: claim
-- The first pending chunk of the job's present run: epoch + 1, attempts counted here. Index chunks_job.
UPDATE chunks
   SET status = 'in_progress', epoch = epoch + 1, worker_id = :worker_id, beat = 0, waiting_until = NULL,
       claims_since_progress = claims_since_progress + 1
 WHERE id = (SELECT c.id FROM chunks AS c JOIN jobs AS j ON j.id = c.job_id AND j.run = c.run
              WHERE c.job_id = :job_id AND c.status = 'pending' ORDER BY c.id LIMIT 1)
RETURNING id, run, epoch, seq, cursor, cautious_left, marked_item, marked_deaths, marked_silent, recovered;

-- name: forget_recovery
UPDATE chunks SET recovered = 0 WHERE id = :chunk_id;

-- name: job_claimed
-- Primary key.
UPDATE jobs
   SET status = 'in_progress', reason = NULL, desired = NULL, finished_at = NULL,
       started_at = coalesce(started_at, :now)
 WHERE id = :job_id;

-- name: renew
-- Fenced like everything else. A time that a commit has counted meanwhile is not noted. Primary key.
UPDATE chunks
   SET beat = beat + 1, waiting_until = :waiting_until,
       since_commit_s = iif(seq = :seq, :since_commit_s, since_commit_s)
 WHERE id = :chunk_id AND epoch = :epoch AND status = 'in_progress'
RETURNING beat;

-- name: wish
-- Primary keys.
SELECT c.epoch = :epoch AND c.status = 'in_progress', j.desired
  FROM chunks AS c JOIN jobs AS j ON j.id = c.job_id
 WHERE c.id = :chunk_id;

-- name: queued_hosts
-- Hosts that have more than items whose time hasn't come. Index hosts_queued, and for each host one look at items_ready.
SELECT h.id, h.name, h.queued, h.due_at, h.pages, h.bytes, h.stage FROM hosts AS h
 WHERE h.chunk_id = :chunk_id AND h.queued > 0 AND h.id > :after AND h.stage <= :stage
   AND EXISTS (SELECT 1 FROM items AS i
                WHERE i.chunk_id = h.chunk_id AND i.host_id = h.id AND i.status = 'pending' AND i.due_at IS NULL)
 ORDER BY h.id LIMIT :limit;

-- name: take
-- Index items_ready; those taken already are at most a batch and what is in flight.
SELECT i.id, i.url, i.host_id, h.name, i.depth, i.kind, i.parent_id, i.attempts, 0, h.answered, i.lastmod, h.pages, h.bytes
  FROM items AS i JOIN hosts AS h ON h.id = i.host_id
 WHERE i.chunk_id = :chunk_id AND i.host_id = :host_id AND i.status = 'pending' AND i.due_at IS NULL
   AND i.id NOT IN (SELECT value FROM json_each(:taken))
 ORDER BY i.depth, i.id LIMIT :limit;

-- name: take_due
-- Index items_waiting; CROSS JOIN, because what is due leads.
SELECT i.id, i.url, i.host_id, h.name, i.depth, i.kind, i.parent_id, i.attempts, 0, h.answered, i.lastmod, h.pages, h.bytes
  FROM items AS i CROSS JOIN hosts AS h ON h.id = i.host_id
 WHERE i.chunk_id = :chunk_id AND i.due_at IS NOT NULL AND (i.due_at <= :now OR i.due_at > :latest)
   AND h.stage <= :stage
   AND i.id NOT IN (SELECT value FROM json_each(:taken))
 ORDER BY i.due_at, i.id LIMIT :limit;

-- name: next_due
-- Index items_waiting, up to the first whose phase has begun.
SELECT i.due_at FROM items AS i CROSS JOIN hosts AS h ON h.id = i.host_id
 WHERE i.chunk_id = :chunk_id AND i.due_at IS NOT NULL AND i.due_at > :now AND h.stage <= :stage
 ORDER BY i.due_at LIMIT 1;

-- name: take_rejudged
-- Index items_rejudge.
SELECT i.id, i.url, i.host_id, h.name, i.depth, i.kind, i.parent_id, i.attempts, 1, h.answered, i.lastmod, h.pages, h.bytes
  FROM items AS i JOIN hosts AS h ON h.id = i.host_id
 WHERE i.chunk_id = :chunk_id AND i.rejudge = 1
   AND i.id NOT IN (SELECT value FROM json_each(:taken))
 ORDER BY i.id LIMIT :limit;

-- name: item
-- Primary key.
SELECT i.id, i.url, i.host_id, h.name, i.depth, i.kind, i.parent_id, i.attempts, 0, h.answered, i.lastmod, h.pages, h.bytes
  FROM items AS i JOIN hosts AS h ON h.id = i.host_id
 WHERE i.id = :item_id AND i.status = 'pending';

-- name: mark
-- The item is named before it is handled; a second death on the same one counts up. Primary key.
UPDATE chunks
   SET marked_deaths = iif(marked_item = :item_id, marked_deaths, 0),
       marked_silent = iif(marked_item = :item_id, marked_silent, 0),
       marked_item = :item_id,
       marked_epoch = epoch
 WHERE id = :chunk_id AND epoch = :epoch AND status = 'in_progress'
RETURNING marked_deaths;

-- name: originals
-- Committed bodies by digest, one each. Index records_digest; CROSS JOIN, because the digests are few and lead.
SELECT r.digest, s.name, r.start, r.length, i.url, r.data ->> 'fetched_at', coalesce(r.data ->> 'encoding', '')
  FROM json_each(:digests) AS d
 CROSS JOIN records AS r INDEXED BY records_digest
    ON r.job_id = :job_id AND r.run = :run AND r.digest = unhex(d.value) AND r.body_segment_id IS NULL
  JOIN segments AS s ON s.id = r.segment_id
  JOIN items AS i ON i.id = r.item_id
 GROUP BY d.key;

-- name: earlier
-- What the run that this one asks again for has of these items, where the body is lent to this one: the place of the
-- body, and whose and when it was (as the row says, if that run was itself lent it). Primary keys, unique
-- (job_id, run, fingerprint) and (job_id, run, name), index records_place.
SELECT i.id, r.kind, r.data, l.name, coalesce(r.body_start, r.start), coalesce(r.body_length, r.length), r.digest,
       coalesce(w.url, r.data ->> '$.original.url', e.url),
       coalesce(o.data ->> 'fetched_at', r.data ->> '$.original.fetched_at', r.data ->> 'fetched_at'),
       coalesce(r.data ->> 'encoding', '')
  FROM runs AS n
 CROSS JOIN json_each(:ids) AS t
 CROSS JOIN items AS i ON i.id = t.value
 CROSS JOIN items AS e ON e.job_id = n.job_id AND e.run = n.rescan_of AND e.fingerprint = i.fingerprint
 CROSS JOIN records AS r ON r.job_id = e.job_id AND r.run = e.run AND r.item_id = e.id AND r.ordinal = 0
  JOIN segments AS b ON b.id = coalesce(r.body_segment_id, r.segment_id)
  JOIN segments AS l ON l.job_id = n.job_id AND l.run = n.run AND l.name = b.name AND l.lent
  LEFT JOIN records AS o ON o.segment_id = r.body_segment_id AND o.start = r.body_start
  LEFT JOIN items AS w ON w.id = o.item_id
 WHERE n.job_id = :job_id AND n.run = :run AND e.status = 'done'
   AND coalesce(r.body_start + r.body_length, r.start + r.length) <= l.committed;

-- name: synced
-- Unique (job_id, run, name).
UPDATE segments SET synced = max(synced, :upto)
 WHERE job_id = :job_id AND run = :run AND name = :name AND committed >= :upto;

-- name: segments
-- Those lent come first. Unique (job_id, run, name).
SELECT s.name, s.committed, s.synced, s.lent FROM segments AS s JOIN jobs AS j ON j.id = s.job_id
 WHERE s.job_id = :job_id AND s.run = coalesce(:run, j.run) ORDER BY s.lent DESC, s.id;

-- name: laid_aside
-- Primary key.
SELECT l.start FROM jobs AS j JOIN segments AS s ON s.job_id = j.id AND s.run = coalesce(:run, j.run)
  JOIN laid_aside AS l ON l.segment_id = s.id
 WHERE j.id = :job_id AND s.name = :name;

-- name: cursor
-- The notes of the run's first chunk. Index chunks_job.
SELECT c.cursor, j.public_id FROM jobs AS j JOIN chunks AS c ON c.job_id = j.id AND c.run = coalesce(:run, j.run)
 WHERE j.id = :job_id ORDER BY c.id LIMIT 1;

-- name: spans
-- Index commits_span.
SELECT c.number, s.name, c.start, c.until, c.crc
  FROM jobs AS j JOIN segments AS s ON s.job_id = j.id AND s.run = coalesce(:run, j.run)
  JOIN commits AS c ON c.segment_id = s.id
 WHERE j.id = :job_id AND s.name = :name AND c.until > :start
 ORDER BY c.start;

-- name: records
-- Pages by primary key; no snapshot outlives a page. A page never ends within an item: it may be longer than asked.
SELECT i.id, i.url, i.host_id, h.name, i.depth, i.kind, i.parent_id, i.attempts, i.rejudge, i.lastmod, i.status,
       p.url,
       r.ordinal, r.kind, r.data, s.name, r.start, r.length, r.digest, b.name, r.body_start, r.body_length,
       (SELECT same.url FROM records AS o JOIN items AS same ON same.id = o.item_id
         WHERE o.segment_id = iif(d.start IS NULL, r.body_segment_id, d.body_segment_id)
           AND o.start = iif(d.start IS NULL, r.body_start, d.body_start)),
       ds.name, d.start, d.length, db.name, d.body_start, d.body_length
  FROM jobs AS j
  JOIN records AS r ON r.job_id = j.id AND r.run = coalesce(:run, j.run)
  JOIN items AS i ON i.id = r.item_id
  JOIN hosts AS h ON h.id = i.host_id
  LEFT JOIN items AS p ON p.id = i.parent_id
  LEFT JOIN segments AS s ON s.id = r.segment_id
  LEFT JOIN segments AS b ON b.id = r.body_segment_id
  LEFT JOIN records AS d ON r.kind = 'page' AND d.job_id = r.job_id AND d.run = r.run AND d.item_id = r.item_id
                        AND d.ordinal = r.ordinal + 1 AND d.kind = 'rendered'
  LEFT JOIN segments AS ds ON ds.id = d.segment_id
  LEFT JOIN segments AS db ON db.id = d.body_segment_id
 WHERE j.id = :job_id AND r.item_id > :after AND (:kind IS NULL OR r.kind = :kind)
   AND (:upto IS NULL OR r.commit_no <= :upto)
   AND r.item_id <= (SELECT max(item_id)
                       FROM (SELECT e.item_id FROM records AS e
                              WHERE e.job_id = j.id AND e.run = coalesce(:run, j.run) AND e.item_id > :after AND e.item_id <= :until
                                AND (:kind IS NULL OR e.kind = :kind)
                                AND (:upto IS NULL OR e.commit_no <= :upto)
                              ORDER BY e.item_id, e.ordinal LIMIT :limit))
 ORDER BY r.item_id, r.ordinal;

-- name: written
-- Records by the commits that wrote them, in the order in which the evidence of their items was stored; none is of an item
-- without any. What a browser made of a page is no other item's. Primary keys, index records_place; CROSS JOIN, because the
-- commits are few and lead.
SELECT i.id, i.url, i.host_id, h.name, i.depth, i.kind, i.parent_id, i.attempts, i.rejudge, i.lastmod, i.status,
       p.url,
       r.ordinal, r.kind, r.data, s.name, r.start, r.length, r.digest, b.name, r.body_start, r.body_length,
       (SELECT same.url FROM records AS o JOIN items AS same ON same.id = o.item_id
         WHERE o.segment_id = iif(d.start IS NULL, r.body_segment_id, d.body_segment_id)
           AND o.start = iif(d.start IS NULL, r.body_start, d.body_start)),
       ds.name, d.start, d.length, db.name, d.body_start, d.body_length
  FROM jobs AS j
 CROSS JOIN commits AS c ON c.job_id = j.id AND c.run = j.run AND c.number > :after AND c.number <= :until
 CROSS JOIN records AS e INDEXED BY records_place
    ON e.segment_id = c.segment_id AND e.start >= c.start AND e.start < c.until AND e.kind <> 'rendered'
 CROSS JOIN records AS r ON r.job_id = e.job_id AND r.run = e.run AND r.item_id = e.item_id AND r.kind = :kind
  JOIN items AS i ON i.id = r.item_id
  JOIN hosts AS h ON h.id = i.host_id
  LEFT JOIN items AS p ON p.id = i.parent_id
  LEFT JOIN segments AS s ON s.id = r.segment_id
  LEFT JOIN segments AS b ON b.id = r.body_segment_id
  LEFT JOIN records AS d ON r.kind = 'page' AND d.job_id = r.job_id AND d.run = r.run AND d.item_id = r.item_id
                        AND d.ordinal = r.ordinal + 1 AND d.kind = 'rendered'
  LEFT JOIN segments AS ds ON ds.id = d.segment_id
  LEFT JOIN segments AS db ON db.id = d.body_segment_id
 WHERE j.id = :job_id
 ORDER BY c.number, e.start, r.ordinal;

-- name: addressed
-- The records of these addresses, as far as a commit has them. Unique (job_id, run, fingerprint), primary key of records;
-- CROSS JOIN, because the addresses are few and lead.
SELECT i.fingerprint, r.kind, r.data
  FROM json_each(:fingerprints) AS f
 CROSS JOIN jobs AS j ON j.id = :job_id
 CROSS JOIN items AS i ON i.job_id = j.id AND i.run = :run AND i.fingerprint = unhex(f.value)
 CROSS JOIN records AS r ON r.job_id = j.id AND r.run = i.run AND r.item_id = i.id AND r.ordinal = 0
 WHERE r.commit_no <= :upto;

-- name: streamed
-- Primary keys.
SELECT f.path, f.commit_no, f.bytes, f.crc, f.rows FROM jobs AS j JOIN streams AS f ON f.job_id = j.id AND f.run = j.run
 WHERE j.id = :job_id AND f.path = :path;

-- name: note_streamed
-- Outside of a commit, where nobody makes any. Primary keys.
INSERT INTO streams (job_id, path, run, commit_no, bytes, crc, rows)
SELECT id, :path, run, :commit_no, :bytes, :crc, :rows FROM jobs
 WHERE id = :job_id AND run = :run AND status <> 'in_progress' AND changing IS NULL
    ON CONFLICT (job_id, path) DO UPDATE
   SET run = excluded.run, commit_no = excluded.commit_no, bytes = excluded.bytes, crc = excluded.crc,
       rows = excluded.rows;

-- name: lineage
-- An item and those that it was found on, one above the other. Unique (job_id, run, fingerprint), then primary keys.
WITH RECURSIVE line (id, parent_id, step) AS (
    SELECT i.id, i.parent_id, 1 FROM jobs AS j JOIN items AS i ON i.job_id = j.id AND i.run = j.run
     WHERE j.id = :job_id AND i.fingerprint = :fingerprint
     UNION ALL
    SELECT p.id, p.parent_id, line.step + 1 FROM line JOIN items AS p ON p.id = line.parent_id WHERE line.step < :limit)
SELECT i.id, i.url, i.host_id, h.name, i.depth, i.kind, i.parent_id, i.attempts, i.rejudge, h.answered, i.lastmod,
       h.pages, h.bytes, i.status, i.reason, i.due_at, i.found_commit, i.settled_commit
  FROM line JOIN items AS i ON i.id = line.id JOIN hosts AS h ON h.id = i.host_id
 ORDER BY line.step;

-- name: outside
-- What is out of scope and was kept. Index items_outside.
SELECT i.id, i.url FROM jobs AS j JOIN items AS i ON i.job_id = j.id AND i.run = coalesce(:run, j.run)
 WHERE j.id = :job_id AND i.id > :after AND i.status = 'skipped' AND i.reason = 'external'
 ORDER BY i.id LIMIT :limit;

-- name: commits
-- Primary key.
SELECT c.number, c.chunk_id, c.epoch, c.seq, c.reason, c.at, c.items, c.depth, c.counters, s.name, coalesce(c.until, 0)
  FROM commits AS c LEFT JOIN segments AS s ON s.id = c.segment_id
 WHERE c.job_id = :job_id AND c.run = coalesce(:run, (SELECT run FROM jobs WHERE id = :job_id)) AND c.number > :after
 ORDER BY c.number LIMIT :limit;

-- name: known
-- Unique (job_id, run, fingerprint).
SELECT i.fingerprint, iif(i.status = 'skipped' AND i.attempts = 0, i.reason, NULL) FROM json_each(:fingerprints) AS f
 CROSS JOIN items AS i ON i.job_id = :job_id AND i.run = coalesce(:run, (SELECT run FROM jobs WHERE id = :job_id))
   AND i.fingerprint = unhex(f.value);

-- name: heartbeats
-- Index chunks_claimed.
SELECT c.job_id, c.id, c.epoch, c.beat, c.seq, c.worker_id, c.waiting_until, j.public_id, c.claims_since_progress
  FROM chunks AS c JOIN jobs AS j ON j.id = c.job_id WHERE c.status = 'in_progress' ORDER BY c.id;

-- name: recovering
-- The chunk as the one who takes it back sees it; whether this very claim has named an item. Primary key.
SELECT c.job_id, c.claims_since_progress, c.stalls_since_progress,
       c.marked_item IS NOT NULL AND c.marked_epoch = c.epoch, c.marked_deaths, c.marked_silent, c.cautious_left,
       j.desired
  FROM chunks AS c JOIN jobs AS j ON j.id = c.job_id
 WHERE c.id = :chunk_id AND c.epoch = :epoch AND c.status = 'in_progress';

-- name: taken_back
-- The claim is over: whoever held it is fenced off. Primary key.
UPDATE chunks
   SET status = :status, worker_id = NULL, epoch = epoch + 1, recovered = 1, waiting_until = NULL, since_commit_s = 0,
       claims_since_progress = :claims, stalls_since_progress = :stalls,
       cautious_left = :cautious_left, marked_deaths = :marked_deaths, marked_silent = :marked_silent
 WHERE id = :chunk_id;

-- name: job_taken_back
-- Primary key.
UPDATE jobs
   SET status = :status, reason = :reason, desired = NULL, finished_at = iif(:status = 'failed', :now, NULL)
 WHERE id = :job_id;
