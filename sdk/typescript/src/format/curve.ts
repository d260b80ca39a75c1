/**
 * Which 32 bytes may be an Ed25519 key at all.
 *
 * OpenSSL, and so node:crypto, takes points of small order, under which signatures hold for messages that nobody signed. It
 * also takes second spellings, and bytes that are on no curve until they are used. All three are refused here.
 */
import { hex } from "./octets.js";

const P = 2n ** 255n - 19n;
const D = (-121665n * power(121666n, P - 2n)) % P;
// y of the points of order eight; with 0, 1 and -1 these are all that have small order.
const Y8 = 0x05fc536d880238b13933c6d305acdfd5f098eff289f4c345b027b2c28f95e826n;
const SMALL = new Set([0n, 1n, P - 1n, Y8, P - Y8]);

export function isSmallOrder(point: Uint8Array): boolean {
  return SMALL.has(yOf(point) % P);
}

export function isUsableKey(point: Uint8Array): boolean {
  return point.length === 32 && yOf(point) < P && !isSmallOrder(point) && isOnCurve(yOf(point));
}

function yOf(point: Uint8Array): bigint {
  return BigInt(`0x${hex(Uint8Array.from(point).reverse()) || "0"}`) % 2n ** 255n;
}

/** Whether x² = (y² − 1) / (d·y² + 1) has a root (RFC 8032, section 5.1.3), by Euler's criterion. */
function isOnCurve(y: bigint): boolean {
  const square = (y * y) % P;
  const x2 = ((square - 1n + P) * power(mod(D * square + 1n), P - 2n)) % P;
  return x2 === 0n || power(x2, (P - 1n) / 2n) === 1n;
}

function mod(value: bigint): bigint {
  return ((value % P) + P) % P;
}

function power(base: bigint, exponent: bigint): bigint {
  let result = 1n;
  for (let factor = mod(base), left = exponent; left > 0n; left >>= 1n) {
    if (left & 1n) result = (result * factor) % P;
    factor = (factor * factor) % P;
  }
  return result;
}
