-- Findings among the newest 200 that have no row in `findings` yet.
select e.seq, e.at, e.kind, e.body_digest, e.prev, e.body, e.path, null::text as note
from (
    select * from entries n
    where n.project_id = $1 and n.kind = 'finding'
    order by n.seq desc
    limit 200
) e
where not exists (select 1 from findings f where f.project_id = $1 and f.seq = e.seq)
order by e.seq desc
limit $2
