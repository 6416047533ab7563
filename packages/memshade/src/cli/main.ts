// Whoever runs the sources as they are wants them, not what was built before they changed. What is installed has no such files.
if (import.meta.url.endsWith("/src/cli/main.ts"))
  await import(new URL("../../scripts/check-generated.ts", import.meta.url).href);

// Commands that are started for a single address, or for what takes less time than to load all of this, have ways of their own.
const [, , verb, ...args] = process.argv;
const isDone =
  (verb === "symbolize" && (await import("./quick-symbolize.ts")).symbolizeQuickly(args)) ||
  (verb === "unwind" && (await (await import("./quick-unwind.ts")).unwindQuickly(args)));
if (!isDone) {
  const { hideStandardStreams } = await import("./standard-streams.ts");
  // Loading `node:process` or `node:util` as a module opens the standard streams.
  const showStandardStreams = hideStandardStreams();
  const { main } = await import("./command-line.ts");
  showStandardStreams();
  await main();
}

export {};
