-- Each statement gives (subject, detail) for what does not agree. Only scans: `verify` may take its time.

-- name: quick_check
PRAGMA quick_check;

-- name: counter__chunk_statuses
-- The chunk's counters against its items.
SELECT 'chunk ' || c.id || ' ' || s.name,
       'says ' || s.said || ', its items are ' || s.counted
  FROM chunks AS c
  JOIN jobs AS j ON j.id = c.job_id AND j.run = c.run
  JOIN (SELECT ch.id AS chunk_id, n.name, n.said,
               (SELECT count(*) FROM items AS i WHERE i.job_id = ch.job_id AND i.run = ch.run AND i.chunk_id = ch.id
                   AND (n.name = 'found' OR i.status = n.status)) AS counted
          FROM chunks AS ch
          JOIN (SELECT id, 'found' AS name, '' AS status, found AS said FROM chunks
                UNION ALL SELECT id, 'queued', 'pending', queued FROM chunks
                UNION ALL SELECT id, 'done', 'done', done FROM chunks
                UNION ALL SELECT id, 'failed', 'failed', failed FROM chunks
                UNION ALL SELECT id, 'skipped', 'skipped', skipped FROM chunks
                UNION ALL SELECT id, 'redirected', 'redirected', redirected FROM chunks) AS n ON n.id = ch.id
         WHERE ch.job_id = :job_id) AS s ON s.chunk_id = c.id
 WHERE j.id = :job_id AND s.said <> s.counted;

-- name: counter__bytes
SELECT 'chunk ' || c.id || ' bytes', 'says ' || c.bytes || ', its records are ' || coalesce(sum(r.size), 0)
  FROM chunks AS c
  JOIN jobs AS j ON j.id = c.job_id AND j.run = c.run
  LEFT JOIN items AS i ON i.job_id = c.job_id AND i.run = c.run AND i.chunk_id = c.id
  LEFT JOIN records AS r ON r.job_id = c.job_id AND r.run = c.run AND r.item_id = i.id
 WHERE j.id = :job_id
 GROUP BY c.id HAVING c.bytes <> coalesce(sum(r.size), 0);

-- name: counter__tallies
-- Tallies against items, both ways.
WITH counted AS (
    SELECT i.chunk_id, i.status, iif(i.status = 'pending', '', coalesce(i.reason, '')) AS reason, count(*) AS n
      FROM items AS i JOIN jobs AS j ON j.id = i.job_id AND j.run = i.run
     WHERE j.id = :job_id GROUP BY 1, 2, 3),
said AS (
    SELECT t.chunk_id, t.status, t.reason, t.count AS n
      FROM tallies AS t JOIN chunks AS c ON c.id = t.chunk_id JOIN jobs AS j ON j.id = c.job_id AND j.run = c.run
     WHERE j.id = :job_id AND t.count > 0)
SELECT 'tally ' || coalesce(s.status, k.status) || ' ' || coalesce(s.reason, k.reason),
       'says ' || coalesce(s.n, 0) || ', the items are ' || coalesce(k.n, 0)
  FROM said AS s
  FULL JOIN counted AS k ON k.chunk_id = s.chunk_id AND k.status = s.status AND k.reason = s.reason
 WHERE coalesce(s.n, 0) <> coalesce(k.n, 0);

-- name: counter__hosts
SELECT 'host ' || h.name,
       'says ' || h.queued || ' queued and ' || h.settled || ' settled, its items are '
       || coalesce(n.queued, 0) || ' and ' || coalesce(n.settled, 0)
  FROM hosts AS h
  JOIN chunks AS c ON c.id = h.chunk_id
  JOIN jobs AS j ON j.id = c.job_id AND j.run = c.run
  LEFT JOIN (SELECT host_id, sum(status = 'pending') AS queued, sum(status <> 'pending') AS settled
               FROM items WHERE job_id = :job_id GROUP BY host_id) AS n ON n.host_id = h.id
 WHERE j.id = :job_id AND (h.queued <> coalesce(n.queued, 0) OR h.settled <> coalesce(n.settled, 0));

-- name: sequence__chunks
-- seq counts the commits of a chunk.
SELECT 'chunk ' || c.id, 'stands at seq ' || c.seq || ', its commits are ' || count(k.number) || ' up to ' || coalesce(max(k.seq), 0)
  FROM chunks AS c
  JOIN jobs AS j ON j.id = c.job_id AND j.run = c.run
  LEFT JOIN commits AS k ON k.job_id = c.job_id AND k.chunk_id = c.id
 WHERE j.id = :job_id
 GROUP BY c.id HAVING c.seq <> count(k.number) OR c.seq <> coalesce(max(k.seq), 0);

-- name: sequence__numbers
SELECT 'job', 'stands at commit ' || j.commit_no || ', the highest there is ' || coalesce(max(k.number), 0)
  FROM jobs AS j LEFT JOIN commits AS k ON k.job_id = j.id
 WHERE j.id = :job_id
 GROUP BY j.id HAVING j.commit_no < coalesce(max(k.number), 0);

-- name: item__done_without_record
-- Each done or redirected item has its record.
SELECT i.url, 'is ' || i.status || ' and has no record'
  FROM items AS i JOIN jobs AS j ON j.id = i.job_id AND j.run = i.run
 WHERE j.id = :job_id AND i.status IN ('done', 'redirected')
   AND NOT EXISTS (SELECT 1 FROM records AS r WHERE r.job_id = i.job_id AND r.run = i.run AND r.item_id = i.id);

-- name: item__pending_with_record
-- What has a record is settled.
SELECT i.url, 'is ' || i.status || ' and has a record'
  FROM records AS r JOIN jobs AS j ON j.id = r.job_id AND j.run = r.run JOIN items AS i ON i.id = r.item_id
 WHERE j.id = :job_id AND i.status IN ('pending', 'skipped');

-- name: record__orphan
SELECT 'record of item ' || r.item_id, 'its item is missing'
  FROM records AS r JOIN jobs AS j ON j.id = r.job_id AND j.run = r.run
 WHERE j.id = :job_id AND NOT EXISTS (SELECT 1 FROM items AS i WHERE i.id = r.item_id);

-- name: item__parent
SELECT i.url, 'was found on item ' || i.parent_id || ', which is missing'
  FROM items AS i JOIN jobs AS j ON j.id = i.job_id AND j.run = i.run
 WHERE j.id = :job_id AND i.parent_id IS NOT NULL AND NOT EXISTS (SELECT 1 FROM items AS p WHERE p.id = i.parent_id);

-- name: record__past_the_end
SELECT i.url, 'its bytes reach to ' || (r.start + r.length) || ', segment ' || s.name || ' is committed to ' || s.committed
  FROM records AS r JOIN jobs AS j ON j.id = r.job_id AND j.run = r.run
  JOIN items AS i ON i.id = r.item_id JOIN segments AS s ON s.id = r.segment_id
 WHERE j.id = :job_id AND r.start + r.length > s.committed;
