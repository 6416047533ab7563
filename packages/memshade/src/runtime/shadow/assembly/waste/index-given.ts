// As index-brief.ts, with ids of 16 bits for stores in contexts.
export { mixed1 } from "./brief";
export { given1, given16, given2, given4, given8 } from "./chosen-ids/ids";
export * from "./index-brief";
