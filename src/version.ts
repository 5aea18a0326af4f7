/** Version of denvd itself. */
export const VERSION = "0.1.0";

/**
 * The envd version whose whole contract is kept. Hosts and SDKs switch features on by it, so
 * it names the highest version of which everything works, no higher: from 0.6.12 on E2B's host may
 * stream its own binary to /upgrade, which answers 501.
 */
export const ENVD_VERSION = "0.6.11";
