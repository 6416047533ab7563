import { randomInt } from "node:crypto";
import fc from "fast-check";

// A run of the tests is the same run again tomorrow. Other cases are searched for with MEMSHADE_SEED: a number, or
// "random" for one that is drawn for each file.
const wanted = process.env.MEMSHADE_SEED;
const seed = wanted === "random" ? randomInt(2 ** 31) : Number(wanted ?? 1);
if (wanted === "random") {
  process.env.MEMSHADE_SEED = String(seed);
  console.log(`MEMSHADE_SEED=${seed}`);
}
fc.configureGlobal({ ...fc.readConfigureGlobal(), seed });
