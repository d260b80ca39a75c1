/** Whether a log still begins with what somebody holds of it. */
import { now } from "../format/now.js";
import { continuation, placeOf } from "../verify/continuation.js";
import type { HeldNote } from "../receipts.js";
import type { Verified } from "../verify.js";
import type { Tiles } from "./tiles.js";

export interface Alarm {
  /** `shrank`: smaller than it was. `forked`: not a continuation. `missing`: an entry that we hold stands elsewhere. */
  kind: "shrank" | "forked" | "missing";
  /** The signed notes that cannot both be true of one log. */
  notes: string[];
  /** Where, for `missing`. */
  seq: number | null;
}

type Found = { alarm: Alarm | null; count: number };

export async function contradiction(held: HeldNote | null, newest: HeldNote, receipts: Verified[], tiles: Tiles): Promise<Found> {
  const alarm = (kind: Alarm["kind"], notes: string[], seq: number | null = null) => ({ alarm: { kind, notes, seq }, count: 0 });
  const { size, root } = newest.checkpoint;
  if (held) {
    const [old, oldRoot] = [held.checkpoint.size, held.checkpoint.root];
    if (size < old) return alarm("shrank", [held.note, newest.note]);
    const found = await tiles.with((node) => now(continuation({ size: old, root: oldRoot }, { size, root }, node)));
    // Tiles that do not add up to the checkpoint prove nothing either way, and are a contradiction of their own.
    if (found !== "holds") return alarm("forked", [held.note, newest.note]);
  }
  let count = 0;
  for (const { entry, checkpoint } of receipts) {
    if (entry.seq >= size) return alarm("shrank", [checkpoint.note, newest.note], entry.seq);
    const found = await tiles.with((node) => now(placeOf(entry, { size, root }, node)));
    if (found !== "holds") return alarm("missing", [checkpoint.note, newest.note], entry.seq);
    count += 1;
  }
  return { alarm: null, count };
}
