// One of two providers on one machine: presents every call again and again, and prints how many were admitted.
import { readFileSync } from "node:fs";
import { Guard, fileStore } from "../dist/capability.js";
import { KeySet } from "../dist/verify.js";

const { folder, keys, rounds, options, calls } = JSON.parse(readFileSync(process.argv[2], "utf8"));
const guard = new Guard({ ...options, keys: KeySet.parse(keys), store: fileStore(folder) });
const presented = Array.from({ length: rounds }, () => calls.map((params) => guard.admit(params).then(() => 1, () => 0))).flat();
console.log((await Promise.all(presented)).reduce((sum, one) => sum + one, 0));
