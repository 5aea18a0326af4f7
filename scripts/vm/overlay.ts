/**
 * Copy-on-write disks: an empty qcow2 file over another disk (qemu.org/docs/master/interop/
 * qcow2.html, version 2). Written by hand, so that no copy and no further tool is needed.
 *
 * Four clusters: header, table of reference counts, their one block, table of mappings.
 */

export interface Disk {
  path: string;
  format: "raw" | "qcow2";
}

const MAGIC = 0x514649fb;
const VERSION = 2;
const CLUSTER_BITS = 16;
const CLUSTER = 1 << CLUSTER_BITS;
const HEADER_BYTES = 72;
/** Extension that names the format below, lest it be guessed. */
const BACKING_FORMAT = 0xe2792aca;
/** What one entry of the upper mapping table covers: a cluster of 8-byte entries of clusters. */
const MAPPED_BYTES = CLUSTER / 8 * CLUSTER;

/** The bytes of an overlay of `sizeBytes` over `below`. */
export function overlayBytes(below: Disk, sizeBytes: number): Uint8Array {
  const encoder = new TextEncoder();
  const path = encoder.encode(below.path);
  const format = encoder.encode(below.format);
  const bytes = new Uint8Array(4 * CLUSTER);
  const view = new DataView(bytes.buffer);
  const pathOffset = HEADER_BYTES + 8 + 8 + 8; // after the extension and the end of extensions
  view.setUint32(0, MAGIC);
  view.setUint32(4, VERSION);
  view.setBigUint64(8, BigInt(pathOffset));
  view.setUint32(16, path.length);
  view.setUint32(20, CLUSTER_BITS);
  view.setBigUint64(24, BigInt(sizeBytes));
  view.setUint32(36, Math.ceil(sizeBytes / MAPPED_BYTES));
  view.setBigUint64(40, BigInt(3 * CLUSTER));
  view.setBigUint64(48, BigInt(CLUSTER));
  view.setUint32(56, 1);
  view.setUint32(HEADER_BYTES, BACKING_FORMAT);
  view.setUint32(HEADER_BYTES + 4, format.length);
  bytes.set(format, HEADER_BYTES + 8); // padded to 8
  bytes.set(path, pathOffset);
  view.setBigUint64(CLUSTER, BigInt(2 * CLUSTER));
  for (let cluster = 0; cluster < 4; cluster++) view.setUint16(2 * CLUSTER + 2 * cluster, 1);
  return bytes;
}

/** Size of a disk as the guest sees it. */
export async function diskSize(disk: Disk): Promise<number> {
  if (disk.format === "raw") return (await Deno.stat(disk.path)).size;
  using file = await Deno.open(disk.path);
  const header = new Uint8Array(HEADER_BYTES);
  await file.read(header);
  return Number(new DataView(header.buffer).getBigUint64(24));
}

/** Makes `path` an overlay over `below`, which must not change as long as it is used. */
export async function makeOverlay(path: string, below: Disk): Promise<Disk> {
  await Deno.writeFile(path, overlayBytes(below, await diskSize(below)));
  return { path, format: "qcow2" };
}
