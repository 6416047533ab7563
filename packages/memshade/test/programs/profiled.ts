import { MemoryWasi, type WasiOptions } from "../../../../bench/harness/wasi.ts";
import { readRaw } from "../../src/profile/formats/memprof-raw/index.ts";
import type { RawContext } from "../../src/profile/model/raw-profile.ts";
import type { Run, RunModule } from "../../src/profile/model/run.ts";
import type { ProfileOptions } from "../../src/record/host/profile.ts";
import { profile } from "../../src/record/host/profile.ts";
import type { SiteTruth } from "./fixtures.ts";
import { programBytes } from "./fixtures.ts";

export interface ProfiledRun {
  stdout: string;
  run: Run;
  raw: Uint8Array;
  contexts: RawContext[];
}

export async function profileWasi(
  path: string,
  options: ProfileOptions = {},
  program: Partial<WasiOptions> = {},
): Promise<ProfiledRun> {
  const wasi = new MemoryWasi({ args: [path, ...(program.args ?? [])] });
  const { run, raw } = await profile(
    programBytes(path),
    async (instantiate) => wasi.start(await instantiate(wasi.imports)),
    { name: `${path.split("/").at(-1)}.wasm`, ...options },
  );
  return { stdout: Buffer.from(wasi.output(1)).toString(), run, raw, contexts: readRaw(raw).contexts };
}

export function functionAt(module: RunModule, pc: bigint): string | undefined {
  const offset = Number(pc - BigInt(module.start));
  return module.functions.find((candidate) => candidate.offset <= offset && offset < candidate.end)?.name;
}

/** Functions of a context's stack, innermost first, without parameter lists and Rust's paths and hashes. */
export function stackOf(run: Run, context: RawContext): string[] {
  return context.pcs.map((pc) => plainName(functionAt(run.modules[0] as RunModule, pc) ?? "?"));
}

function plainName(name: string): string {
  const rust = /^_ZN.*?\d+([a-z_]+)17h[0-9a-f]{16}E$/.exec(name);
  const mangled = /^_Z(\d+)/.exec(name);
  if (rust) return rust[1] as string;
  if (mangled) return name.slice(2 + (mangled[1] as string).length).slice(0, Number(mangled[1]));
  return name.replace(/\(.*$/, "");
}

/** The profile's figures for the sites of a program's own account, in the account's form. */
export function measuredTruth(profiled: ProfiledRun, truth: ReadonlyMap<string, SiteTruth>): SiteTruth[] {
  const measured = new Map<string, SiteTruth>();
  const live = new Map(profiled.run.heap?.sites.map((site) => [site.stackId, site]));
  for (const context of profiled.contexts) {
    const site = stackOf(profiled.run, context).find((name) => truth.has(name));
    if (site === undefined) continue;
    const row = measured.get(site) ?? {
      site,
      allocations: 0,
      bytes: 0,
      released: 0,
      releasedBytes: 0,
      accesses: 0,
    };
    const { mib } = context;
    const atEnd = live.get(String(context.stackId));
    row.allocations += mib.allocCount;
    row.bytes += Number(mib.totalSize);
    row.released += mib.allocCount - (atEnd?.liveBlocks ?? 0);
    row.releasedBytes += Number(mib.totalSize) - (atEnd?.liveBytes ?? 0);
    row.accesses = (row.accesses ?? 0) + Number(mib.totalAccessCount);
    measured.set(site, row);
  }
  return [...truth.keys()]
    .filter((site) => site !== "*")
    .map((site) => {
      const row = measured.get(site) ?? {
        site,
        allocations: 0,
        bytes: 0,
        released: 0,
        releasedBytes: 0,
        accesses: 0,
      };
      if (truth.get(site)?.accesses === undefined) delete row.accesses;
      return row;
    });
}
