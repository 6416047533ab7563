/**
 * The `memshade` command. A program that is run shares our standard streams, and opening them here would switch its
 * pipes to non-blocking mode. Loading `node:process` or `node:util` as a module opens them, so nobody gets to see
 * them while modules are loaded.
 */
const STREAMS = ["stdin", "stdout", "stderr"] as const;

const hidden = STREAMS.map((name) => [name, Object.getOwnPropertyDescriptor(process, name)!] as const);
for (const [name] of hidden) Object.defineProperty(process, name, { value: undefined, configurable: true });
const { main } = await import("./command-line.ts");
for (const [name, property] of hidden) Object.defineProperty(process, name, property);
await main();

export {};
