-- The service audits itself as the app role, and an absent body is only right under a tombstone.
grant select on tombstones to counterfoil_app;
