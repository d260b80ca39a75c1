-- Entries from $2 to $3 (exclusive) of project $1, as far as a page looks at them: every second one is a decision, most
-- others are observations, the rest findings and closed days. Only the newest of them keep their bodies, in which the
-- action $8 becomes their own.
with numbered as (
    select s.seq,
           case when s.seq % 30000 = 15 then 'epoch'
                when s.seq % 10 = 1 then 'finding'
                when s.seq % 2 = 0 then 'decision'
                else 'observation' end as kind,
           ('00000000-0000-7000-8000-' || lpad(to_hex(s.seq / 2), 12, '0'))::uuid as action
    from generate_series($2::bigint, $3::bigint - 1) as s (seq)
), named as (
    select n.*, 'act_' || replace(n.action::text, '-', '') as name from numbered n
), placed as (
    insert into entries (project_id, seq, at, kind, body_digest, prev, hash, body, path, checkpoint_size, action,
                         decision, agent, verdict, reason, provider, tool, status)
    select $1, n.seq, 1700000000000 + n.seq * 2500, n.kind,
           sha256(int8send(n.seq)), sha256(int8send(n.seq)), sha256(int8send(n.seq)),
           case when n.kind = 'epoch' then $6::bytea
                when n.kind = 'finding' then $7::bytea
                when n.seq < $3::bigint - 2000 then null
                when n.kind = 'decision' then convert_to(replace(convert_from($4::bytea, 'UTF8'), $8, n.name), 'UTF8')
                else convert_to(replace(convert_from($5::bytea, 'UTF8'), $8, n.name), 'UTF8') end,
           '', n.seq + 1,
           case when n.kind = 'epoch' then null else n.action end,
           null, null,
           case when n.kind = 'decision' then case when n.seq % 10 = 0 then 'DENY' else 'ALLOW' end end,
           null,
           case when n.kind = 'decision' then 'p' || n.seq % 7 end,
           'tool', null
    from named n
    returning seq, kind, action, body_digest
), compared as (
    insert into matters (project_id, seq, decision, action, account, status)
    select $1, p.seq, p.body_digest, p.action, 'governed', case when p.seq % 8 = 0 then 'unsigned' else 'matched' end
    from placed p where p.kind = 'decision'
    returning status
), told as (
    insert into tallies as t (project_id, account, status, calls)
    select $1, 'governed', c.status, count(*) from compared c group by c.status
    on conflict (project_id, account, status) do update set calls = t.calls + excluded.calls
), listed as (
    insert into findings (project_id, seq, digest, code, action, about, apart, cleared)
    select $1, p.seq, p.body_digest, 'MISSING_EXECUTION', p.action, p.seq, p.seq % 40 = 1,
           case when p.seq % 20 <> 11 and p.seq % 40 <> 1 then p.seq end
    from placed p where p.kind = 'finding'
)
insert into reconciled (project_id, upto) values ($1, $3)
on conflict (project_id) do update set upto = excluded.upto
