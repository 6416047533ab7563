import { loadDemangler } from "./load-demangler.ts";
import { FrameNamer } from "./stacks/frame-namer.ts";
import type { PreferSymbol } from "./stacks/name-frames.ts";

/** A namer with the demangler of this process, which is loaded when the first mangled name comes. */
export function loadFrameNamer(prefer: PreferSymbol): FrameNamer {
  return new FrameNamer(
    (name) => (/^(?:_Z|__Z|_R|\?)|::h[0-9a-f]{16}$/.test(name) ? loadDemangler()(name) : name),
    prefer,
  );
}
