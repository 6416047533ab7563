import { loadDemangler } from "../../load/demangler.ts";
import type { ObjectFinder } from "../../load/objects.ts";
import { loadSymbolizer } from "../../load/symbolizer.ts";
import { FrameNamer } from "./frame-namer.ts";
import type { PreferSymbol } from "./name-frames.ts";

/** A namer with the demangler of this process. */
export function loadFrameNamer(prefer: PreferSymbol, finder?: ObjectFinder): FrameNamer {
  return new FrameNamer(loadDemangler(), prefer, (found, debug) =>
    loadSymbolizer(found, { ...(debug && { debug }), ...(finder && { finder }) }),
  );
}
