-- Directory: the short list of tables outside tenancy.
--
-- They answer "which project is this?" before a project is known, so they cannot be scoped by one. The app role has
-- no right on the tables; it asks functions that return one row, so that nobody can list tenants or digests.

create table slots (
    slot       bigint primary key,
    public_id  text   not null unique check (public_id ~ '^[a-z0-9]{8}$'),
    project_id uuid   not null unique,
    created_at bigint not null
);

-- A digest of 256 random bits; the secret itself is shown once and kept nowhere.
create table api_key_digests (
    digest     bytea primary key check (length(digest) = 32),
    project_id uuid not null,
    key_id     uuid not null
);

create table service_tokens (
    digest     bytea  primary key check (length(digest) = 32),
    token_id   uuid   not null,
    projects   uuid[] not null,
    kids       text[] not null,
    created_at bigint not null,
    revoked_at bigint
);

create function directory_project(asked_slot bigint, asked_public_id text)
returns table (project_id uuid)
language sql stable security definer set search_path = pg_catalog, pg_temp
as $$
    select s.project_id from public.slots s where s.slot = asked_slot and s.public_id = asked_public_id limit 1
$$;

-- One row after the named slot: the self-audit walks the projects with it.
create function directory_next_project(after_slot bigint)
returns table (slot bigint, project_id uuid)
language sql stable security definer set search_path = pg_catalog, pg_temp
as $$
    select s.slot, s.project_id from public.slots s where s.slot > after_slot order by s.slot limit 1
$$;

create function directory_api_key(asked bytea)
returns table (digest bytea, project_id uuid, key_id uuid)
language sql stable security definer set search_path = pg_catalog, pg_temp
as $$
    select k.digest, k.project_id, k.key_id from public.api_key_digests k where k.digest = asked limit 1
$$;

create function directory_service_token(asked bytea)
returns table (digest bytea, token_id uuid, projects uuid[], kids text[])
language sql stable security definer set search_path = pg_catalog, pg_temp
as $$
    select t.digest, t.token_id, t.projects, t.kids
    from public.service_tokens t
    where t.digest = asked and t.revoked_at is null
    limit 1
$$;

-- Which cluster, and which line of its history, this session talks to: the restore guard compares them.
create function database_identity()
returns table (system_identifier bigint, timeline text)
language sql stable security definer set search_path = pg_catalog, pg_temp
as $$
    select s.system_identifier, left(pg_walfile_name(pg_current_wal_insert_lsn()), 8) from pg_control_system() s
$$;

revoke all on function directory_project(bigint, text), directory_next_project(bigint), directory_api_key(bytea),
    directory_service_token(bytea), database_identity() from public;
grant execute on function directory_project(bigint, text), directory_next_project(bigint), directory_api_key(bytea),
    directory_service_token(bytea), database_identity() to counterfoil_app, counterfoil_sweeper;
grant execute on function directory_project(bigint, text), directory_next_project(bigint)
    to counterfoil_reader, counterfoil_auditor;
