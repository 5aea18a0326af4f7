/**
 * What every run of the agent gets beside its permissions: memory stays flat after long streams,
 * and garbage can be collected before a snapshot.
 */
export const V8_FLAGS = "--v8-flags=--optimize-for-size,--expose-gc";
