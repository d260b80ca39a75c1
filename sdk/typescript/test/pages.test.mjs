// P7: what a page runs is this SDK's verifier, and nothing else.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

test("verify.js and verify.html are what this SDK's sources give, byte for byte", () => {
  const make = fileURLToPath(new URL("../../../evidence-service/web/make.mjs", import.meta.url));
  const { status, stderr } = spawnSync(process.execPath, [make, "--check"], { encoding: "utf8" });
  assert.equal(stderr, "");
  assert.equal(status, 0);
});
