-- Directory: tokens of people who answer, grant and stop. Like the other digests here they are looked up before a project is
-- known. The secret is 256 random bits, shown once and kept nowhere; `behalf` is a pseudonym and becomes public.
create table operators (
    digest     bytea   primary key check (length(digest) = 32),
    project_id uuid    not null,
    behalf     text    not null,
    role       text    not null check (role in ('viewer', 'operator', 'admin')),
    local      boolean not null,                   -- whoever runs programs on that machine can read it
    created_at bigint  not null,
    revoked_at bigint
);
-- One name, one token: what it did is found by its name, and it is taken away by its name.
create unique index operators_once on operators (project_id, behalf) where revoked_at is null;

create function directory_operator(asked bytea)
returns table (digest bytea, project_id uuid, behalf text, role text, local boolean)
language sql stable security definer set search_path = pg_catalog, pg_temp
as $$
    select o.digest, o.project_id, o.behalf, o.role, o.local
    from public.operators o
    where o.digest = asked and o.revoked_at is null
    limit 1
$$;

revoke all on function directory_operator(bytea) from public;
grant execute on function directory_operator(bytea) to counterfoil_app;
