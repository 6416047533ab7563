// Scripts of Node are files, or were created by Node itself, which has their source maps.
import { knowScripts } from "../instance/known-scripts.ts";
import { ScriptFrames } from "../module/script-frames.ts";
import { knownSource } from "./call-site.ts";

knowScripts({ sourceOf: knownSource, describer: () => new ScriptFrames().describe });
