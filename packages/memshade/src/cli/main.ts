import { hideStandardStreams } from "./standard-streams.ts";

// Loading `node:process` or `node:util` as a module opens the standard streams.
const showStandardStreams = hideStandardStreams();
const { main } = await import("./command-line.ts");
showStandardStreams();
await main();
