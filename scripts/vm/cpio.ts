/**
 * Archives in cpio's `newc` format, which the kernel unpacks as initial RAM disk
 * (docs.kernel.org/driver-api/early-userspace/buffer-format.html). Owner root, time 0: the same
 * entries give the same bytes.
 */

export interface CpioEntry {
  /** Path without a slash in front. */
  name: string;
  /** File type and permission bits, as in st_mode. */
  mode: number;
  data?: Uint8Array;
}

export const DIRECTORY = 0o040755;
export const PROGRAM = 0o100755;
export const REGULAR = 0o100644;

const MAGIC = "070701";
const TRAILER = "TRAILER!!!";
const ALIGNMENT = 4;

function header(inode: number, entry: CpioEntry, nameSize: number): string {
  const links = entry.mode >> 12 === 0o04 ? 2 : 1;
  const size = entry.data?.length ?? 0;
  // inode, mode, uid, gid, links, mtime, size, four device numbers, length of the name, check
  const fields = [inode, entry.mode, 0, 0, links, 0, size, 0, 0, 0, 0, nameSize, 0];
  return MAGIC + fields.map((field) => field.toString(16).padStart(8, "0")).join("");
}

/** The archive of `entries`, in their order: folders before what is in them. */
export function cpioArchive(entries: readonly CpioEntry[]): Uint8Array {
  const encoder = new TextEncoder();
  const chunks: Uint8Array[] = [];
  let length = 0;
  const put = (bytes: Uint8Array) => {
    chunks.push(bytes);
    length += bytes.length;
    const padding = (ALIGNMENT - length % ALIGNMENT) % ALIGNMENT;
    if (padding > 0) chunks.push(new Uint8Array(padding));
    length += padding;
  };
  for (const [index, entry] of [...entries, { name: TRAILER, mode: 0 }].entries()) {
    const name = encoder.encode(entry.name + "\0");
    const head = encoder.encode(header(index + 1, entry, name.length));
    const both = new Uint8Array(head.length + name.length);
    both.set(head);
    both.set(name, head.length);
    put(both);
    if ("data" in entry && entry.data !== undefined) put(entry.data);
  }
  const archive = new Uint8Array(length);
  let offset = 0;
  for (const chunk of chunks) {
    archive.set(chunk, offset);
    offset += chunk.length;
  }
  return archive;
}
