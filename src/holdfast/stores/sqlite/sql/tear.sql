-- Repair of a torn tail: what pointed into the missing bytes is undone; nothing discovered is removed.

-- name: still_ours
-- The claim's own fence. Primary key.
SELECT 1 FROM chunks WHERE id = :chunk_id AND epoch = :epoch AND status = 'in_progress';

-- name: segment_id
-- Unique (job_id, run, name).
SELECT id, chunk_id, committed FROM segments WHERE job_id = :job_id AND run = :run AND name = :name;

-- name: torn
-- Items whose own bytes, or the body that their revisit points to, lie at or past the good length.
-- Indexes records_place, records_revisits.
SELECT DISTINCT item_id FROM records WHERE segment_id = :segment_id AND start + length > :good
 UNION
SELECT DISTINCT item_id FROM records WHERE body_segment_id = :segment_id AND body_start + body_length > :good;

-- name: lay_aside
-- What the records pointed to stays in its segment, and is remembered as nobody's. Primary keys.
INSERT INTO laid_aside (segment_id, start)
SELECT segment_id, start FROM records
 WHERE job_id = :job_id AND run = :run AND item_id IN (SELECT value FROM json_each(:ids))
   AND segment_id IS NOT NULL;

-- name: drop_records
-- Primary key.
DELETE FROM records WHERE job_id = :job_id AND run = :run AND item_id IN (SELECT value FROM json_each(:ids));

-- name: reopen
-- Primary key.
UPDATE items SET status = 'pending', reason = NULL, settled_commit = NULL, rejudge = NULL, due_at = NULL
 WHERE id IN (SELECT value FROM json_each(:ids)) AND status <> 'pending';

-- name: unstream
-- A file of rows may have some that are no more: what stands in it is known no longer. Primary key.
DELETE FROM streams WHERE job_id = :job_id;

-- name: shorten
UPDATE segments SET committed = :good, synced = min(synced, :good) WHERE id = :segment_id;

-- name: shorten_spans
-- The commits stay as history, but no byte range of theirs reaches past what is there. Index commits_span.
UPDATE commits SET start = min(start, :good), until = min(until, :good), crc = NULL
 WHERE segment_id = :segment_id AND until > :good;

-- name: recount_tallies_drop
DELETE FROM tallies WHERE chunk_id = :chunk_id;

-- name: recount_tallies
INSERT INTO tallies (chunk_id, status, reason, count)
SELECT chunk_id, status, iif(status = 'pending', '', coalesce(reason, '')), count(*)
  FROM items WHERE job_id = :job_id AND run = :run AND chunk_id = :chunk_id
 GROUP BY 1, 2, 3;

-- name: recount_hosts
UPDATE hosts
   SET queued = n.queued, settled = n.settled, pages = n.pages, bytes = coalesce(n.bytes, 0)
  FROM (SELECT i.host_id, sum(i.status = 'pending') AS queued, sum(i.status <> 'pending') AS settled,
               sum(i.status = 'done') AS pages,
               sum((SELECT sum(r.size) FROM records AS r
                     WHERE i.status = 'done' AND r.job_id = i.job_id AND r.run = i.run AND r.item_id = i.id)) AS bytes
          FROM items AS i WHERE i.job_id = :job_id AND i.run = :run AND i.chunk_id = :chunk_id GROUP BY i.host_id) AS n
 WHERE hosts.id = n.host_id;

-- name: recount_chunk
UPDATE chunks
   SET (found, queued, done, failed, skipped, redirected, consulted) =
       (SELECT coalesce(sum(count), 0),
               coalesce(sum(count) FILTER (WHERE status = 'pending'), 0),
               coalesce(sum(count) FILTER (WHERE status = 'done'), 0),
               coalesce(sum(count) FILTER (WHERE status = 'failed'), 0),
               coalesce(sum(count) FILTER (WHERE status = 'skipped'), 0),
               coalesce(sum(count) FILTER (WHERE status = 'redirected'), 0),
               coalesce(sum(count) FILTER (WHERE status = 'consulted'), 0)
          FROM tallies WHERE chunk_id = :chunk_id),
       bytes = (SELECT coalesce(sum(r.size), 0) FROM records AS r CROSS JOIN items AS i ON i.id = r.item_id
                 WHERE r.job_id = :job_id AND r.run = :run AND i.chunk_id = :chunk_id),
       moved = 1, reopened = 1,
       external = (SELECT coalesce(sum(r.data ->> 'unkept'), 0)
                     FROM records AS r CROSS JOIN items AS i ON i.id = r.item_id
                    WHERE r.job_id = :job_id AND r.run = :run AND i.chunk_id = :chunk_id)
 WHERE id = :chunk_id;
