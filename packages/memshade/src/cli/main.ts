import { compiledCodeFolder } from "../record/host/run/cache-folder.ts";
import { endEarly } from "../record/host/run/die-by-signal.ts";
import { takeInherited } from "../record/host/run/inherited.ts";
import { isSuitable } from "./node-version.ts";

/** Commands that run a program. */
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
  // Whoever runs the sources as they are wants them, not what was built before they changed. What is installed has no such files.
  if (import.meta.url.endsWith("/src/cli/main.ts"))
    await import(new URL("../../scripts/check-generated.ts", import.meta.url).href);
  else keepCompiledCode();

  // Loading `node:process` or `node:util` as a module opens the standard streams.
  const { hideStandardStreams } = await import("./standard-streams.ts");
  const showStandardStreams = hideStandardStreams();
  const { main } = await import("./command-line.ts");
  showStandardStreams();
  await main();
}

/** Node itself would keep its code in /tmp, under a name that anybody can take first. */
function keepCompiledCode(): void {
  const folder = process.env.NODE_COMPILE_CACHE ?? compiledCodeFolder();
  if (folder !== undefined) process.getBuiltinModule("node:module").enableCompileCache(folder);
}
