-- Append-only, for every role. ENABLE ALWAYS: not even session_replication_role = replica steps around them.
-- A superuser can still drop a trigger; that is what receipts, checkpoints and witnesses are for.

create function refuse_change() returns trigger
language plpgsql set search_path = pg_catalog, pg_temp
as $$
begin
    raise exception '% of % is refused: rows are only ever added', tg_op, tg_table_name
        using errcode = 'restrict_violation';
end
$$;

create function refuse_update_but_by_sweeper() returns trigger
language plpgsql set search_path = pg_catalog, pg_temp
as $$
begin
    if current_user <> 'counterfoil_sweeper' then
        raise exception 'UPDATE of % is refused: rows are only ever added', tg_table_name
            using errcode = 'restrict_violation';
    end if;
    return null;
end
$$;

-- Security invoker on purpose: it sees what the sweeper sees, row-level security included.
create function empty_body_under_tombstone() returns trigger
language plpgsql set search_path = pg_catalog, pg_temp
as $$
declare
    emptied public.entries;
begin
    emptied := old;
    emptied.body := null;
    if new is distinct from emptied or old.body is null then
        raise exception 'only a body can be emptied, and only once' using errcode = 'restrict_violation';
    end if;
    if old.kind in ('finding', 'clearance', 'resolution', 'epoch', 'tombstone', 'key', 'rules', 'registry', 'kill',
                    'resume', 'incident') then
        raise exception 'a body of kind % cannot be erased', old.kind using errcode = 'restrict_violation';
    end if;
    if not exists (
        select 1
        from public.tombstones t
        join public.entries e on e.project_id = t.project_id and e.seq = t.seq and e.kind = 'tombstone'
        where t.project_id = old.project_id
          and old.seq between t.first_seq and t.last_seq
          and t.appended = pg_current_xact_id()
    ) then
        raise exception 'entry % has no tombstone in this transaction', old.seq using errcode = 'restrict_violation';
    end if;
    return new;
end
$$;

create trigger entries_no_update before update on entries
    for each statement execute function refuse_update_but_by_sweeper();
create trigger entries_body_only before update on entries
    for each row execute function empty_body_under_tombstone();
create trigger entries_no_delete before delete or truncate on entries
    for each statement execute function refuse_change();
create trigger checkpoints_no_change before update or delete or truncate on checkpoints
    for each statement execute function refuse_change();
create trigger documents_no_change before update or delete or truncate on documents
    for each statement execute function refuse_change();
create trigger tombstones_no_change before update or delete or truncate on tombstones
    for each statement execute function refuse_change();
create trigger heads_no_delete before delete or truncate on heads
    for each statement execute function refuse_change();

-- A second lock on the door: whatever the program thinks, a head never goes back.
create function head_only_grows() returns trigger
language plpgsql set search_path = pg_catalog, pg_temp
as $$
begin
    if new.project_id <> old.project_id or new.size < old.size or new.last_at < old.last_at
       or new.control < old.control or new.floor < old.floor or new.gen < old.gen
       or (new.size = old.size and (new.root <> old.root or new.last_hash <> old.last_hash)) then
        raise exception 'a head never goes back' using errcode = 'restrict_violation';
    end if;
    return new;
end
$$;
create trigger heads_only_grow before update on heads for each row execute function head_only_grows();

alter table entries     enable always trigger entries_no_update;
alter table entries     enable always trigger entries_body_only;
alter table entries     enable always trigger entries_no_delete;
alter table checkpoints enable always trigger checkpoints_no_change;
alter table documents   enable always trigger documents_no_change;
alter table tombstones  enable always trigger tombstones_no_change;
alter table heads       enable always trigger heads_no_delete;
alter table heads       enable always trigger heads_only_grow;
