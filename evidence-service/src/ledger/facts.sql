-- What is asked for one by one is read one by one: `offset 0` keeps the planner from reading all of a project instead,
-- which it prefers while the ledger is nearly empty, in a plan that stays when it is not. So this statement runs under
-- the plan that it was given first (`ENTER_TO_APPEND`): made anew for each commit, the plan costs more than the reading.
-- What follows in the transaction is planned as usual.
select
    set_config('plan_cache_mode', 'auto', true),
    (extract(epoch from clock_timestamp()) * 1000)::bigint as clock,
    coalesce((
        select json_agg(json_build_object('thumbprint', k.thumbprint, 'purpose', k.purpose,
                                          'ended', k.ended is not null, 'provider', k.provider,
                                          'used', k.used is not null))
        from signing_keys k
        where k.project_id = $1 and k.thumbprint = any($2)
    ), '[]') as keys,
    coalesce((
        select json_agg(json_build_object('key', c.key_id, 'agent', c.agent, 'revoked', c.revoked_at is not null,
                                          'running', (select s.running from sessions s
                                                      where s.project_id = $1 and s.key_id = c.key_id)))
        from credentials c
        where c.project_id = $1 and c.key_id = any($3)
    ), '[]') as credentials,
    coalesce((
        select json_agg(json_build_object('env', i.env, 'credential', i.credential, 'key', i.key,
                                          'fingerprint', encode(i.fingerprint, 'hex'), 'seq', i.seq))
        from unnest($4::text[], $5::uuid[], $6::text[]) as asked (env, credential, key)
        cross join lateral (
            select * from idempotency i
            where i.project_id = $1 and i.env = asked.env and i.credential = asked.credential and i.key = asked.key
            offset 0
        ) i
    ), '[]') as keyed,
    coalesce((
        select json_agg(json_build_object('seq', found.seq, 'digest', encode(found.body_digest, 'hex')))
        from (select distinct asked.action from unnest($7::uuid[]) as asked (action)) asked
        cross join lateral (
            select e.seq, e.body_digest from entries e
            where e.project_id = $1 and e.action = asked.action offset 0
        ) found
        where found.body_digest = any($8)
    ), '[]') as twins
