-- Packages that go: older than $2; beyond the newest $3 of their kind; or holding a body that was erased since.
select package_id
from (
    select package_id, first, size, finished_at,
           row_number() over (partition by audience = 'public' order by finished_at desc) as place
    from packages
    where project_id = $1 and state in ('done', 'failed')
) p
where finished_at < $2
   or place > $3
   or exists (
       select 1
       from tombstones t
       where t.project_id = $1 and t.seq >= p.size and t.first_seq < p.size and t.last_seq >= p.first
   )
