/**
 * Tries, under the permission flags that it is started with, what an agent that somebody took
 * over would try. Prints a JSON object: what was tried → `denied`, or what came of it instead.
 */

import { spawnSync } from "node:child_process";
import { readFileSync, symlinkSync } from "node:fs";
import { createRequire } from "node:module";
import process from "node:process";
import { Worker as NodeWorker } from "node:worker_threads";

const tries: Readonly<Record<string, () => unknown>> = {
  "read /etc/shadow": () => Deno.readTextFileSync("/etc/shadow"),
  "read /etc/shadow by node:fs": () => readFileSync("/etc/shadow"),
  "read /proc/self/environ": () => Deno.readTextFileSync("/proc/self/environ"),
  "read /proc/self/mem": () => Deno.openSync("/proc/self/mem"),
  "read /proc/1/environ": () => Deno.readTextFileSync("/proc/1/environ"),
  "list /": () => [...Deno.readDirSync("/")],
  "list /sys": () => [...Deno.readDirSync("/sys")],
  "read a device": () => Deno.openSync("/dev/kmsg"),
  "read the boot folder": () => [...Deno.readDirSync("/boot")],
  "read the runtime": () => Deno.readFileSync(Deno.execPath()),
  "write a launcher": () => Deno.writeTextFileSync("/usr/lib/denvd/launch", ""),
  "rename the launchers' folder": () => Deno.renameSync("/usr/lib/denvd", "/srv/denvd"),
  "write /etc/passwd": () => Deno.writeTextFileSync("/etc/passwd", "", { append: true }),
  "write /etc/cron.d": () => Deno.writeTextFileSync("/etc/cron.d/x", ""),
  "write the host view": () => Deno.writeTextFileSync("/run/denvd/host/x", ""),
  "make a link": () => Deno.symlinkSync("/etc", "/srv/link"),
  "make a link by node:fs": () => symlinkSync("/etc", "/srv/link"),
  "make a hard link": () => Deno.linkSync("/etc/shadow", "/srv/link"),
  "read an environment variable": () => Deno.env.get("HOME"),
  "read all variables": () => Deno.env.toObject(),
  "read process.env of Node": () => {
    // Node's way gives undefined instead of an error.
    if (process.env["SECRET"] === undefined) throw new Deno.errors.NotCapable("hidden");
  },
  "start a shell": () => new Deno.Command("/bin/sh").outputSync(),
  "start a shell by its name": () => new Deno.Command("sh").outputSync(),
  "start a shell by node:child_process": () => {
    const { error } = spawnSync("/bin/sh", ["-c", "true"]);
    if (error !== undefined) throw error;
  },
  "start deno": () => new Deno.Command(Deno.execPath()).outputSync(),
  "start a launcher with LD_PRELOAD": () =>
    new Deno.Command("/usr/lib/denvd/launch", { env: { LD_PRELOAD: "/srv/x.so" } }).outputSync(),
  "kill another process": () => Deno.kill(1, "SIGCONT"),
  "load native code": () => Deno.dlopen("/usr/lib/libc.so.6", {}),
  "load a native add-on": () => createRequire("file:///srv/")("/srv/addon.node"),
  "connect to another host": () => Deno.connect({ hostname: "198.51.100.1", port: 80 }),
  "connect to another port of MMDS": () =>
    Deno.connect({ hostname: "169.254.169.254", port: 8080 }),
  "connect to a Unix socket": () => Deno.connect({ transport: "unix", path: "/run/x.sock" }),
  "look up a name": () => Deno.resolveDns("example.com", "A"),
  "fetch from another host": () => fetch("http://198.51.100.1/"),
  "listen on another port": () => Deno.listen({ hostname: "0.0.0.0", port: 4998 }),
  "import from another host": () => import("https://deno.land/std/version.ts" as string),
  "import a package": () => import("npm:left-pad" as string),
  "import a file": () => import("file:///etc/shadow" as string),
  "a worker that reads /etc/shadow": () => worker("Deno.readTextFileSync('/etc/shadow')"),
  "a worker that starts a shell": () => worker("new Deno.Command('/bin/sh').outputSync()"),
  "a thread of Node": () => nodeWorker("require('node:fs').readFileSync('/etc/shadow')"),
  "host name": () => Deno.hostname(),
  "network interfaces": () => Deno.networkInterfaces(),
  "release of the system": () => Deno.osRelease(),
};

/** Rejects with what the code throws in a worker, which inherits the permissions. */
function worker(code: string): Promise<void> {
  const text = `try { ${code}; postMessage("done"); } catch (e) { postMessage(e.name); }`;
  const url = URL.createObjectURL(new Blob([text], { type: "text/javascript" }));
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const thread = new Worker(url, { type: "module" });
  thread.onmessage = ({ data }) => {
    thread.terminate();
    if (data === "done") resolve();
    else reject(Object.assign(new Error("in the worker"), { name: data }));
  };
  return promise;
}

function nodeWorker(code: string): Promise<void> {
  const text = `const { parentPort } = require("node:worker_threads");
    try { ${code}; parentPort.postMessage("done"); } catch (e) { parentPort.postMessage(e.name); }`;
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const thread = new NodeWorker(text, { eval: true });
  thread.on("message", (data) => {
    thread.terminate();
    if (data === "done") resolve();
    else reject(Object.assign(new Error("in the thread"), { name: data }));
  });
  thread.on("error", reject);
  return promise;
}

const results: Record<string, string> = {};
for (const [name, attempt] of Object.entries(tries)) {
  try {
    await attempt();
    results[name] = "done";
  } catch (error) {
    const { name: kind, message } = error as Error;
    const isDenial = kind === "NotCapable" || /NotCapable|requires .* access/i.test(message) ||
      /--no-remote|--no-npm/.test(message);
    results[name] = isDenial ? "denied" : `${kind}: ${message}`;
  }
}
console.log(JSON.stringify(results));
Deno.exit();
