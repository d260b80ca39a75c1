-- What public pages need besides the record: who may see one, and sums, so that none counts a million rows.

-- private: only with the project's own key. unlisted: whoever has the address, no search engine. public: everybody.
alter table projects add column visibility text not null default 'unlisted'
    check (visibility in ('private', 'unlisted', 'public'));
grant update (visibility) on projects to counterfoil_app;

-- How many compared decisions there are of each provider, verdict, account and status: the sums of `matters` beside
-- what its decision's entry says. An index, not a record: a page shows whether they agree with the signed counts.
create table call_tallies (
    project_id uuid   not null references projects,
    provider   text   not null,                    -- empty where the call named none that is listed
    verdict    text   not null,
    account    text   not null,
    status     text   not null,
    calls      bigint not null check (calls >= 0),
    primary key (project_id, provider, verdict, account, status)
);

-- Runs as whoever compares, under its row-level security. `fresh` and `gone` are the rows of one statement.
create function tally_calls() returns trigger
language plpgsql set search_path = pg_catalog, pg_temp
as $$
begin
    if tg_op <> 'INSERT' then
        update public.call_tallies t set calls = t.calls - g.calls
        from (
            select m.project_id, coalesce(e.provider, '') as provider, coalesce(e.verdict, '') as verdict,
                   m.account, m.status, count(*) as calls
            from gone m
            left join public.entries e on e.project_id = m.project_id and e.seq = m.seq
            group by 1, 2, 3, 4, 5
        ) g
        where t.project_id = g.project_id and t.provider = g.provider and t.verdict = g.verdict
          and t.account = g.account and t.status = g.status;
    end if;
    if tg_op <> 'DELETE' then
        insert into public.call_tallies as t (project_id, provider, verdict, account, status, calls)
        select m.project_id, coalesce(e.provider, ''), coalesce(e.verdict, ''), m.account, m.status, count(*)
        from fresh m
        left join public.entries e on e.project_id = m.project_id and e.seq = m.seq
        group by 1, 2, 3, 4, 5
        order by 1, 2, 3, 4, 5
        on conflict (project_id, provider, verdict, account, status) do update set calls = t.calls + excluded.calls;
    end if;
    return null;
end
$$;

create trigger matters_tally_insert after insert on matters
    referencing new table as fresh for each statement execute function tally_calls();
create trigger matters_tally_update after update on matters
    referencing old table as gone new table as fresh for each statement execute function tally_calls();
create trigger matters_tally_delete after delete on matters
    referencing old table as gone for each statement execute function tally_calls();
alter table matters enable always trigger matters_tally_insert;
alter table matters enable always trigger matters_tally_update;
alter table matters enable always trigger matters_tally_delete;

-- What was found and then cleared, newest first, without reading what is open.
create index findings_cleared on findings (project_id, seq) where cleared is not null;
-- What was found about one action.
create index findings_by_action on findings (project_id, action, seq) where action is not null;

alter table call_tallies enable row level security;
alter table call_tallies force row level security;
create policy one_project on call_tallies using (project_id = current_setting('counterfoil.project')::uuid)
    with check (project_id = current_setting('counterfoil.project')::uuid);

grant select, insert, update on call_tallies to counterfoil_app;
grant select on call_tallies to counterfoil_reader;
