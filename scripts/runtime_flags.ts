/**
 * What every run of the agent gets beside its permissions: memory stays flat after long streams,
 * and garbage can be collected before a snapshot. The heap may grow to two and a half times of
 * what is live before all of it is looked at: by itself the engine looks after a tenth, which is
 * every 2 MB of buffers that pass through, and a download takes twice the time.
 */
export const V8_FLAGS = "--v8-flags=--optimize-for-size,--heap-growing-percent=150,--expose-gc";
