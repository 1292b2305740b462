-- What the ledger can tell about itself. The statements whose names hold `kind__` give (subject, detail) for each
-- disagreement of that kind. Only scans: `verify` may take its time.

-- name: present_run
-- Primary key.
SELECT run FROM jobs WHERE id = :job_id;

-- name: integrity
-- Pages, indexes against their tables, CHECKs, types: of the whole home.
PRAGMA integrity_check;

-- name: foreign_keys
-- Rows whose parent is missing, of the whole home.
PRAGMA foreign_key_check;

-- name: addresses
-- Every item's address and the fingerprint it goes by, a page at a time. Primary key.
SELECT i.id, i.url, i.kind, i.fingerprint
  FROM items AS i NOT INDEXED
 WHERE i.id > :after AND i.job_id = :job_id AND i.run = :run
 ORDER BY i.id LIMIT :limit;

-- name: counter__chunks
-- A chunk's counters against its items.
WITH counted AS (
    SELECT i.chunk_id, count(*) AS found,
           sum(i.status = 'pending') AS queued, sum(i.status = 'done') AS done, sum(i.status = 'failed') AS failed,
           sum(i.status = 'skipped') AS skipped, sum(i.status = 'redirected') AS redirected,
           sum(i.status = 'consulted') AS consulted
      FROM items AS i JOIN runs AS j ON j.job_id = i.job_id AND j.run = i.run
     WHERE j.job_id = :job_id AND j.run = :run GROUP BY i.chunk_id),
names (name) AS (VALUES ('found'), ('queued'), ('done'), ('failed'), ('skipped'), ('redirected'),
                       ('consulted')),
compared AS (
    SELECT c.id, names.name,
           CASE names.name WHEN 'found' THEN c.found WHEN 'queued' THEN c.queued WHEN 'done' THEN c.done
                WHEN 'failed' THEN c.failed WHEN 'skipped' THEN c.skipped WHEN 'redirected' THEN c.redirected
                ELSE c.consulted END AS said,
           coalesce(CASE names.name WHEN 'found' THEN n.found WHEN 'queued' THEN n.queued WHEN 'done' THEN n.done
                WHEN 'failed' THEN n.failed WHEN 'skipped' THEN n.skipped WHEN 'redirected' THEN n.redirected
                ELSE n.consulted END, 0) AS counted
      FROM chunks AS c JOIN runs AS j ON j.job_id = c.job_id AND j.run = c.run
      CROSS JOIN names LEFT JOIN counted AS n ON n.chunk_id = c.id
     WHERE j.job_id = :job_id AND j.run = :run)
SELECT 'chunk ' || id || ' ' || name, 'says ' || said || ', its items are ' || counted
  FROM compared WHERE said <> counted;

-- name: counter__bytes
-- A chunk's bytes against its records.
SELECT 'chunk ' || c.id || ' bytes', 'says ' || c.bytes || ', its records have ' || coalesce(n.size, 0)
  FROM chunks AS c JOIN runs AS j ON j.job_id = c.job_id AND j.run = c.run
  LEFT JOIN (SELECT i.chunk_id, sum(r.size) AS size
               FROM runs AS j JOIN records AS r ON r.job_id = j.job_id AND r.run = j.run JOIN items AS i ON i.id = r.item_id
              WHERE j.job_id = :job_id AND j.run = :run GROUP BY i.chunk_id) AS n ON n.chunk_id = c.id
 WHERE j.job_id = :job_id AND j.run = :run AND c.bytes <> coalesce(n.size, 0);

-- name: counter__external
-- What was only counted is at least what the pages say that they left out. A repair drops pages, not what they counted.
SELECT 'chunk ' || c.id || ' external', 'says ' || c.external || ', its pages left out ' || n.unkept
  FROM chunks AS c JOIN runs AS j ON j.job_id = c.job_id AND j.run = c.run
  JOIN (SELECT i.chunk_id, sum(coalesce(r.data ->> 'unkept', 0)) AS unkept
          FROM runs AS j JOIN records AS r ON r.job_id = j.job_id AND r.run = j.run JOIN items AS i ON i.id = r.item_id
         WHERE j.job_id = :job_id AND j.run = :run GROUP BY i.chunk_id) AS n ON n.chunk_id = c.id
  LEFT JOIN (SELECT DISTINCT chunk_id FROM commits
              WHERE job_id = :job_id AND segment_id IS NOT NULL AND crc IS NULL) AS torn ON torn.chunk_id = c.id
 WHERE j.job_id = :job_id AND j.run = :run
   AND (c.external < n.unkept OR (c.external > n.unkept AND torn.chunk_id IS NULL));

-- name: counter__tallies
-- Tallies against items, both ways.
WITH counted AS (
    SELECT i.chunk_id, i.status, iif(i.status = 'pending', '', coalesce(i.reason, '')) AS reason, count(*) AS n
      FROM items AS i JOIN runs AS j ON j.job_id = i.job_id AND j.run = i.run
     WHERE j.job_id = :job_id AND j.run = :run GROUP BY 1, 2, 3),
said AS (
    SELECT t.chunk_id, t.status, t.reason, t.count AS n
      FROM tallies AS t JOIN chunks AS c ON c.id = t.chunk_id JOIN runs AS j ON j.job_id = c.job_id AND j.run = c.run
     WHERE j.job_id = :job_id AND j.run = :run AND t.count > 0)
SELECT rtrim('tally ' || coalesce(s.status, k.status) || ' ' || coalesce(s.reason, k.reason)),
       'says ' || coalesce(s.n, 0) || ', the items are ' || coalesce(k.n, 0)
  FROM said AS s
  FULL JOIN counted AS k ON k.chunk_id = s.chunk_id AND k.status = s.status AND k.reason = s.reason
 WHERE coalesce(s.n, 0) <> coalesce(k.n, 0);

-- name: counter__hosts
-- A host's counters against its items.
SELECT 'host ' || h.name,
       'says ' || h.queued || ' queued and ' || h.settled || ' settled, its items are '
       || coalesce(n.queued, 0) || ' and ' || coalesce(n.settled, 0)
  FROM hosts AS h
  JOIN chunks AS c ON c.id = h.chunk_id
  JOIN runs AS j ON j.job_id = c.job_id AND j.run = c.run
  LEFT JOIN (SELECT host_id, sum(status = 'pending') AS queued, sum(status <> 'pending') AS settled
               FROM items WHERE job_id = :job_id AND run = :run GROUP BY host_id) AS n ON n.host_id = h.id
 WHERE j.job_id = :job_id AND j.run = :run AND (h.queued <> coalesce(n.queued, 0) OR h.settled <> coalesce(n.settled, 0));

-- name: counter__budgets
-- What a host's budget is counted by against its pages and their records.
SELECT 'host ' || h.name,
       'says ' || h.pages || ' pages of ' || h.bytes || ' bytes, they are '
       || coalesce(n.pages, 0) || ' of ' || coalesce(n.bytes, 0)
  FROM hosts AS h
  JOIN chunks AS c ON c.id = h.chunk_id
  JOIN runs AS j ON j.job_id = c.job_id AND j.run = c.run
  LEFT JOIN (SELECT i.host_id, count(*) AS pages,
                    sum((SELECT sum(r.size) FROM records AS r
                          WHERE r.job_id = i.job_id AND r.run = i.run AND r.item_id = i.id)) AS bytes
               FROM items AS i WHERE i.job_id = :job_id AND i.run = :run AND i.status = 'done' GROUP BY i.host_id) AS n
    ON n.host_id = h.id
 WHERE j.job_id = :job_id AND j.run = :run AND (h.pages <> coalesce(n.pages, 0) OR h.bytes <> coalesce(n.bytes, 0));

-- name: counter__last_commit
-- A chunk's counters are those that its last commit noted, unless items moved since.
WITH names (place, name) AS (VALUES (0, 'found'), (1, 'queued'), (2, 'done'), (3, 'failed'), (4, 'skipped'),
                                    (5, 'redirected'), (6, 'consulted'), (7, 'bytes'), (8, 'external'), (9, 'depth')),
compared AS (
    SELECT c.id, n.name, k.number,
           json_array(c.found, c.queued, c.done, c.failed, c.skipped, c.redirected, c.consulted, c.bytes, c.external,
                      c.depth)
               ->> n.place AS said,
           iif(n.name = 'depth', k.depth, k.counters ->> n.place) AS noted
      FROM chunks AS c JOIN runs AS j ON j.job_id = c.job_id AND j.run = c.run
      JOIN commits AS k ON k.job_id = c.job_id AND k.chunk_id = c.id AND k.seq = c.seq
      CROSS JOIN names AS n
     WHERE j.job_id = :job_id AND j.run = :run AND (c.moved = 0 OR n.name = 'depth'))
SELECT 'chunk ' || id || ' ' || name, 'says ' || said || ', its last commit (' || number || ') ' || coalesce(noted, 'nothing')
  FROM compared WHERE said IS NOT noted;

-- name: counter__commits
-- What a commit noted adds up, and neither what was found nor how deep it went ever becomes less.
SELECT 'commit ' || k.number,
       'notes ' || k.counters || ' and depth ' || k.depth || coalesce(', the one before it ' || k.found_before
       || ' found and depth ' || k.depth_before, '')
  FROM (SELECT number, counters, depth, counters ->> 0 AS found,
               (counters ->> 1) + (counters ->> 2) + (counters ->> 3) + (counters ->> 4) + (counters ->> 5)
               + (counters ->> 6) AS parts,
               lag(counters ->> 0) OVER one_after_another AS found_before, lag(depth) OVER one_after_another AS depth_before
          FROM commits JOIN runs AS j ON j.job_id = commits.job_id AND j.run = commits.run
         WHERE j.job_id = :job_id AND j.run = :run
        WINDOW one_after_another AS (PARTITION BY chunk_id ORDER BY seq)) AS k
 WHERE k.found IS NOT k.parts OR k.found < k.found_before OR k.depth < k.depth_before;

-- name: counter__items
-- A commit handled what stands settled by it and what it left unsettled; more than that only where some were opened again.
SELECT 'commit ' || k.number,
       'handled ' || k.items || ' items and left ' || k.unsettled || ' of them unsettled, ' || coalesce(n.settled, 0)
       || ' are settled by it'
  FROM commits AS k JOIN runs AS j ON j.job_id = k.job_id AND j.run = k.run JOIN chunks AS c ON c.id = k.chunk_id
  LEFT JOIN (SELECT i.settled_commit, count(*) AS settled
               FROM items AS i JOIN runs AS j ON j.job_id = i.job_id AND j.run = i.run
              WHERE j.job_id = :job_id AND j.run = :run AND i.attempts > 0 AND i.settled_commit IS NOT NULL
              GROUP BY i.settled_commit) AS n ON n.settled_commit = k.number
 WHERE j.job_id = :job_id AND j.run = :run
   AND (coalesce(n.settled, 0) > k.items - k.unsettled
        OR (coalesce(n.settled, 0) < k.items - k.unsettled AND c.reopened = 0));

-- name: counter__depths
-- A chunk went as deep as what it handled, or deeper (depths only become less), and never deeper than anything found.
SELECT 'chunk ' || c.id || ' depth',
       'says ' || c.depth || ' of ' || c.deepest || ', its items were handled at ' || coalesce(n.handled, 0)
       || ' and found at ' || coalesce(n.found, 0)
  FROM chunks AS c JOIN runs AS j ON j.job_id = c.job_id AND j.run = c.run
  LEFT JOIN (SELECT i.chunk_id, max(i.depth) AS found,
                    max(i.depth) FILTER (WHERE i.attempts > 0 AND i.settled_commit IS NOT NULL) AS handled
               FROM items AS i JOIN runs AS j ON j.job_id = i.job_id AND j.run = i.run
              WHERE j.job_id = :job_id AND j.run = :run GROUP BY i.chunk_id) AS n ON n.chunk_id = c.id
 WHERE j.job_id = :job_id AND j.run = :run AND (c.depth < n.handled OR c.depth > c.deepest OR c.deepest < n.found);

-- name: sequence__chunks
-- A chunk's commits are 1, 2, 3, ... up to its seq; no two have the same, so three numbers tell.
SELECT 'chunk ' || c.id,
       'stands at seq ' || c.seq || ', its ' || count(k.number) || ' commits go from '
       || coalesce(min(k.seq), 0) || ' to ' || coalesce(max(k.seq), 0)
  FROM chunks AS c
  JOIN runs AS j ON j.job_id = c.job_id AND j.run = c.run
  LEFT JOIN commits AS k ON k.job_id = c.job_id AND k.chunk_id = c.id
 WHERE j.job_id = :job_id AND j.run = :run
 GROUP BY c.id
HAVING c.seq <> count(k.number) OR c.seq <> coalesce(max(k.seq), 0) OR coalesce(min(k.seq), 1) <> 1;

-- name: sequence__numbers
-- A run's own commits have each number after the one at which it began, up to its last.
SELECT 'job', 'stands at commit ' || n.last || ', its ' || n.own || ' commits go from ' || n.first || ' to ' || n.highest
  FROM (SELECT coalesce(j.commit_no, (SELECT commit_no FROM jobs WHERE id = j.job_id)) AS last, j.after_commit,
               count(k.number) AS own, coalesce(min(k.number), 0) AS first, coalesce(max(k.number), 0) AS highest
          FROM runs AS j
          LEFT JOIN commits AS k ON k.job_id = j.job_id AND k.run = j.run AND k.number > j.after_commit
         WHERE j.job_id = :job_id AND j.run = :run
         GROUP BY j.run) AS n
 WHERE n.own <> n.last - n.after_commit OR (n.own > 0 AND n.highest <> n.last);

-- name: sequence__given
-- A run that was made from another one has no commits of that one beyond the point at which it was made.
SELECT 'commit ' || k.number, 'is of run ' || k.run || ', which began at commit ' || j.after_commit
       || coalesce(' from what stood at ' || j.base_commit, '')
  FROM runs AS j JOIN commits AS k ON k.job_id = j.job_id AND k.run = j.run
 WHERE j.job_id = :job_id AND j.run = :run AND k.number <= j.after_commit AND k.number > coalesce(j.base_commit, 0);

-- name: span__gaps
-- The commits' ranges of a segment follow each other without a gap, from 0 on.
SELECT s.name, 'commit ' || n.number || ' wrote from ' || n.start || ' on, the one before it up to ' || n.before
  FROM (SELECT k.segment_id, k.number, k.start,
               lag(k.until, 1, 0) OVER (PARTITION BY k.segment_id ORDER BY k.start, k.until) AS before
          FROM commits AS k WHERE k.job_id = :job_id AND k.run = :run AND k.until > k.start) AS n
  JOIN segments AS s ON s.id = n.segment_id JOIN runs AS j ON j.job_id = s.job_id AND j.run = s.run
 WHERE n.start <> n.before;

-- name: span__ends
-- The last range of a segment ends where the segment is committed to. What is lent stands among others' commits.
SELECT s.name, 'is committed to ' || s.committed || ', its commits wrote up to ' || coalesce(max(k.until), 0)
  FROM segments AS s JOIN runs AS j ON j.job_id = s.job_id AND j.run = s.run
  LEFT JOIN commits AS k ON k.segment_id = s.id AND k.until > k.start
 WHERE j.job_id = :job_id AND j.run = :run AND NOT s.lent
 GROUP BY s.id HAVING s.committed <> coalesce(max(k.until), 0);

-- name: span__epochs
-- Nobody wrote for a claim that there hasn't been.
SELECT s.name, 'is of epoch ' || s.epoch || ', its chunk is at ' || c.epoch
  FROM segments AS s JOIN runs AS j ON j.job_id = s.job_id AND j.run = s.run JOIN chunks AS c ON c.id = s.chunk_id
 WHERE j.job_id = :job_id AND j.run = :run AND s.epoch > c.epoch;

-- name: job__unfinished
-- What completed without a limit has nothing left to do.
SELECT 'job', 'is completed, and ' || count(*) || ' items wait, the first of them ' || min(i.url)
  FROM runs AS j JOIN items AS i ON i.job_id = j.job_id AND i.run = j.run
 WHERE j.job_id = :job_id AND j.run = :run
   AND (SELECT iif(j.status IS NULL, s.status = 'completed' AND s.reason IS NULL,
                   j.status = 'completed' AND j.reason IS NULL) FROM jobs AS s WHERE s.id = j.job_id)
   AND (i.status = 'pending' OR i.rejudge = 1)
HAVING count(*) > 0;

-- name: item__done_without_record
-- Each item that is done, redirected or consulted has its record.
SELECT i.url, 'is ' || i.status || ' and has no record'
  FROM items AS i JOIN runs AS j ON j.job_id = i.job_id AND j.run = i.run
 WHERE j.job_id = :job_id AND j.run = :run AND i.status IN ('done', 'redirected', 'consulted')
   AND NOT EXISTS (SELECT 1 FROM records AS r WHERE r.job_id = i.job_id AND r.run = i.run AND r.item_id = i.id);

-- name: item__pending_with_record
-- What has a record is settled.
SELECT i.url, 'is ' || i.status || ' and has a record'
  FROM records AS r JOIN runs AS j ON j.job_id = r.job_id AND j.run = r.run JOIN items AS i ON i.id = r.item_id
 WHERE j.job_id = :job_id AND j.run = :run AND i.status IN ('pending', 'skipped');

-- name: item__parent
SELECT i.url, 'was found on item ' || i.parent_id || ', which is missing'
  FROM items AS i JOIN runs AS j ON j.job_id = i.job_id AND j.run = i.run
 WHERE j.job_id = :job_id AND j.run = :run AND i.parent_id IS NOT NULL 
   AND NOT EXISTS (SELECT 1 FROM items AS p WHERE p.id = i.parent_id AND p.job_id = i.job_id AND p.run = i.run);

-- name: item__commits
-- Nothing was found or settled by a commit that is still to come.
SELECT i.url, 'was found by commit ' || i.found_commit || coalesce(' and settled by ' || i.settled_commit, '')
       || ', the job stands at ' || j.last
  FROM (SELECT r.job_id, r.run, coalesce(r.commit_no, (SELECT commit_no FROM jobs WHERE id = r.job_id)) AS last
          FROM runs AS r WHERE r.job_id = :job_id AND r.run = :run) AS j
  JOIN items AS i ON i.job_id = j.job_id AND i.run = j.run
 WHERE i.found_commit > j.last OR i.settled_commit > j.last;

-- name: record__lent
-- A run's own records lie in its own files; only a body that a revisit stands for may be lent.
SELECT i.url, 'its response lies in segment ' || s.name || ', which is lent to run ' || r.run
  FROM records AS r JOIN items AS i ON i.id = r.item_id JOIN segments AS s ON s.id = r.segment_id
 WHERE r.job_id = :job_id AND r.run = :run AND s.lent;

-- name: record__orphan
SELECT 'record of item ' || r.item_id, 'its item is missing'
  FROM records AS r JOIN runs AS j ON j.job_id = r.job_id AND j.run = r.run
 WHERE j.job_id = :job_id AND j.run = :run AND NOT EXISTS (SELECT 1 FROM items AS i WHERE i.id = r.item_id);

-- name: record__ordinals
-- An item's records are 0, 1, 2, ...
SELECT i.url, 'has ' || count(*) || ' records, numbered up to ' || max(r.ordinal)
  FROM records AS r JOIN runs AS j ON j.job_id = r.job_id AND j.run = r.run JOIN items AS i ON i.id = r.item_id
 WHERE j.job_id = :job_id AND j.run = :run
 GROUP BY r.item_id HAVING count(*) <> max(r.ordinal) + 1 OR min(r.ordinal) <> 0;

-- name: record__sizes
SELECT i.url, 'counts for ' || r.size || ' bytes, its data says ' || coalesce(r.data ->> 'size', 0)
  FROM records AS r JOIN runs AS j ON j.job_id = r.job_id AND j.run = r.run JOIN items AS i ON i.id = r.item_id
 WHERE j.job_id = :job_id AND j.run = :run AND r.size <> coalesce(r.data ->> 'size', 0);

-- name: record__outside_its_commit
-- A record's bytes lie in the range that its commit wrote. Primary key of commits.
SELECT i.url,
       iif(k.number IS NULL, 'commit ' || r.commit_no || ', which wrote it, is missing',
           'lies at ' || r.start || ' to ' || (r.start + r.length) || ' of segment ' || s.name
           || ', outside of what commit ' || r.commit_no || ' wrote')
  FROM records AS r JOIN runs AS j ON j.job_id = r.job_id AND j.run = r.run JOIN items AS i ON i.id = r.item_id
  LEFT JOIN commits AS k ON k.job_id = r.job_id AND k.run = r.run AND k.number = r.commit_no
  LEFT JOIN segments AS s ON s.id = r.segment_id
 WHERE j.job_id = :job_id AND j.run = :run
   AND (k.number IS NULL
        OR (r.segment_id IS NOT NULL
            AND (k.segment_id IS NOT r.segment_id OR r.start < k.start OR r.start + r.length > k.until)));

-- name: record__past_the_end
SELECT i.url, 'its bytes reach to ' || (r.start + r.length) || ', segment ' || s.name || ' is committed to ' || s.committed
  FROM records AS r JOIN runs AS j ON j.job_id = r.job_id AND j.run = r.run
  JOIN items AS i ON i.id = r.item_id JOIN segments AS s ON s.id = r.segment_id
 WHERE j.job_id = :job_id AND j.run = :run AND r.start + r.length > s.committed;

-- name: record__body_past_the_end
-- A revisit points to committed bytes only.
SELECT i.url, 'the body that it stands for reaches to ' || (r.body_start + r.body_length) || ', segment ' || s.name
       || ' is committed to ' || s.committed
  FROM records AS r JOIN runs AS j ON j.job_id = r.job_id AND j.run = r.run
  JOIN items AS i ON i.id = r.item_id JOIN segments AS s ON s.id = r.body_segment_id
 WHERE j.job_id = :job_id AND j.run = :run AND r.body_start + r.body_length > s.committed;

-- name: record__overlaps
-- No byte belongs to two records. Index records_place.
SELECT i.url, 'begins at ' || n.start || ' of segment ' || s.name || ', another record ends at ' || n.before
  FROM (SELECT r.item_id, r.segment_id, r.start,
               lag(r.start + r.length, 1, 0) OVER (PARTITION BY r.segment_id ORDER BY r.start, r.length) AS before
          FROM records AS r JOIN runs AS j ON j.job_id = r.job_id AND j.run = r.run
         WHERE j.job_id = :job_id AND j.run = :run AND r.segment_id IS NOT NULL) AS n
  JOIN items AS i ON i.id = n.item_id JOIN segments AS s ON s.id = n.segment_id
 WHERE n.start < n.before;
