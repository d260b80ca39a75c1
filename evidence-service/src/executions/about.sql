select
    exists (
        select 1 from entries e
        where e.project_id = $1 and e.action = asked.action and e.kind = 'decision' and e.body_digest = asked.decision
    ) as decided,
    (
        select count(*) from acceptances a
        where a.project_id = $1 and a.action = asked.action and a.provider is not null
    ) as held,
    charged.count as charged,
    charged.since as charged_since,
    coalesce((
        select json_agg(json_build_object('seq', a.seq, 'provider', a.provider, 'bytes', encode(a.bytes, 'hex'))
                        order by a.seq)
        from acceptances a
        where a.project_id = $1 and a.action = asked.action and a.fingerprint = asked.fingerprint
          and (a.provider is not null or a.bytes = asked.bytes)
    ), '[]') as same,
    coalesce((
        select json_agg(json_build_object('x', k.x, 'provider', k.provider, 'introduced', k.introduced,
                                          'ended', k.ended) order by k.introduced)
        from signing_keys k
        where k.project_id = $1 and k.purpose = 'execution'
          and (k.thumbprint = asked.kid
               or asked.named and k.thumbprint in (
                   select n.thumbprint from key_aliases n where n.project_id = $1 and n.alias = asked.kid
               ))
    ), '[]') as keys
from unnest($2::uuid[], $3::bytea[], $4::bytea[], $5::bytea[], $6::text[], $7::text[], $8::boolean[])
    with ordinality as asked (action, decision, fingerprint, bytes, sender, kid, named, place)
cross join lateral (
    select count(*) as count, min(a.at) as since
    from acceptances a
    where a.project_id = $1 and a.sender = asked.sender and a.charged
      and a.at > (extract(epoch from clock_timestamp()) * 1000)::bigint - 3600000
) charged
order by asked.place
