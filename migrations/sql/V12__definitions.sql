-- Tool definitions as gateways saw them listed, so that a page can show what changed. Texts only: the digests that
-- decide stand in the registry and in decisions. Lines that look like an address are left out before they get here.
create table definitions (
    project_id uuid   not null references projects,
    provider   text   not null,
    tool       text   not null,
    digest     bytea  not null check (length(digest) = 32),
    pin        bytea  not null check (length(pin) = 32),       -- what the registry in force pinned when it was last seen
    at         bigint not null,                                -- when it was last seen
    lines      text   not null,                                -- indented JSON
    primary key (project_id, provider, tool, digest)
);

alter table definitions enable row level security;
alter table definitions force row level security;
create policy one_project on definitions
    using (project_id = current_setting('counterfoil.project')::uuid)
    with check (project_id = current_setting('counterfoil.project')::uuid);

grant select, insert, update (pin, at) on definitions to counterfoil_app;
grant select on definitions to counterfoil_reader;
