-- The newest decisions below a number: those that were compared by their index, those that were not by looking at the
-- newest thousand entries that the comparison has not reached ($4; as a value, because row security keeps a subquery out
-- of the index). However many other entries stand between, this stays
-- small.
select c.seq, c.account, c.status, c.again_after
from (
    (
        select m.seq, m.account, m.status, m.again_after
        from matters m
        where m.project_id = $1 and m.seq < $2
        order by m.seq desc
        limit $3
    )
    union all
    (
        select w.seq, null, null, null
        from (
            select e.seq, e.kind
            from entries e
            where e.project_id = $1 and e.seq < $2 and e.seq >= $4
            order by e.seq desc
            limit 1000
        ) w
        where w.kind = 'decision'
        limit $3
    )
) c
order by c.seq desc, c.status nulls last
limit $3
