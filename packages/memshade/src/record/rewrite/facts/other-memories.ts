import { importsOf, type WasmModule } from "../../../code/wasm/index.ts";

/** A sentence on the memories of a module that no tool follows; none: it has at most one. */
export function otherMemoriesNote(module: WasmModule): string[] {
  const others = otherMemories(module);
  return others.length === 0
    ? []
    : [
        `Only memory 0 of the module's ${others.length + 1} memories is followed: what happens in ${others.join(", ")} is not counted.`,
      ];
}

/** Memories other than the first by their numbers, with the names that they are imported or exported by. */
function otherMemories(module: WasmModule): string[] {
  const imported = importsOf(module, "memory");
  const names: string[] = [];
  for (let index = 1; index < imported.length + module.memories.length; index++) {
    const from = imported[index];
    const exported = module.exports.find((one) => one.kind === "memory" && one.index === index)?.name;
    const name = exported ?? (from === undefined ? undefined : `${from.module}.${from.field}`);
    names.push(name === undefined ? `memory ${index}` : `memory ${index} (${name})`);
  }
  return names;
}
