-- Open calls whose gateway fell silent, or that are older than the longest call; not those of which an observation, a
-- statement, or a statement that was not compared yet, speaks.
select c.seq, c.action, c.decision
from open_calls c
join reconciled r on r.project_id = c.project_id and c.seq < r.upto
join matters m on m.project_id = c.project_id and m.seq = c.seq
left join instances i on i.project_id = c.project_id and i.instance = c.instance
where c.project_id = $1
  and (c.at < $2 or greatest(c.at, coalesce(i.seen_at, 0)) < $3)
  and m.observed is null and m.remembered = '{}'
  and not exists (
      select 1 from entries e
      where e.project_id = c.project_id and e.action = c.action and e.seq >= r.upto
        and e.kind = 'execution' and e.decision = c.decision
  )
order by c.seq
limit $4
