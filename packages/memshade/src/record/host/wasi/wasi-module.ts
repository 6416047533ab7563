import { decodeModule, functionType } from "../../../code/wasm/index.ts";
import { UserError } from "../../../ground/bytes/errors.ts";
import { type InstrumentedInfo, instrument } from "../../tools/index.ts";
import { type ToolOptions, toInstrumentOptions } from "../../tools/run-options.ts";
import { LearnedRuns } from "../learned-runs.ts";
import { memoryShortage } from "../memory-need.ts";
import { withEngineFlags } from "../module/engine-flags.ts";
import { initialMemory } from "../module/initial-memory.ts";
import { nameFileInErrors, readModuleFile } from "../module/module-file.ts";
import { nativeSha256 } from "../module/native-sha256.ts";
import { threadMs } from "../run/thread-time.ts";

const WASI_VERSIONS = { wasi_snapshot_preview1: "preview1", wasi_unstable: "unstable" } as const;

/** A WASI program, instrumented and compiled, and everything that can be known before it runs. */
export interface WasiModule {
  module: WebAssembly.Module;
  info: InstrumentedInfo;
  original: Uint8Array;
  /** Processor time that it took to instrument. */
  rewritingMs: number;
  version: "preview1" | "unstable";
  /** Value type bytes of the parameters of the function to invoke, if one was named. */
  invokeParameters: number[] | undefined;
  /** "command" has `_start`, "reactor" has not: it is a library whose functions are called from outside. */
  kind: "command" | "reactor";
}

/**
 * Reads, checks, instruments and compiles a WASI program.
 *
 * @throws UserError when it cannot run here: the reason in one line.
 */
export async function loadWasiModule(
  path: string,
  name: string,
  tools: ToolOptions,
  invoke: string | undefined,
): Promise<WasiModule> {
  const original = readModuleFile(path);
  const shortage = memoryShortage(
    nameFileInErrors(path, () => initialMemory(original)),
    tools,
  );
  if (shortage !== undefined)
    throw new UserError(`${path}: its memory begins with ${shortage.figures}: ${shortage.help}`);
  const start = threadMs();
  const { bytes, info } = nameFileInErrors(path, () =>
    instrument(original, {
      ...new LearnedRuns(tools.learn).added(toInstrumentOptions(tools), original),
      name,
      sharedShadow: true,
      sha256: nativeSha256,
    }),
  );
  const rewritingMs = threadMs() - start;
  const module = await compileOrExplain(path, bytes);
  const version = checkImports(path, module);
  const exported = new Map(WebAssembly.Module.exports(module).map((entry) => [entry.name, entry.kind]));
  const kind = exported.get("_start") === "function" ? "command" : "reactor";
  if (invoke !== undefined && exported.get(invoke) !== "function")
    throw new UserError(`${path}: it exports no function named ${invoke}`);
  if (invoke === undefined && kind === "reactor" && exported.get("_initialize") !== "function")
    throw new UserError(
      `${path}: not a WASI program: it exports neither _start nor _initialize; name a function to call with --invoke`,
    );
  const invokeParameters = invoke === undefined ? undefined : parametersOfExport(original, invoke);
  return { module, info, original, rewritingMs, version, invokeParameters, kind };
}

async function compileOrExplain(path: string, bytes: Uint8Array): Promise<WebAssembly.Module> {
  try {
    return await withEngineFlags(() => WebAssembly.compile(bytes as BufferSource));
  } catch (error) {
    const reason = (error as Error).message.replace(/^WebAssembly\.\w+\(\): /, "");
    throw new UserError(`${path}: the instrumented module is not valid (a defect of memshade): ${reason}`);
  }
}

function checkImports(path: string, module: WebAssembly.Module): "preview1" | "unstable" {
  let version: "preview1" | "unstable" | undefined;
  for (const entry of WebAssembly.Module.imports(module)) {
    const wanted = WASI_VERSIONS[entry.module as keyof typeof WASI_VERSIONS];
    if (wanted === undefined || entry.kind !== "function" || (version ?? wanted) !== wanted)
      throw new UserError(
        `${path}: it imports the ${entry.kind} ${entry.module}.${entry.name}, which a WASI preview 1 program does not ` +
          "have here; run it with its JavaScript under memshade node",
      );
    version = wanted;
  }
  return version ?? "preview1";
}

function parametersOfExport(original: Uint8Array, name: string): number[] {
  const module = decodeModule(original);
  const entry = module.exports.find((candidate) => candidate.name === name)!;
  return functionType(module, entry.index).params;
}
