import { importsOf, memoryType, type WasmModule } from "../../../code/wasm/index.ts";

/** Returns a note on the module's memories that no tool follows. The list is empty if there is at most one memory. */
export function otherMemoriesNote(module: WasmModule): string[] {
  const unfollowed = otherMemories(module);
  return unfollowed.length === 0
    ? []
    : [
        `Only memory 0 of the module's ${unfollowed.length + 1} memories is recorded: accesses to ${unfollowed.join(", ")} are not counted.`,
      ];
}

/** Describes the memories except the first by number, and by name if they are imported or exported. */
function otherMemories(module: WasmModule): string[] {
  const imported = importsOf(module, "memory");
  const names: string[] = [];
  for (let index = 1; index < imported.length + module.memories.length; index++) {
    const from = imported[index];
    const exported = module.exports.find((entry) => entry.kind === "memory" && entry.index === index)?.name;
    const name = exported ?? (from === undefined ? undefined : `${from.module}.${from.field}`);
    names.push(name === undefined ? `memory ${index}` : `memory ${index} (${name})`);
  }
  return names;
}

/** True if several instances of a module can share a memory: it is imported and of shared type. */
export function canShareMemory(module: WasmModule): boolean {
  return module.importedMemoryCount > 0 && module.memories.length === 0 && memoryType(module, 0).shared;
}
