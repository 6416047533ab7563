import { randomInt } from "node:crypto";
import fc from "fast-check";

// Tests are reproducible: the seed is fixed. MEMSHADE_SEED searches for other cases: a number, or "random" for a new seed in each file.
const wanted = process.env.MEMSHADE_SEED;
const seed = wanted === "random" ? randomInt(2 ** 31) : Number(wanted ?? 1);
if (wanted === "random") {
  process.env.MEMSHADE_SEED = String(seed);
  console.log(`MEMSHADE_SEED=${seed}`);
}
fc.configureGlobal({ ...fc.readConfigureGlobal(), seed });
