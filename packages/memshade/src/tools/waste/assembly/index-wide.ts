// As index-brief.ts, with ids of 32 bits.
export * from "./index-brief";
export { lost1, lost16, lost2, lost4, lost8 } from "./wide/lost";
