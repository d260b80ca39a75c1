-- What was said of some actions: of each so many statements at most, however many name it.
select e.seq, e.at, e.kind, e.body_digest, e.prev, e.body, e.path, null::text as note
from unnest($2::uuid[]) as a (action)
cross join lateral (
    select * from entries s
    where s.project_id = $1 and s.action = a.action and s.kind in ('decision', 'observation', 'execution')
    order by s.seq
    limit $3
) e
order by e.seq
