/**
 * The host's certificate authority in the system bundle: once, without the one that a former
 * call brought, and with a copy where update-ca-certificates(8) finds it when it makes the
 * bundle anew. The copy also says, after a restart of the agent, what the former one was.
 */

import { replaceFile } from "./atomic_file.ts";

export const BUNDLE_PATH = "/etc/ssl/certs/ca-certificates.crt";

const CERTIFICATE = /-----BEGIN CERTIFICATE-----[A-Za-z0-9+/=\s]+-----END CERTIFICATE-----/g;

/** The certificates of a PEM text (RFC 7468), without what stands between them. */
export function certificates(pem: string): string[] {
  return pem.replaceAll("\r\n", "\n").match(CERTIFICATE) ?? [];
}

/** The bundle without the certificates of `former` and with those of `next` at its end. */
export function mergeBundle(bundle: string, former: string, next: string): string {
  const wanted = certificates(next);
  const dropped = new Set(certificates(former).filter((one) => !wanted.includes(one)));
  let text = bundle.replaceAll("\r\n", "\n");
  for (const one of dropped) text = text.replaceAll(one + "\n", "").replaceAll(one, "");
  const present = new Set(certificates(text));
  const added = [...new Set(wanted)].filter((one) => !present.has(one));
  if (added.length === 0) return text;
  const end = text === "" || text.endsWith("\n") ? "" : "\n";
  return `${text}${end}${added.join("\n")}\n`;
}

async function readOrEmpty(path: string): Promise<string> {
  try {
    return await Deno.readTextFile(path);
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return "";
    throw error;
  }
}

export class CaBundle {
  readonly #copyPath: string;
  readonly #bundlePath: string;
  #last: Promise<unknown> = Promise.resolve();

  constructor(copyPath: string, bundlePath = BUNDLE_PATH) {
    this.#copyPath = copyPath;
    this.#bundlePath = bundlePath;
  }

  /**
   * Installs the certificates of `pem`; one call after another.
   *
   * @throws when `pem` holds no certificate or a file can't be written
   */
  install(pem: string): Promise<void> {
    const done = this.#last.then(() => this.#install(pem));
    this.#last = done.catch(() => {});
    return done;
  }

  async #install(pem: string): Promise<void> {
    const wanted = certificates(pem);
    if (wanted.length === 0) throw new Error("no PEM certificate in it");
    const bundle = await readOrEmpty(this.#bundlePath);
    const former = await readOrEmpty(this.#copyPath);
    const next = mergeBundle(bundle, former, pem);
    if (next !== bundle) await replaceFile(this.#bundlePath, next);
    const copy = wanted.join("\n") + "\n";
    if (copy !== former) await replaceFile(this.#copyPath, copy);
  }
}
