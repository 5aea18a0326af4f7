/**
 * What ticks, polls or holds a socket is a Subsystem, so that a snapshot can still it. Every
 * method is idempotent, may be called while another one runs, and ends within a bound.
 */
export interface Subsystem {
  readonly name: string;
  /** Begins work. */
  start(): Promise<void>;
  /** Stills everything that ticks or holds a socket, keeping what `resume` needs. */
  quiesce(): Promise<void>;
  /** Takes the work up again after `quiesce`. */
  resume(): Promise<void>;
  /** Ends for good: nothing of it is left behind. */
  stop(): Promise<void>;
}
