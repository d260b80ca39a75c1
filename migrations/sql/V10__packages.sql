-- Packages that were asked for, and how far each is. A work list: the files lie in the service's folder, and all of
-- them can be made again.
create table packages (
    project_id  uuid   not null references projects,
    package_id  uuid   not null,
    audience    text   not null check (audience in ('public', 'own', 'rules')),
    first       bigint not null check (first >= 0),
    state       text   not null check (state in ('waiting', 'running', 'done', 'failed')),
    asked_at    bigint not null,
    size        bigint,                                 -- of the tree it ends with, once it was begun
    done        bigint not null default 0,              -- entries written so far
    attempts    int    not null default 0,
    worker      uuid,                                   -- who makes it, until when, by the database's clock
    lease_until bigint,
    failure     text,
    finished_at bigint,
    primary key (project_id, package_id)
);

-- One at a time for the project, and one for strangers, who cannot keep the project from its own.
create unique index packages_one_at_a_time on packages (project_id, (audience = 'public'))
    where state in ('waiting', 'running');

alter table packages enable row level security;
alter table packages force row level security;
create policy one_project on packages using (project_id = current_setting('counterfoil.project')::uuid)
    with check (project_id = current_setting('counterfoil.project')::uuid);

grant select, insert, update, delete on packages to counterfoil_app;
