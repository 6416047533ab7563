// Reuse times and distances, inside the profiled module. Merged into it behind the working-set tool's own code and in
// the same memory, only where `--locality` asks for it.
export { access, copied, drain, filled, initialized } from "./reference";
