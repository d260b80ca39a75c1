-- The same conditions as when they were read, now under the head's lock.
delete from open_calls c
using reconciled r, matters m
where c.project_id = $1 and c.seq = any($2)
  and r.project_id = c.project_id and c.seq < r.upto
  and m.project_id = c.project_id and m.seq = c.seq and m.observed is null and m.remembered = '{}'
  and not exists (
      select 1 from entries e
      where e.project_id = c.project_id and e.action = c.action and e.seq >= r.upto
        and e.kind = 'execution' and e.decision = c.decision
  )
