import { loadDemangler } from "../../load/demangler.ts";
import type { ObjectFinder } from "../../load/objects.ts";
import { loadSymbolizer } from "../../load/symbolizer.ts";
import { FrameNamer } from "./frame-namer.ts";
import type { PreferSymbol } from "./name-frames.ts";

/** A namer with the demangler of this process, which is loaded when the first mangled name comes. */
export function loadFrameNamer(prefer: PreferSymbol, finder?: ObjectFinder): FrameNamer {
  return new FrameNamer(
    (name) => (/^(?:_Z|__Z|_R|\?)|::h[0-9a-f]{16}$/.test(name) ? loadDemangler()(name) : name),
    prefer,
    (found, debug) => loadSymbolizer(found, { ...(debug && { debug }), ...(finder && { finder }) }),
  );
}
