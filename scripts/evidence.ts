/**
 * permissions.evidence.json: what the necessity run found out about each grant, bound to the
 * sources that it was found on by their digest. Written by `deno task necessity`, read by
 * `deno task audit`.
 */

import { join } from "@std/path";
import { grantName, type Manifest, type SetName } from "../src/manifest.ts";
import { reasoned } from "./manifest.ts";
import { projectRoot } from "./permissions.ts";
import { sha256 } from "./sha256.ts";

/** What is known of one grant in one set. */
export interface GrantEvidence {
  /** Source files that use it, by a traced run of the tests. */
  usedIn: string[];
  /** Test that fails without it, `file: name`; none when every test passes without it. */
  failsWithout?: string;
}

/** What is known of one set. */
export interface SetEvidence {
  /** Test files that ran under the set. */
  testFiles: number;
  /** Accesses seen, and those of them that no grant covers: the runtime refused these. */
  accesses: number;
  refused: number;
  /** Where the refused ones came from. */
  refusedIn: string[];
  grants: Record<string, GrantEvidence>;
}

export interface Evidence {
  digest: string;
  sets: Partial<Record<SetName, SetEvidence>>;
}

const EVIDENCE_FILE = "permissions.evidence.json";

/** Files below a folder, from the root. */
function filesIn(root: string, folder: string): string[] {
  return [...Deno.readDirSync(join(root, folder))].flatMap((entry) => {
    const path = `${folder}/${entry.name}`;
    return entry.isDirectory ? filesIn(root, path) : [path];
  });
}

/** Digest of all that the evidence depends on: sources, scripts, values of the grants. */
export async function sourcesDigest(manifest: Manifest, root = projectRoot): Promise<string> {
  const files = [...filesIn(root, "src"), ...filesIn(root, "rootfs")].toSorted();
  const parts = await Promise.all(files.map(async (file) => {
    const bytes = await Deno.readFile(join(root, file));
    const isScript = bytes[0] === 0x23 && bytes[1] === 0x21; // #!
    return file.startsWith("src/") || isScript ? [`${file} ${await sha256(bytes)}`] : [];
  }));
  const grants = (Object.keys(manifest.sets) as SetName[]).map((set) =>
    [set, ...reasoned(set, manifest).map(grantName).toSorted()].join(" ")
  );
  return await sha256(new TextEncoder().encode([...parts.flat(), ...grants].join("\n")));
}

/** @returns undefined when there is none yet */
export function readEvidence(root = projectRoot): Evidence | undefined {
  try {
    return JSON.parse(Deno.readTextFileSync(join(root, EVIDENCE_FILE)));
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return undefined;
    throw error;
  }
}

export function writeEvidence(evidence: Evidence): void {
  const text = JSON.stringify(evidence, null, 2) + "\n";
  Deno.writeTextFileSync(join(projectRoot, EVIDENCE_FILE), text);
}
