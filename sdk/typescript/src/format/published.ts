/** The published shapes: formats/statements.json, which is the file of docs/formats/examples word for word. */
import { readFileSync } from "node:fs";

export const PUBLISHED: unknown = JSON.parse(readFileSync(new URL("../../formats/statements.json", import.meta.url), "utf8"));
