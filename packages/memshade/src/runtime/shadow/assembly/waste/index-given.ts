// As index-brief.ts, with ids of 16 bits for stores in contexts.
export { mixed1 } from "./brief";
export { givenInFrame1, givenInFrame16, givenInFrame2, givenInFrame4, givenInFrame8 } from "./placed-given";
export * from "./index-brief";
