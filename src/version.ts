/** Version of denvd itself. */
export const VERSION = "0.1.0";

/**
 * The envd version whose whole contract is kept. Hosts and SDKs switch features on by it, so
 * it names the highest version of which everything works, no higher: 0.1.4 would promise
 * recursive watching.
 */
export const ENVD_VERSION = "0.1.3";
