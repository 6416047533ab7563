import { compiledCodeFolder } from "../record/host/run/cache-folder.ts";
import { endEarly } from "../record/host/run/die-by-signal.ts";
import { takeInherited } from "../record/host/run/inherited.ts";
import { isSuitable } from "./node-version.ts";

const RECORDING_COMMANDS: readonly string[] = ["run", "node", "browser", "demo"];

takeInherited();
if (RECORDING_COMMANDS.includes(process.argv[2] ?? "")) endEarly();
if (isSuitable(process.versions.node)) {
  await start();
} else {
  const { runWithSuitableNode } = await import("./suitable-node.ts");
  await runWithSuitableNode();
}

async function start(): Promise<void> {
  // A start from the sources must not use outdated generated files. An installed package has no such check.
  if (import.meta.url.endsWith("/src/cli/main.ts"))
    await import(new URL("../../scripts/check-generated.ts", import.meta.url).href);
  else keepCompiledCode();

  // A module import of `node:process` or `node:util` opens the standard streams.
  const { hideStandardStreams } = await import("./standard-streams.ts");
  const showStandardStreams = hideStandardStreams();
  const { main } = await import("./command-line.ts");
  showStandardStreams();
  await main();
}

/**
 * Keeps the cache of compiled code in a private folder. Node's default is in /tmp, under a name that anyone
 * can create first.
 */
function keepCompiledCode(): void {
  const folder = process.env.NODE_COMPILE_CACHE ?? compiledCodeFolder();
  if (folder !== undefined) process.getBuiltinModule("node:module").enableCompileCache(folder);
}
