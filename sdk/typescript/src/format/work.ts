/**
 * Work that needs hashes and signatures, and does not say who makes them.
 *
 * Node's functions answer at once, those of a page (WebCrypto) answer later, and what is verified must not depend on it. So
 * verification is a generator that asks: `now` runs it to its end with Node's, `later` with a page's.
 *
 *     const hash = yield* sha256("abc");
 */
import { concat, hex, utf8, type Octets } from "./octets.js";

export type Question =
  | { ask: "sha256"; bytes: Octets }
  /** Whether the equation holds; small orders were refused before. */
  | { ask: "ed25519"; key: Octets; message: Octets; signature: Octets };

/** A hash for `sha256`, a yes or no for `ed25519`. */
export type Reply = Octets | boolean;

export type Work<T> = Generator<Question[], T, Reply[]>;

export function* sha256(...parts: (Uint8Array | string)[]): Work<Octets> {
  const [hash] = yield [{ ask: "sha256", bytes: parts.length === 1 ? utf8(parts[0]!) : concat(parts) }];
  return hash as Octets;
}

/** `sha256:<hex>`, as digests stand in every format. */
export function* digest(bytes: Uint8Array | string): Work<string> {
  return `sha256:${hex(yield* sha256(bytes))}`;
}

export function* equationHolds(key: Uint8Array, message: Uint8Array | string, signature: Uint8Array): Work<boolean> {
  const [holds] = yield [{ ask: "ed25519", key: key as Octets, message: utf8(message), signature: signature as Octets }];
  return holds === true;
}

/** Several works side by side: what they ask at the same time is asked at the same time. */
export function* together<T extends readonly unknown[]>(works: { [at in keyof T]: Work<T[at]> }): Work<T> {
  const all = works as readonly Work<unknown>[];
  const steps = all.map((work) => work.next());
  for (;;) {
    const open = steps.flatMap((step, at) => (step.done ? [] : [{ at, asked: step.value }]));
    if (open.length === 0) return steps.map((step) => step.value) as unknown as T;
    const replies = yield open.flatMap(({ asked }) => asked);
    let used = 0;
    for (const { at, asked } of open) {
      steps[at] = all[at]!.next(replies.slice(used, used + asked.length));
      used += asked.length;
    }
  }
}

export function* nothing(): Work<null> {
  return null;
}
