// Editors and debuggers start `memshade symbolize` for a single address: it has a way of its own.
const [, , verb, ...args] = process.argv;
const isDone = verb === "symbolize" && (await import("./quick-symbolize.ts")).symbolizeQuickly(args);
if (!isDone) {
  const { hideStandardStreams } = await import("./standard-streams.ts");
  // Loading `node:process` or `node:util` as a module opens the standard streams.
  const showStandardStreams = hideStandardStreams();
  const { main } = await import("./command-line.ts");
  showStandardStreams();
  await main();
}

export {};
