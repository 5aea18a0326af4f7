/** How a process ended, in the words of the wire: those of Go's os/exec and syscall packages. */

/** The end of a process. */
export interface ProcessEnd {
  /** The code, or -1 when a signal ended it. */
  readonly exitCode: number;
  /** False when a signal ended it. */
  readonly exited: boolean;
  /** `exit status 3`, `signal: killed`. */
  readonly status: string;
  /** The status again, when the code is not 0. */
  readonly error: string | undefined;
}

/** Go's words for signals on Linux; the others are `signal N`. */
const SIGNAL_WORDS: Readonly<Record<string, string>> = {
  SIGHUP: "hangup",
  SIGINT: "interrupt",
  SIGQUIT: "quit",
  SIGILL: "illegal instruction",
  SIGTRAP: "trace/breakpoint trap",
  SIGABRT: "aborted",
  SIGBUS: "bus error",
  SIGFPE: "floating point exception",
  SIGKILL: "killed",
  SIGUSR1: "user defined signal 1",
  SIGSEGV: "segmentation fault",
  SIGUSR2: "user defined signal 2",
  SIGPIPE: "broken pipe",
  SIGALRM: "alarm clock",
  SIGTERM: "terminated",
  SIGXCPU: "CPU time limit exceeded",
  SIGXFSZ: "file size limit exceeded",
  SIGVTALRM: "virtual timer expired",
  SIGPROF: "profiling timer expired",
  SIGSYS: "bad system call",
};

function endOf(exitCode: number, exited: boolean, status: string): ProcessEnd {
  return { exitCode, exited, status, error: exitCode === 0 ? undefined : status };
}

/** The end that a child's status tells. */
export function endFromStatus(status: Pick<Deno.CommandStatus, "code" | "signal">): ProcessEnd {
  if (status.signal === null) return endOf(status.code, true, `exit status ${status.code}`);
  const words = SIGNAL_WORDS[status.signal] ?? `signal ${status.code - 128}`;
  return endOf(-1, false, `signal: ${words}`);
}

/**
 * The end that a rejected status tells: the runtime has no name for real-time signals and
 * rejects with `Invalid signal: 40`. A rejection that says nothing is an end all the same.
 */
export function endFromRejection(error: unknown): ProcessEnd {
  const text = error instanceof Error ? error.message : String(error);
  const number = /Invalid signal: (\d+)/.exec(text)?.[1];
  return endOf(-1, false, number === undefined ? text : `signal: signal ${number}`);
}

/** Waits for a child; never rejects. */
export function waitForEnd(child: Pick<Deno.ChildProcess, "status">): Promise<ProcessEnd> {
  return child.status.then(endFromStatus, endFromRejection);
}
