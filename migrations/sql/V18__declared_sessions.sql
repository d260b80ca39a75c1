-- Sessions that vendors declare, the places in them that are taken, the hashes that they were told, and catalogues. Indexes, not
-- a record: the entries of kind `session`, `decision` and `catalog` are that. Every writer holds the lock of its project's head.
create table declared_sessions (
    project_id uuid   not null references projects,
    key_id     uuid   not null,                                -- the API key that declared it
    external   bytea  not null check (length(external) = 32), -- HMAC of the vendor's own id, under the service's key-encryption key
    session    uuid   not null,
    agent      uuid   not null,
    opened     bigint not null,                                -- seq of the entry
    head_hash  bytea  not null check (length(head_hash) = 32), -- hash of that entry
    closed     bigint,                                         -- seq of the entry; null while it is open
    primary key (project_id, key_id, external)
);
create unique index declared_sessions_once on declared_sessions (project_id, session);

-- One action a place: what asks for it again is the same action, or refused.
create table declared_places (
    project_id  uuid   not null references projects,
    session     uuid   not null,
    place       bigint not null,                               -- the vendor's own seq
    fingerprint bytea  not null check (length(fingerprint) = 32),
    seq         bigint not null,                               -- of the newest decision on it
    primary key (project_id, session, place)
);

-- What may be named as the one before. Found by session and hash; the hash is random, so no index of it is unique.
create table issued_hashes (
    project_id uuid   not null references projects,
    session    uuid   not null,
    seq        bigint not null,                                -- of the entry
    hash       bytea  not null check (length(hash) = 32),      -- of the same
    primary key (project_id, session, seq)
);
create index issued_hashes_by_hash on issued_hashes (project_id, session, hash);

create table catalogs (
    project_id uuid    not null references projects,
    seq        bigint  not null,
    at         bigint  not null,
    digest     bytea   not null check (length(digest) = 32),   -- of what is stated, without the signature
    bytes      bytea   not null check (length(bytes) = 32),    -- digest of what came
    provider   text,                                           -- whose key signed it; null where no key that counts did
    primary key (project_id, seq)
);
create index catalogs_by_digest on catalogs (project_id, digest);
create index catalogs_unsigned on catalogs (project_id, at) where provider is null;

do $$
declare
    named text;
begin
    foreach named in array array['declared_sessions', 'declared_places', 'issued_hashes', 'catalogs']
    loop
        execute format('alter table %I enable row level security', named);
        execute format('alter table %I force row level security', named);
        execute format(
            'create policy one_project on %I using (project_id = current_setting(''counterfoil.project'')::uuid) '
            'with check (project_id = current_setting(''counterfoil.project'')::uuid)', named);
    end loop;
end
$$;

grant select, insert, update (closed) on declared_sessions to counterfoil_app;
grant select, insert, update (fingerprint, seq) on declared_places to counterfoil_app;
grant select, insert on issued_hashes, catalogs to counterfoil_app;
grant select on declared_sessions, declared_places, issued_hashes, catalogs to counterfoil_auditor;
