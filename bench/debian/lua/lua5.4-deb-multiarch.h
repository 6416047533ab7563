/* The names of directories that Debian puts here are not used. */
#define DEB_HOST_MULTIARCH "wasm32-wasi"
