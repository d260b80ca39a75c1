/** One table of contents, the same in every language: docs in the README beside this package. */
export * as capability from "./capability.js";
export * as execution from "./execution.js";
export * as receipts from "./receipts.js";
export * as verdict from "./verdict.js";
export * as verify from "./verify.js";
