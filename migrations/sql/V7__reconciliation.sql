-- Where the comparison of decisions, observations and provider statements stands. A work list and indexes, not a
-- record: the findings themselves are entries, and all of this can be made again from them.

-- How far the entries of a project were compared: all below `upto`.
create table reconciled (
    project_id uuid   primary key references projects,
    upto       bigint not null check (upto >= 0)
);

-- One row a decision that was compared. `again_after`: from then on time alone may change its status.
create table matters (
    project_id  uuid   not null,
    seq         bigint not null,                   -- of the decision
    decision    bytea  not null check (length(decision) = 32),
    action      uuid   not null,
    account     text   not null check (account in ('governed', 'rehearsal', 'break_glass')),
    status      text   not null,
    again_after bigint,
    primary key (project_id, seq)
);
create index matters_due on matters (project_id, again_after) where again_after is not null;

-- How many decisions stand how: the sums of `matters`, so that a page need not count a million rows.
create table tallies (
    project_id uuid   not null references projects,
    account    text   not null,
    status     text   not null,
    calls      bigint not null check (calls >= 0),
    primary key (project_id, account, status)
);

-- Findings by what they are about. `apart`: about a forged or foreign statement, capped per key and hour, shown by itself.
create table findings (
    project_id uuid    not null,
    seq        bigint  not null,                   -- of the finding
    digest     bytea   not null check (length(digest) = 32),
    code       text    not null,
    action     uuid,
    statement  bytea            check (length(statement) = 32),
    about      bigint,                             -- seq of what it is about
    apart      boolean not null,
    cleared    bigint,                             -- seq of the clearance
    resolved   bigint,                             -- seq of the newest resolution
    primary key (project_id, seq)
);
create unique index findings_once on findings (project_id, action, code, statement) nulls not distinct;
create index findings_open on findings (project_id, apart, seq) where cleared is null;

-- Entries other than calls are few: keys, rules, findings, coverage, epochs are found without reading the calls between.
create index entries_by_kind on entries (project_id, kind, seq) where kind not in ('decision', 'observation', 'execution');

do $$
declare
    named text;
begin
    foreach named in array array['reconciled', 'matters', 'tallies', 'findings']
    loop
        execute format('alter table %I enable row level security', named);
        execute format('alter table %I force row level security', named);
        execute format(
            'create policy one_project on %I using (project_id = current_setting(''counterfoil.project'')::uuid) '
            'with check (project_id = current_setting(''counterfoil.project'')::uuid)', named);
    end loop;
end
$$;

grant select, insert, update on reconciled, matters, tallies, findings to counterfoil_app;
grant select on reconciled, matters, tallies, findings to counterfoil_reader;
