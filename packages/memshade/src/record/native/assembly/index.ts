// The code that runs inside native programs: hooks of the allocator. It is compiled to machine code. Exported
// functions are symbols of the image, except for functions whose names the program does not use.
export {
  aligned_alloc,
  calloc,
  dlclose,
  fork,
  free,
  malloc,
  malloc_usable_size,
  memalign,
  posix_memalign,
  pvalloc,
  realloc,
  reallocarray,
  valloc,
} from "./hooks";
export {
  dallocx,
  mallocx,
  operatorNew,
  operatorNewAligned,
  operatorNewAlignedNothrow,
  operatorNewNothrow,
  rallocx,
  sdallocx,
} from "./foreign/hooks";
export { mlockall, mmap, mremap, munmap } from "./mappings/hooks";
export { execl, execle, execlp, execv, execve, execvp, execvpe, fexecve } from "./exec";
export { at_exit, end_program, exit_now, exit_program } from "./end";
export { finalize } from "./finalize";
export { initialize } from "./initialize";
export { memory_open } from "./open";
export { sample_block } from "../tools/waste/assembly/samples";
// Exports for samples. `begin_thread`, `sample_handler`, `initialize`, `finalize` and `memory_open` are no
// names of the program.
export { begin_thread, pthread_create, thrd_create } from "../sampling/assembly/begin-thread";
export { sample_handler } from "../sampling/assembly/handler";
export { pthread_sigmask, sigaction, signal, sigprocmask } from "../sampling/assembly/signals";
