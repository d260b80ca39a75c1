-- Texts of grants, one row a text: what was given, and each renewal or shortening of it. A grant stands by the row that
-- nothing ended, until its time. Texts stay after that, as published rules do: a decision that was made under one can be
-- evaluated again.
create table grants (
    project_id uuid   not null references projects,
    seq        bigint not null,                                   -- of the grant/v1 that says so
    grant_id   uuid   not null,
    agent      uuid   not null,
    service    text   not null,
    verb       text   not null,
    digest     bytea  not null check (length(digest) = 32),
    document   text   not null,                                   -- names its noun in clear
    until      bigint not null,
    ended      bigint,                                            -- seq of what took its place or took it away
    primary key (project_id, seq)
);
create unique index grants_standing on grants (project_id, grant_id) where ended is null;
create index grants_until on grants (project_id, until) where ended is null;

alter table grants enable row level security;
alter table grants force row level security;
create policy one_project on grants
    using (project_id = current_setting('counterfoil.project')::uuid)
    with check (project_id = current_setting('counterfoil.project')::uuid);

grant select, insert, update (ended) on grants to counterfoil_app;
grant select (project_id, seq, until, ended) on grants to counterfoil_reader;
grant select on grants to counterfoil_auditor;
