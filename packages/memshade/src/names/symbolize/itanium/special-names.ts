import type { MangledText } from "./mangled-text.ts";
import { type Node, prefixed, printed } from "./nodes.ts";

/** What special names need of the reader of names around them. */
export interface SpecialNameSource extends MangledText {
  encoding(): Node;
  name(): Node;
  type(): Node;
  templateArg(): Node;
  moduleName(): Node | undefined;
}

const OF_TYPES: Readonly<Record<string, string>> = {
  TV: "vtable for ",
  TT: "VTT for ",
  TI: "typeinfo for ",
  TS: "typeinfo name for ",
};

const OF_NAMES: Readonly<Record<string, string>> = {
  TW: "thread-local wrapper routine for ",
  TH: "thread-local initialization routine for ",
  GV: "guard variable for ",
};

/** What the compiler makes for a type or a function: tables, thunks, guards. The text is at its `G` or `T`. */
export function parseSpecialName(source: SpecialNameSource): Node {
  if (source.consume("GI")) {
    const module = source.moduleName();
    return module === undefined ? source.fail() : prefixed("initializer for module ", module);
  }
  const code = source.text.slice(source.pos, source.pos + 2);
  source.pos += 2;
  if (OF_TYPES[code] !== undefined) return prefixed(OF_TYPES[code], source.type());
  if (OF_NAMES[code] !== undefined) return prefixed(OF_NAMES[code], source.name());
  switch (code) {
    case "TA":
      return prefixed("template parameter object for ", source.templateArg());
    case "Tc":
      callOffset(source);
      callOffset(source);
      return prefixed("covariant return thunk to ", source.encoding());
    case "TC": {
      const derived = source.type();
      source.number(true);
      source.expect("_");
      return prefixed("construction vtable for ", inside(source.type(), derived));
    }
    case "GR": {
      const name = source.name();
      source.sequenceId();
      return prefixed("reference temporary for ", name);
    }
    default: {
      if (code[0] !== "T") return source.fail();
      source.pos--;
      const isVirtual = source.look() === "v";
      callOffset(source);
      return prefixed(isVirtual ? "virtual thunk to " : "non-virtual thunk to ", source.encoding());
    }
  }
}

function callOffset(source: SpecialNameSource): void {
  if (!source.consume("h")) {
    source.expect("v");
    source.number(true);
    source.expect("_");
  }
  source.number(true);
  source.expect("_");
}

/** `A-in-B` of construction vtables. */
function inside(derived: Node, base: Node): Node {
  return printed((out) => {
    derived.print(out);
    out.add("-in-");
    base.print(out);
  });
}
