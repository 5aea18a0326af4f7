/** Lets everything that waits have its turn: timers, requests, finished reads. */
export function giveWay(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 0));
}

/** Says when work on the main thread has lasted long enough. */
export class TimeSlice {
  #end = 0;

  constructor(private readonly lengthMs: number) {
    this.start();
  }

  start(): void {
    this.#end = performance.now() + this.lengthMs;
  }

  get over(): boolean {
    return performance.now() >= this.#end;
  }

  /** Lets others have their turn and begins anew. */
  async giveWay(): Promise<void> {
    await giveWay();
    this.start();
  }
}
