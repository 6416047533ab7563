// As index-brief.ts, with ids of 16 bits that are given while the program runs.
export { mixed1 } from "./brief";
export {
  givenInFrame1, givenInFrame16, givenInFrame2, givenInFrame4, givenInFrame8, givenPlaced1, givenPlaced16, givenPlaced2, givenPlaced4,
  givenPlaced8,
} from "./placed-given";
export * from "./index-brief";
