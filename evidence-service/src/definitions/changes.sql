select n.provider, n.tool, n.pin, n.digest, n.at, n.lines as listed, p.lines as pinned
from (
    select distinct on (provider, tool) provider, tool, digest, pin, at, lines
    from definitions
    where project_id = $1
    order by provider, tool, at desc, digest
) n
left join definitions p
    on p.project_id = $1 and p.provider = n.provider and p.tool = n.tool and p.digest = n.pin
where n.digest <> n.pin
order by n.at desc, n.provider, n.tool
limit $2
