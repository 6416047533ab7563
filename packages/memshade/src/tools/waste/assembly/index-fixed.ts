// As index-brief.ts, with ids of 16 bits that are known when a module is rewritten.
export * from "./index-brief";
export { takeLog } from "./narrow/log";
