-- The next entries with their bodies: at most $4 of them, and no more than fit into $5 bytes (one, if it is larger).
-- octet_length does not read a body that is stored apart.
select seq, at, kind, body_digest, prev, body, ''::bytea as path, null::text as note
from (
    select p.*, sum(coalesce(octet_length(body), 0)) over (order by seq) - coalesce(octet_length(body), 0) as before
    from (
        select seq, at, kind, body_digest, prev, body
        from entries
        where project_id = $1 and seq >= $2 and seq < $3
        order by seq
        limit $4
    ) p
) q
where before < $5
order by seq
