/**
 * The baselines: what the runtime does with the fewest lines, nothing checked and nothing framed.
 * Commands run in a session of their own, as the agent's do: where the kernel groups processes by
 * session that alone changes how a pipe is scheduled.
 */

const UNARY = new TextEncoder().encode("{}");

function command(name: string, args: string[], stdout: "piped" | "null" = "piped") {
  return new Deno.Command(name, { args, stdin: "null", stdout, detached: true }).spawn();
}

/** What the Go agent runs for `true`. */
const CHAIN = 'echo 100 >/proc/$$/oom_score_adj && exec ionice -c 2 -n 4 nice -n 0 "$@"';

async function handle(request: Request): Promise<Response> {
  const url = new URL(request.url);
  const path = url.searchParams.get("path") ?? "";
  switch (url.pathname) {
    case "/unary":
      await request.arrayBuffer();
      return new Response(UNARY, { headers: { "content-type": "application/json" } });
    case "/stdout":
      return new Response(
        command("head", ["-c", url.searchParams.get("bytes")!, "/dev/zero"]).stdout,
      );
    case "/chain": {
      const { stdout, status } = command("/bin/sh", ["-c", CHAIN, "sh", "true"]);
      await Promise.all([stdout.cancel(), status]);
      return new Response("x");
    }
    case "/stdin": {
      const child = new Deno.Command("wc", {
        args: ["-c"],
        stdin: "piped",
        stdout: "piped",
        detached: true,
      }).spawn();
      await request.body!.pipeTo(child.stdin);
      return new Response(child.stdout);
    }
    case "/download": {
      const file = await Deno.open(path);
      const { size } = await file.stat();
      return new Response(file.readable, { headers: { "content-length": String(size) } });
    }
    case "/upload": {
      const file = await Deno.open(path, { write: true, create: true, truncate: true });
      await request.body!.pipeTo(file.writable);
      return new Response("[]");
    }
  }
  return new Response(null, { status: 204 });
}

Deno.serve({ hostname: "127.0.0.1", port: Number(Deno.args[0]), onListen() {} }, handle);
