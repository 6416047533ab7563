import type { Command } from "commander";
import { UserError } from "../../ground/bytes/errors.ts";
import { quoteForShell } from "../../profile/model/shell-words.ts";
import { runNode } from "../../record/host/node/run-node.ts";
import { endProcess, saySummary } from "../end-summary.ts";
import { verbFor } from "../kind-of-program.ts";
import { assertNode } from "../other-runtime.ts";
import {
  addHostStacksOption,
  addLearnOption,
  addOutOption,
  addToolOptions,
  type ToolFlags,
  toolOptionsOf,
} from "../tool-options.ts";
import { collect } from "./add-options.ts";
import { warnOfOptionsBehind } from "./options-behind.ts";

interface NodeFlags extends ToolFlags {
  out?: string;
  quiet?: boolean;
  traceChildren?: boolean;
  nodeArg?: string[];
}

const EXAMPLES = `
Examples:
  memshade node app.js --port 8080
  memshade node --out profiles/%q{USER}.%p --exact-histogram app.mjs
  memshade node --node-arg=--expose-gc --node-arg=--stack-size=2000 app.cjs
  memshade node --trace-children build.js

Every WebAssembly module that the program compiles is instrumented, in its main
thread and in its worker threads. Each process writes one run. SIGUSR2 to
memshade writes a dump while the program goes on; the program itself can do the
same: import { dump, reset } from "memshade". The exit code is the program's
own, and 74 if a profile could not be written. A second SIGINT or SIGTERM while
the profile is written ends memshade without it.`;

export function addNodeCommand(program: Command): void {
  const command = program
    .command("node")
    .summary("run a Node program and profile the WebAssembly modules it uses")
    .description("Runs a Node program and writes the profile of the WebAssembly modules it instantiates.")
    .argument("<script.js>", "the program")
    .argument("[args...]", "its arguments")
    .passThroughOptions();
  addLearnOption(addOutOption(addHostStacksOption(addToolOptions(command))))
    .option("--trace-children", "also record the Node processes that the program starts")
    .option("--node-arg <option>", "option for Node itself; can be repeated", collect)
    .addHelpText("after", EXAMPLES)
    .action(async (script: string, args: string[], flags: NodeFlags, own: Command) => {
      if (verbFor(script) === "run")
        throw new UserError(
          `${script} is a WebAssembly module, not a script: memshade run ${quoteForShell(script)}, or memshade node with the script that loads it`,
        );
      assertNode("memshade node", ["bun", "deno"]);
      warnOfOptionsBehind(own, script, args);
      const code = await runNode({
        command: [script, ...args],
        nodeOptions: flags.nodeArg ?? [],
        out: flags.out,
        isQuiet: flags.quiet,
        traceChildren: flags.traceChildren,
        tools: await toolOptionsOf(flags),
        onWritten: flags.quiet === true ? undefined : saySummary,
      });
      endProcess(code);
    });
}
