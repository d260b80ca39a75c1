-- Calls that may go out and of which nobody has said yet what became of them: a work list, not a record. The record
-- is in entries; a row lost here costs a finding that comes late, never one that is wrong.

-- When each gateway process was last heard. One that fell silent says nothing about its open calls any more.
create table instances (
    project_id uuid   not null references projects,
    instance   uuid   not null,
    seen_at    bigint not null,
    primary key (project_id, instance)
);

create table open_calls (
    project_id uuid   not null,
    seq        bigint not null,
    action     uuid   not null,
    decision   bytea  not null check (length(decision) = 32),
    instance   uuid   not null,
    at         bigint not null,
    finding    bytea           check (length(finding) = 32),     -- OUTCOME_UNKNOWN, once it was found
    came       bigint,                                           -- the observation that came after it
    primary key (project_id, seq)
);
create index open_calls_by_decision on open_calls (project_id, decision);

do $$
declare
    named text;
begin
    foreach named in array array['instances', 'open_calls']
    loop
        execute format('alter table %I enable row level security', named);
        execute format('alter table %I force row level security', named);
        execute format(
            'create policy one_project on %I using (project_id = current_setting(''counterfoil.project'')::uuid) '
            'with check (project_id = current_setting(''counterfoil.project'')::uuid)', named);
    end loop;
end
$$;

grant select, insert, update on instances to counterfoil_app;
grant select, insert, delete, update (finding, came) on open_calls to counterfoil_app;
