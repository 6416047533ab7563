// A defect in what a report can do without ends the process that runs into it, so that a test sees it (src/ground/bytes/dispensable.ts).
process.env.MEMSHADE_STRICT = "1";
