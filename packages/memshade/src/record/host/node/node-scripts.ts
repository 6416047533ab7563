// In Node, scripts are files, and those that it has made itself have source maps that it tells of.
import { knowScripts } from "../instance/known-scripts.ts";
import { knownSource } from "../module/known-source.ts";
import { ScriptFrames } from "../module/script-frames.ts";

knowScripts({ sourceOf: knownSource, describer: () => new ScriptFrames().describe });
