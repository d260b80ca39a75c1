-- How long bodies are kept, and what the sweep that empties them may do.

-- A setting: its changes are settings/v1 entries, and the audit compares this column with the newest of them.
alter table projects add column retention_days smallint not null default 90
    check (retention_days between 1 and 3650);
grant update (retention_days) on projects to counterfoil_app;

-- How far bodies of a project were emptied because their days had passed: of all entries below `upto`.
create table swept (
    project_id uuid   primary key references projects,
    upto       bigint not null check (upto >= 0)
);
alter table swept enable row level security;
alter table swept force row level security;
create policy one_project on swept using (project_id = current_setting('counterfoil.project')::uuid)
    with check (project_id = current_setting('counterfoil.project')::uuid);

grant select on swept to counterfoil_app;
grant select, insert, update on swept to counterfoil_sweeper;

-- The trigger on entries asks for each row that is emptied which tombstones this transaction appended.
create index tombstones_by_transaction on tombstones (project_id, appended);

-- A tombstone is appended like everything else; this is what every append reads under the head's lock. Never the
-- principal, and never a digest of a key.
grant select (project_id, key_id, agent, revoked_at) on credentials to counterfoil_sweeper;
grant select, delete on idempotency to counterfoil_sweeper;

-- What is still due of a provider is not erased under its feet; what nobody waits for goes with the body.
grant select on reconciled, matters to counterfoil_sweeper;
grant select, delete on instances, open_calls to counterfoil_sweeper;

-- A principal can be forgotten and never renamed.
create function only_forget_principal() returns trigger
language plpgsql set search_path = pg_catalog, pg_temp
as $$
begin
    if new.principal is distinct from old.principal and new.principal is not null then
        raise exception 'a principal can be forgotten, not changed' using errcode = 'restrict_violation';
    end if;
    return new;
end
$$;
create trigger credentials_only_forget before update on credentials
    for each row execute function only_forget_principal();
alter table credentials enable always trigger credentials_only_forget;
grant update (principal) on credentials to counterfoil_app;
