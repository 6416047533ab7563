// A defect in an optional part of a report ends the process, so that a test notices it (src/ground/bytes/dispensable.ts).
process.env.MEMSHADE_STRICT = "1";
