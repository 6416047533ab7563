import { statSync } from "node:fs";
import { basename } from "node:path";
import { type Command, Option } from "commander";
import { UserError } from "../../ground/bytes/errors.ts";
import { writeWholeFile } from "../../names/load/whole-file.ts";
import { nameFileInErrors, readModuleFile } from "../../record/host/module/module-file.ts";
import { nativeSha256 } from "../../record/host/module/native-sha256.ts";
import { say } from "../../record/host/run/terminal-line.ts";
import { instrument } from "../../record/tools/index.ts";
import { BLOCK_TOOLS } from "../../record/tools/options.ts";
import { toInstrumentOptions } from "../../record/tools/run-options.ts";
import { sentencesOfModule } from "../../record/tools/sentences.ts";
import { addHostStacksOption, addToolOptions, type ToolFlags, toolOptionsOf } from "../tool-options.ts";

interface InstrumentFlags extends ToolFlags {
  output: string;
  shared?: boolean;
}

const EXAMPLES = `
Examples:
  memshade instrument app.wasm -o app.profiled.wasm
  memshade instrument --allocator malloc=pool_get,free=pool_put game.wasm \\
    -o game.profiled.wasm

The result has the imports of the original and exports its profile as
memshade.memory. docs/loader.md describes how a web page or another host reads
it.`;

export function addInstrumentCommand(program: Command): void {
  const command = program
    .command("instrument")
    .summary("write an instrumented copy of a module, for other hosts")
    .description("Writes an instrumented copy of a module, to be run by a web page or another host.")
    .argument("<in.wasm>", "the module")
    .requiredOption("-o, --output <out.wasm>", "file to write");
  addHostStacksOption(addToolOptions(command))
    .addOption(
      new Option("--shared", "create the shadow memory as shared memory, so that another thread can read it"),
    )
    .addHelpText("after", EXAMPLES)
    .action(async (path: string, flags: InstrumentFlags) => {
      const tools = await toolOptionsOf(flags);
      const original = readModuleFile(path);
      if (isSameFile(path, flags.output))
        throw new UserError(`${flags.output} is the original module: write to another file with -o`);
      const { bytes, info } = nameFileInErrors(path, () =>
        instrument(original, {
          ...toInstrumentOptions(tools),
          sha256: nativeSha256,
          name: basename(path),
          sharedShadow: flags.shared === true,
        }),
      );
      writeWholeFile(flags.output, (file) => file.write(bytes));
      const growth = (bytes.length / original.length).toFixed(2);
      say(
        `${flags.output} written (${growth} times the size); read its profile with the loader, see docs/loader.md`,
      );
      const { refused } = info.allocator;
      const seeksBlocks = info.tools.some((tool) => BLOCK_TOOLS.includes(tool));
      const refusals = seeksBlocks && refused !== undefined ? [refused] : [];
      // A set, because several tools may give the same reason.
      for (const sentence of new Set([...refusals, ...sentencesOfModule(info)])) say(sentence);
    });
}

function isSameFile(first: string, second: string): boolean {
  try {
    const [firstStatus, secondStatus] = [statSync(first), statSync(second)];
    return firstStatus.dev === secondStatus.dev && firstStatus.ino === secondStatus.ino;
  } catch {
    return false;
  }
}
