import { glueOptions } from "./compare.ts";
import { findWorkload } from "./programs.ts";
import { ModuleSubstitution, type Variant } from "./substitution.ts";

/**
 * Resident bytes that loading a program and running it once add to this process. The module is compiled, and the
 * program run, once before; that first instance is kept alive, so that nothing it held is given back meanwhile.
 */
export async function measureMemory(name: string, variant: Variant): Promise<number> {
  const workload = findWorkload(name);
  if (workload === undefined) throw new Error(`no program is called ${name}`);
  const substitution = new ModuleSubstitution(glueOptions(workload));
  substitution.variant = variant;
  substitution.install();
  const first = await workload.load();
  await first.run("full");
  globalThis.gc?.();
  const before = process.memoryUsage.rss();
  const session = await workload.load();
  await session.run("full");
  const added = process.memoryUsage.rss() - before;
  await first.run("small");
  return added;
}

if (import.meta.main) {
  const [name, variant] = process.argv.slice(2) as [string, Variant];
  console.log(JSON.stringify([await measureMemory(name, variant)]));
}
