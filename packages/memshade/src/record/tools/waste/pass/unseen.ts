import { importsOf, memoryType, type WasmModule } from "../../../../code/wasm/index.ts";
import { otherMemoriesNote } from "../../../rewrite/facts/other-memories.ts";
import type { WeavingPlan } from "./weaving-plan.ts";

/** Imports that a sentence names at most. */
const NAMED_IMPORTS = 10;
/** Characters of an import's name that a sentence has room for; component adapters put whole signatures there. */
const LONGEST_IMPORT = 48;

/** Sentences on what the tool does not see in a module. */
export function unseenBy({ around, isVisible, exact, wishes: { opaque } }: WeavingPlan): string[] {
  const { module, memory, allocator } = around;
  const sentences: string[] = [];
  if (allocator.functions.length === 0)
    sentences.push("No allocator was found: freed memory counts as memory that is still in use.");
  sentences.push(...otherMemoriesNote(module));
  const names = unknownImports(module, exact);
  if (opaque) {
    const which = names.length === 0 ? "" : ` (imports: ${names.join(", ")})`;
    sentences.push(
      `The host does not say what it reads: whatever is unread when it is in control counts as read by it${which}.`,
    );
  } else if (names.length > 0 && isVisible)
    sentences.push(`What these imports read and write is not seen: ${names.join(", ")}.`);
  const { shared } = memoryType(module, memory);
  if (memory < module.importedMemoryCount || shared) {
    const [why, others] = shared
      ? ["is shared", "other threads and modules"]
      : ["comes from outside", "other modules"];
    sentences.push(
      opaque
        ? `The memory ${why}: ${others} that share it are part of the host, and what they store is not seen.`
        : `The memory ${why}: what ${others} load and store there is not seen.`,
    );
  }
  return sentences;
}

/** Names of the imported functions of which it is not known what they read and write, the first few of them. */
function unknownImports(module: WasmModule, exact: ReadonlySet<number>): string[] {
  const unknown = importsOf(module, "function").filter((_, index) => !exact.has(index));
  const names = unknown.slice(0, NAMED_IMPORTS).map(({ module: from, field }) => {
    const name = `${from}.${field}`;
    return name.length > LONGEST_IMPORT ? `${name.slice(0, LONGEST_IMPORT - 1)}…` : name;
  });
  if (unknown.length > names.length) names.push(`${unknown.length - names.length} more`);
  return names;
}
