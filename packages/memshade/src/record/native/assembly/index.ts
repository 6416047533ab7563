// What runs inside native programs: hooks of the allocator. Compiled to machine code; exported functions are symbols of the image, but for
// `memory_open`, which is called where there is no memory yet, and others that are none of the program's names.
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
export { at_exit, end_program, exit_now, exit_program } from "./end";
export { finalize } from "./finalize";
export { initialize } from "./initialize";
export { memory_open } from "./open";
export { sample_block } from "../tools/waste/assembly/samples";
// Where samples are taken. `begin_thread` and `sample_handler` are no names of the program's, as `initialize`, `finalize` and `memory_open`.
export { begin_thread, pthread_create, thrd_create } from "../sampling/assembly/begin-thread";
export { sample_handler } from "../sampling/assembly/handler";
export { pthread_sigmask, sigaction, signal, sigprocmask } from "../sampling/assembly/signals";
