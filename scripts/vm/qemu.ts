/**
 * The driver for QEMU. Each machine has a folder of its own with its disk, an overlay over the
 * image or over a snapshot's disk, and its control socket, and a file for its memory, in memory
 * where there is room. A snapshot is what a saved machine left of these, plus the device state.
 */

import { join } from "@std/path";
import { type Accel, tscKhz } from "./accel.ts";
import {
  AGENT_PORT,
  type BootOptions,
  type Driver,
  type Machine,
  type MachineOptions,
  type RestoreOptions,
  type Snapshot,
} from "./driver.ts";
import type { Image } from "./image.ts";
import { freeMb, needPrograms, needSpace } from "./needs.ts";
import { type Disk, makeOverlay } from "./overlay.ts";
import { portMap, qemuArgs } from "./qemu_args.ts";
import { Qmp } from "./qmp.ts";

/** Until QEMU's control socket answers; it is there before the guest runs. */
const START_LIMIT_MS = 20_000;
/** For the transfer of the device state, which is small: the memory stays in its file. */
const MIGRATION_LIMIT_MS = 60_000;
const POLL_MS = 5;
/** QEMU ends at once on SIGTERM and leaves the terminal as it was, unless it hangs. */
const KILL_AFTER_MS = 2000;
/** Memory in RAM only where this much stays free beside it. */
const RAM_RESERVE_MB = 1024;
const MAX_BANDWIDTH = 2 ** 40;

/** The parts of a machine that outlive a save. */
interface Store {
  folder: string;
  ramFile: string;
  disk: Disk;
  ramMb: number;
  agentArgs: readonly string[];
}

class QemuSnapshot implements Snapshot {
  constructor(readonly store: Store, readonly stateFile: string) {}

  async discard(): Promise<void> {
    await removeStore(this.store);
  }
}

async function removeStore(store: Store): Promise<void> {
  await Deno.remove(store.ramFile).catch(() => {});
  await Deno.remove(store.folder, { recursive: true }).catch(() => {});
}

function freePort(): number {
  using listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  return listener.addr.port;
}

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

async function connectQmp(path: string, ended: () => string | undefined): Promise<Qmp> {
  const limit = performance.now() + START_LIMIT_MS;
  while (true) {
    const text = ended();
    if (text !== undefined) throw new Error(`QEMU did not start: ${text}`);
    try {
      return await Qmp.connect(path);
    } catch (error) {
      if (performance.now() > limit) throw error;
      await pause(POLL_MS);
    }
  }
}

/** Waits until the device state went out or came in. */
async function migrated(qmp: Qmp): Promise<void> {
  const limit = performance.now() + MIGRATION_LIMIT_MS;
  while (true) {
    const { status, ...rest } = await qmp.execute<{ status?: string; "error-desc"?: string }>(
      "query-migrate",
    );
    if (status === "completed") return;
    if (status === "failed" || performance.now() > limit) {
      throw new Error(`QEMU could not move the device state: ${rest["error-desc"] ?? status}`);
    }
    await pause(POLL_MS);
  }
}

/** Leaves memory out of the device state where it is shared with its file. */
async function ignoreSharedMemory(qmp: Qmp): Promise<void> {
  await qmp.execute("migrate-set-capabilities", {
    capabilities: [{ capability: "x-ignore-shared", state: true }],
  });
  await qmp.execute("migrate-set-parameters", { "max-bandwidth": MAX_BANDWIDTH });
}

function signal(child: Deno.ChildProcess, name: Deno.Signal): void {
  try {
    child.kill(name);
  } catch {
    // Ended before.
  }
}

class QemuMachine implements Machine {
  readonly url: string;
  readonly pid: number;
  readonly ended: Promise<string>;

  constructor(
    readonly child: Deno.ChildProcess,
    readonly qmp: Qmp,
    readonly ports: ReadonlyMap<number, number>,
    readonly store: Store,
    /** Whether what the machine writes to memory reaches its file, so that it can be saved. */
    readonly ramShared: boolean,
    ended: Promise<string>,
  ) {
    this.url = `http://127.0.0.1:${ports.get(AGENT_PORT)}`;
    this.pid = child.pid;
    this.ended = ended;
  }

  addressOf(guestPort: number): string {
    const port = this.ports.get(guestPort);
    if (port === undefined) throw new Error(`port ${guestPort} of the guest was not named`);
    return `127.0.0.1:${port}`;
  }

  async pause(): Promise<void> {
    await this.qmp.execute("stop");
  }

  async resume(): Promise<void> {
    await this.qmp.execute("cont");
  }

  async save(): Promise<Snapshot> {
    const stateFile = join(this.store.folder, "state");
    if (!this.ramShared) throw new Error("a clone can't be saved: its memory is in no file");
    await ignoreSharedMemory(this.qmp);
    await this.qmp.execute("migrate", { uri: `exec:cat > ${stateFile}` });
    await migrated(this.qmp);
    await this.#quit();
    return new QemuSnapshot(this.store, stateFile);
  }

  async kill(): Promise<void> {
    signal(this.child, "SIGTERM");
    const timer = setTimeout(() => signal(this.child, "SIGKILL"), KILL_AFTER_MS);
    await this.ended;
    clearTimeout(timer);
    this.qmp[Symbol.dispose]();
    await removeStore(this.store);
  }

  async #quit(): Promise<void> {
    // The socket may close before the answer.
    await this.qmp.execute("quit").catch(() => {});
    await this.ended;
    this.qmp[Symbol.dispose]();
  }
}

/** A folder for a machine; its control socket's path must stay short. */
async function newFolder(): Promise<string> {
  return await Deno.makeTempDir({ prefix: "denvd-vm-" });
}

async function ramFileFor(folder: string, ramMb: number): Promise<string> {
  const shm = "/dev/shm";
  const roomy = await Deno.stat(shm).then(() => freeMb(shm) > ramMb + RAM_RESERVE_MB, () => false);
  if (roomy) return `${shm}/${folder.split("/").at(-1)}.ram`;
  needSpace("the VM", folder, ramMb + RAM_RESERVE_MB);
  return join(folder, "ram");
}

export class QemuDriver implements Driver {
  readonly name: string;
  readonly #program: string;
  readonly #tscKhz = tscKhz(Deno.readTextFileSync("/proc/cpuinfo"));

  constructor(readonly image: Image, readonly accel: Accel) {
    this.#program = needPrograms("the VM", "qemu-system-x86_64", "socat")[0]!;
    this.name = `QEMU microvm, ${accel}`;
  }

  async boot(options: BootOptions): Promise<Machine> {
    const folder = await newFolder();
    const ramFile = await ramFileFor(folder, options.ramMb);
    const disk = await makeOverlay(join(folder, "disk.qcow2"), {
      path: this.image.disk,
      format: "raw",
    });
    const agentArgs = options.agentArgs ?? [];
    const store: Store = { folder, ramFile, disk, ramMb: options.ramMb, agentArgs };
    return await this.#start(store, ramFile, true, options, options.interactive ?? false);
  }

  async restore(snapshot: Snapshot, options: RestoreOptions): Promise<Machine> {
    const { store, stateFile } = snapshot as QemuSnapshot;
    let own = store;
    if (options.clone) {
      const folder = await newFolder();
      const disk = await makeOverlay(join(folder, "disk.qcow2"), store.disk);
      // Its memory is in no file of its own: private pages over the snapshot's.
      own = { ...store, folder, disk, ramFile: join(folder, "none") };
    }
    const machine = await this.#start(own, store.ramFile, !options.clone, options, false, true);
    try {
      await ignoreSharedMemory(machine.qmp);
      await machine.qmp.execute("migrate-incoming", { uri: `exec:cat ${stateFile}` });
      await migrated(machine.qmp);
      if (!options.clone) await Deno.remove(stateFile);
      return machine;
    } catch (error) {
      await machine.kill();
      throw error;
    }
  }

  async #start(
    store: Store,
    ramFile: string,
    ramShared: boolean,
    options: MachineOptions,
    interactive: boolean,
    incoming = false,
  ): Promise<QemuMachine> {
    const ports = portMap(options.guestPorts ?? [], options.hostPort, freePort);
    const qmpSocket = join(store.folder, "qmp");
    await Deno.remove(qmpSocket).catch(() => {});
    const child = new Deno.Command(this.#program, {
      args: qemuArgs({
        accel: this.accel,
        tscKhz: this.#tscKhz,
        ramMb: store.ramMb,
        ramFile,
        ramShared,
        disk: store.disk,
        kernel: this.image.kernel,
        initrd: this.image.initrd,
        ports,
        mmdsPort: options.mmdsPort,
        qmpSocket,
        console: interactive ? "terminal" : { log: options.consoleLog },
        agentArgs: store.agentArgs,
        incoming,
      }),
      stdin: interactive ? "inherit" : "null",
      stdout: interactive ? "inherit" : "null",
      stderr: "piped",
    }).spawn();
    let said: string | undefined;
    const ended = (async () => {
      const [text, status] = await Promise.all([
        new Response(child.stderr).text(),
        child.status,
      ]);
      return said = text.trim() || `exit ${status.code}`;
    })();
    try {
      const qmp = await connectQmp(qmpSocket, () => said);
      return new QemuMachine(child, qmp, ports, store, ramShared, ended);
    } catch (error) {
      signal(child, "SIGKILL");
      await ended;
      await removeStore(store);
      throw error;
    }
  }
}
