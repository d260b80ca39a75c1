-- What each API key did since a quiet half hour: counts of its decisions, as rules may ask for them. Every writer of this
-- table holds the lock of its project's head and counts what the same commit numbers, so that nothing is counted twice or
-- forgotten; an auditor counts again from the bodies. Counts only: nothing of arguments or nouns.
create table sessions (
    project_id uuid  not null references projects,
    key_id     uuid  not null,
    running    jsonb not null,                     -- counterfoil_core::session::Running
    primary key (project_id, key_id)
);

alter table sessions enable row level security;
alter table sessions force row level security;
create policy one_project on sessions
    using (project_id = current_setting('counterfoil.project')::uuid)
    with check (project_id = current_setting('counterfoil.project')::uuid);

grant select, insert, update (running) on sessions to counterfoil_app;
grant select on sessions to counterfoil_sweeper, counterfoil_auditor;
